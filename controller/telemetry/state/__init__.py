"""Gauges of the state of Rollouts and TrafficRoutings, computed from the caches for each scrape.

Why not updated by passes: a new leader would have no value for a Rollout that waits. Invariant: pure functions from
cached objects to samples; a series ends with its object.
"""
