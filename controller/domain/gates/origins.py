"""The writer of a value in a query, an address, a header or a Job: he decides how it may stand there.

Invariant: pure. Only a text of the gate's own author is put in as it is, so that an argument may be a part of a query.
A name of the release is put in as it is only if it has the form of a name. Everything else was written by people who
may not write the gate: who may annotate a workload must not decide about its verdict.
"""

import re
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Protocol

from controller.domain.decision import Value

LONGEST = 1024
"""Characters of a value that is read from the workload; as many as a literal argument may have."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


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


class Reader(Protocol):
    """Reads a text once, from its begin to its end, and knows the place of the next character.

    Why no look back: a text of ten thousand words would be read ten thousand times.
    """

    def on(self, text: str) -> None:
        """Read these characters."""
        ...

    def put(self, placed: Placed) -> "str | Unplaced":
        """A word of others as it may stand in the present place."""
        ...


class EachWord:
    """The reader where all places are alike."""

    def __init__(self, put: Callable[[Placed], "str | Unplaced"]) -> None:
        self._put = put

    def on(self, text: str) -> None:
        """Nothing depends on what stands before a word."""

    def put(self, placed: Placed) -> "str | Unplaced":
        """A word of others as it may stand anywhere."""
        return self._put(placed)


def joined(pieces: Sequence[Piece], reader: Reader) -> "str | Unplaced":
    """The text with every word in its place; or the word that may not stand there."""
    done: list[str] = []
    for piece in pieces:
        made = _in_place(piece, reader)
        if isinstance(made, Unplaced):
            return made
        reader.on(made)
        done.append(made)
    return "".join(done)


def _in_place(piece: Piece, reader: Reader) -> "str | Unplaced":
    if isinstance(piece, str):
        return piece
    return reader.put(piece) if piece.word.origin is Origin.OTHERS else piece.word.text


def name_of_release(text: str) -> Word:
    """A name of the release; a text that is no name is one of others, for a status can be written by many."""
    return Word(text, Origin.NAME if not text or _NAME.fullmatch(text) else Origin.OTHERS)


def unfit(text: str) -> str:
    """Why a text of others may stand nowhere; empty if it may."""
    if "{{" in text:
        return "may not hold {{"
    if _CONTROL.search(text):
        return "may not hold a line break or another control character"
    return ""
