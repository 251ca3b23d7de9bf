"""The writer of a value in a query, an address, a header or a Job: he decides how it may stand there.

Invariant: pure. Only a text of the gate's own author is put in as it is, so that an argument may be a part of a query.
A name of the release is put in as it is only if it has the form of a name. Everything else was written by people who
may not write the gate: who may annotate a workload must not decide about its verdict.
"""

import re
from collections.abc import Callable, Sequence
from enum import Enum, auto

from controller.domain.decision import Value

LONGEST = 1024
"""Characters of a value that is read from the workload; as many as a literal argument may have."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Origin(Enum):
    """The writer of a value."""

    AUTHOR = auto()
    """A person who may write the gate or its template."""
    NAME = auto()
    """A name or a number of the release, in the form of a name."""
    OTHERS = auto()
    """A person who may write the workload, a status, or a Secret."""
    SECRET = auto()
    """The place of a Secret's value, which is filled in where the request is sent."""


class Word(Value, frozen=True):
    """The value of a `{{ word }}`."""

    text: str
    origin: Origin = Origin.AUTHOR


class Placed(Value, frozen=True):
    """A word in a text, by its name there."""

    name: str
    word: Word


Piece = str | Placed
"""A text is a row of these: what its author wrote, and the words in between."""


class Unplaced(Value, frozen=True):
    """The value of a word may not stand where the text has it; `why` says what may."""

    name: str
    why: str


def joined(
    pieces: Sequence[Piece], put: Callable[[Placed, str], "str | Unplaced"]
) -> "str | Unplaced":
    """The text with every word in its place. `put` gets each word of others and the text before it, and returns the
    word as it may stand there.
    """
    done = ""
    for piece in pieces:
        if isinstance(piece, str):
            done += piece
        elif piece.word.origin is not Origin.OTHERS:
            done += piece.word.text
        else:
            made = put(piece, done)
            if isinstance(made, Unplaced):
                return made
            done += made
    return done


def name_of_release(text: str) -> Word:
    """A name of the release; a text that is no name is one of others, for a status can be written by many."""
    return Word(text, Origin.NAME if not text or _NAME.fullmatch(text) else Origin.OTHERS)


def unfit(text: str) -> str:
    """Why a text of others may stand nowhere; empty if it may."""
    if "{{" in text:
        return "may not hold {{"
    if any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in text):
        return "may not hold a line break or another control character"
    return ""
