"""Measures the figures of the README: `python -m tests.bench`. Each file of `measurements` is one measurement."""
