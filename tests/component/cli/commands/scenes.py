"""Shared parts of the commands' tests: a workload, paths, and conditions of a Rollout."""

JSON = "application/json-patch+json"
