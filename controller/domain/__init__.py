"""Decisions: values computed from values. No I/O, no clock, no log, no randomness."""
