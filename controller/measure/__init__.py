"""Asking metric sources on behalf of gates: whom, how, and what came back. Judges nothing."""
