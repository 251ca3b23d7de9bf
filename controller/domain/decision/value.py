"""The base of all decision values.

Invariant: they are immutable; two of equal fields are equal.
"""

import msgspec


class Value(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base of all decision values: immutable, comparable, printable."""
