"""The checks of a cluster before Moonshift replaces the original, and before Moonshift is removed."""
