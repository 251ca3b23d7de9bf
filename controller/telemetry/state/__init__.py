"""Gauges that say how Rollouts and TrafficRoutings stand, computed from the caches when somebody scrapes.

Why not kept while passes run: a new leader, or one that has just started, would say nothing of a Rollout that waits.
Invariant: pure functions from cached objects to samples; a series goes with its object.
"""
