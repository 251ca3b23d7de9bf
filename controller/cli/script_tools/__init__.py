"""Tools for people who write scripts: test them, run them, lint them, debug them.

Invariant: a script runs in the same worker program, in the same sandbox, with the same input and checked by the same
rules as in the controller; nothing here interprets a script's answer by itself. No cluster is needed.
"""
