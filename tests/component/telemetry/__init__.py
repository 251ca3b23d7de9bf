"""Telemetry over real connections."""
