"""Words and values of Secrets in the body of a request: each is escaped for its place, or refused.

Invariant: pure. In JSON a value of others is the content of a string, or one number: it ends no string and adds no
field. A body of another type has no syntax that is known here, so it gets plain words only. Texts of the author stay as
they are.
"""

import json
import re
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import assert_never

from controller.api.analysis import Header
from controller.domain.gates.origins import EachWord, Piece, Placed, Unplaced, joined, unfit
from controller.domain.gates.secret_places import texts_before_places

CONTENT_TYPE = "content-type"
JSON = "application/json"
AFTER_BACKSLASH = "it stands behind a backslash: remove the backslash"
ONLY_A_NUMBER = (
    "it stands outside of quotation marks, where only a number may stand: put quotation marks around it, or correct "
    "the value"
)
NO_JSON = "in a body that is no JSON only letters, digits, . _ and - may stand"
_JSON_TYPE = re.compile(r"application/(?:[a-z0-9.+-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_PLAIN = re.compile(r"[A-Za-z0-9._-]+")
_IN_STRING = re.compile(r'(?:[^"\\]+|\\(?:u[0-9A-Fa-f]{4}|[^u]))*+', re.DOTALL)
_OPEN_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{0,3})?")


class Place(Enum):
    """A place in a JSON text."""

    OUTSIDE = auto()
    STRING = auto()
    ESCAPE = auto()
    """In a string, behind a backslash that would take the next character in."""


def is_json(headers: Iterable[Header]) -> bool:
    """Whether the body is JSON: its type is not given, or says so."""
    given = [header.value.strip() for header in headers if header.name.lower() == CONTENT_TYPE]
    return not given or (len(given) == 1 and _JSON_TYPE.fullmatch(given[0]) is not None)


def in_json(pieces: Sequence[Piece]) -> str | Unplaced:
    """The JSON with every word in its place; or the word that may not stand there."""
    return joined(pieces, _Json())


class _Json:
    """The place of the next character of a JSON text."""

    def __init__(self) -> None:
        self._in_string = False
        self._open = ""
        """An escape sequence of the present string that is not complete yet."""
        self._broken = False
        """The present string has an escape sequence that is none: nobody knows where its parts end."""

    @property
    def place(self) -> Place:
        """The place of the next character."""
        if not self._in_string:
            return Place.OUTSIDE
        return Place.ESCAPE if self._open or self._broken else Place.STRING

    def on(self, text: str) -> None:
        """Read these characters."""
        text, self._open = self._open + text, ""
        at = 0
        while at < len(text):
            at = self._string(text, at) if self._in_string else self._outside(text, at)

    def _outside(self, text: str, at: int) -> int:
        begin = text.find('"', at)
        self._in_string = begin != -1
        return begin + 1 if self._in_string else len(text)

    def _string(self, text: str, at: int) -> int:
        """Read to the end of the string, or to an escape sequence that is not complete; returns where that ends."""
        read = _IN_STRING.match(text, at)
        end = read.end() if read else at
        if end == len(text):
            return end
        if text[end] == '"':
            self._in_string = self._broken = False
            return end + 1
        if _OPEN_ESCAPE.fullmatch(text, end):
            self._open = text[end:]
            return len(text)
        self._broken = True
        return end + 2

    def put(self, placed: Placed) -> str | Unplaced:
        """The word as the content of a string, or as a number."""
        text = placed.word.text
        if why := unfit(text):
            return Unplaced(placed.name, f"it {why}")
        match self.place:
            case Place.STRING:
                return as_json_text(text)
            case Place.ESCAPE:
                return Unplaced(placed.name, AFTER_BACKSLASH)
            case Place.OUTSIDE:
                return text if _NUMBER.fullmatch(text) else Unplaced(placed.name, ONLY_A_NUMBER)
            case other:
                assert_never(other)


def in_other_body(pieces: Sequence[Piece]) -> str | Unplaced:
    """A body of any other type with every word in its place; or the word that may not stand there."""
    return joined(pieces, EachWord(_in_other_body))


def _in_other_body(placed: Placed) -> str | Unplaced:
    text = placed.word.text
    return text if _PLAIN.fullmatch(text) else Unplaced(placed.name, NO_JSON)


def as_json_text(text: str) -> str:
    """The content of a JSON string. Without braces: two words beside each other would make the place of a Secret."""
    return json.dumps(text)[1:-1].replace("{", "\\u007b").replace("}", "\\u007d")


def misplaced_secret(body: str) -> str:
    """Why the value of a Secret may not stand where this JSON has one; empty if every one may."""
    read = _Json()
    for before in texts_before_places(body):
        read.on(before)
        match read.place:
            case Place.STRING:
                continue
            case Place.ESCAPE:
                return AFTER_BACKSLASH
            case Place.OUTSIDE:
                return "it stands outside of quotation marks: put quotation marks around it"
            case other:
                assert_never(other)
    return ""
