"""Releases that stop, go back and pass by their metrics, played with a real Prometheus; not in the wheel."""
