"""The decisions of admission: pure functions from the objects of a request to a verdict."""
