"""The original of a gateway object, and our record of the release on it."""
