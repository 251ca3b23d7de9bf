"""Metrics, health and logs of the process. This package observes; nothing in it decides."""
