"""The state of a live gateway object, and what follows from a change that others made."""
