"""An API server in memory, behind the same verbs as the real one: for `simulate`, for tests, never for production.

The contract suite (`tests/contract`) runs each behaviour promised here against this server and against a real one.
"""
