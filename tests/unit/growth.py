"""How much work something is, as the number of calls that it makes: the same on every machine."""

import sys
from collections.abc import Callable
from types import FrameType


def calls(work: Callable[[], object]) -> int:
    """The functions that are called, those of the interpreter too."""
    found = 0

    def note(_frame: FrameType, event: str, _what: object) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found
