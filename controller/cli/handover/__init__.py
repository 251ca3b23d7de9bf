"""Coming and going: the checks of a cluster before Moonshift takes over from the original, and before it leaves."""
