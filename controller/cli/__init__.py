"""The program people use: `moonshift`, `kubectl moonshift`, and `kubectl-kruise` where it is installed under that name.

One file per command. Invariant: what is shown is computed by pure functions from one observation, gathered with the
controller's own code, so that the CLI and the controller never tell two stories. Whatever waits, waits for a watch.
Must not decide anything for the controller: commands leave an intent in the object and say so.
"""
