"""The program people use: `moonshift`, `kubectl moonshift`, and `kubectl-kruise` where it is installed under that name.

One file per command. Invariant: pure functions compute every view from one observation, and the controller's own code
gathers it, so that the CLI and the controller never disagree. A command that waits uses a watch.
Commands must not decide anything for the controller: they write an intent into the object and say so.
"""
