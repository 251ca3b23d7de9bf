"""Releases that their metrics hold, roll back or let pass, played with a real Prometheus; not in the wheel."""
