"""A cluster in memory, for `simulate` and the property tests."""
