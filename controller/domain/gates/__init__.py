"""Verdicts on metrics, which decide whether a step may continue. Returns verdicts, never actions."""
