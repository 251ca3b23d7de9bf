"""What the commands' tests share: a workload, paths, and conditions of a Rollout."""

JSON = "application/json-patch+json"
