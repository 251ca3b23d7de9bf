"""Outcome codes of a script, by the names and numbers of the protocol.

They are written down here once more because the zygote and its children never load protobuf; a test compares the two.
"""

from enum import IntEnum


class Code(IntEnum):
    """The outcome of one call."""

    OK = 0
    SYNTAX_ERROR = 1
    RUNTIME_ERROR = 2
    TIMEOUT = 3
    MEMORY_LIMIT = 4
    BAD_RESULT = 5
    BAD_INPUT = 6
    CRASHED = 7
    SANDBOX_VIOLATION = 8
    NEED_SCRIPT = 9
    CIRCUIT_OPEN = 10
