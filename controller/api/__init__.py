"""Wire types: the objects that the API server sends and accepts. Shapes and field rules only; no decisions, no I/O."""
