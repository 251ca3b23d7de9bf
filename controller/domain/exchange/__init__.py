"""Scripts that ask: what a script wants to have asked, what it answers, and the marks that stand for Secrets."""
