"""Objects that a release makes beside the objects of the user."""
