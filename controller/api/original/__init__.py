"""Values that the original computes from Go's own types, so that a client may compare them with its own."""
