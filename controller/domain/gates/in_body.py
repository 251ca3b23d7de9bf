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
from controller.domain.gates.origins import Piece, Placed, Unplaced, joined, unfit
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
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|[^u])", re.DOTALL)


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
    return joined(pieces, _in_json)


def _in_json(placed: Placed, before: str) -> str | Unplaced:
    text = placed.word.text
    if why := unfit(text):
        return Unplaced(placed.name, f"it {why}")
    match _place(before):
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
    return joined(pieces, _in_other_body)


def _in_other_body(placed: Placed, _: str) -> str | Unplaced:
    text = placed.word.text
    return text if _PLAIN.fullmatch(text) else Unplaced(placed.name, NO_JSON)


def as_json_text(text: str) -> str:
    """The content of a JSON string. Without braces: two words beside each other would make the place of a Secret."""
    return json.dumps(text)[1:-1].replace("{", "\\u007b").replace("}", "\\u007d")


def misplaced_secret(body: str) -> str:
    """Why the value of a Secret may not stand where this JSON has one; empty if every one may."""
    for before in texts_before_places(body):
        match _place(before):
            case Place.STRING:
                continue
            case Place.ESCAPE:
                return AFTER_BACKSLASH
            case Place.OUTSIDE:
                return "it stands outside of quotation marks: put quotation marks around it"
            case other:
                assert_never(other)
    return ""


def _place(before: str) -> Place:
    """The place of the next character of a JSON text that begins like this."""
    _, quotation_mark, string = _STRING.sub("", before).partition('"')
    if not quotation_mark:
        return Place.OUTSIDE
    return Place.ESCAPE if "\\" in _ESCAPE.sub("", string) else Place.STRING
