"""Observe, decide, apply: one key, one pass, one decision. Who wakes whom is in `wiring`."""
