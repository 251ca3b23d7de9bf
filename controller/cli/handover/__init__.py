"""Coming and going: what stands in a cluster before Moonshift takes over from the original, and before it leaves."""
