"""`notify test` with a real worker and a real HTTP receiver."""
