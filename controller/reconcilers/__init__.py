"""Observe, decide, apply: one key, one pass, one decision. `wiring` maps changed objects to the Rollouts that need a
pass.
"""
