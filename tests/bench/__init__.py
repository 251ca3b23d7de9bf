"""What the README quotes, measured: `python -m tests.bench`. Each file of `measurements` is one measurement."""
