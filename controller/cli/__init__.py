"""The program people use: `moonshift`, `kubectl moonshift`, and `kubectl-kruise` where it is installed under that name.

One file per command. Invariant: pure functions compute every view from one observation, and the controller's own code
gathers it, so that the CLI and the controller never tell two stories. A command that waits, waits for a watch.
Commands must not decide anything for the controller: they leave an intent in the object and say so.
"""
