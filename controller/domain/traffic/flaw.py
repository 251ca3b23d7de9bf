"""Why a script's answer is not written."""

import msgspec


class Flaw(msgspec.Struct, frozen=True):
    """What is wrong with an answer, in words that go behind the script's name."""

    message: str
