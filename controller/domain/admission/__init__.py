"""What admission answers: pure functions from the objects of a request to a verdict."""
