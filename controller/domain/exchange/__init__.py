"""Scripts that ask: the requests of a script, its answers, and the marks that stand for Secrets."""
