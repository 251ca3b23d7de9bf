"""Measures the figures of the documents: `python -m tests.bench`. Each file of `measurements` is one measurement."""
