"""Scripts that want to get out, to stay, to take everything, to break something or to lie; and proof that none can."""
