"""The reason why a script's answer is not written."""

import msgspec


class Violation(msgspec.Struct, frozen=True):
    """A violation in an answer; the message follows the script's name."""

    message: str
