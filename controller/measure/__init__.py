"""Asks metric sources for gates: allowed addresses, requests, and answers. Gives no verdicts."""
