"""`gate`: metric gates tried out by a person, before a release depends on them."""
