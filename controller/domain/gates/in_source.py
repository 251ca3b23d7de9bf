"""Words in the parameters of a script that asks.

Invariant: pure. The script places each parameter itself, whole; so a value of others may be a whole parameter, and
inside of a text of the author it has plain characters only: who may annotate a workload adds nothing to a query. A
Secret is no parameter.
"""

import re
from collections.abc import Callable, Sequence

import msgspec
from msgspec import structs

from controller.api.analysis import SecretKey, SourceQuery
from controller.domain.gates.origins import Origin, Piece, Placed, Unplaced, joined, unfit
from controller.domain.gates.secret_places import place_of, secrets_of

PLAIN = (
    "inside of a parameter only letters, digits, . _ and - may stand: correct the value, or let it be the whole "
    "parameter"
)
SECRET = "a parameter gets no value of a Secret: name the Secret under secrets of the source"
_PLAIN = re.compile(r"[A-Za-z0-9._-]*")
Fill = Callable[[str, Callable[[Sequence[Piece]], str | Unplaced]], str]


def in_parameter(pieces: Sequence[Piece]) -> str | Unplaced:
    """The parameter with every word in its place; or the word that may not stand there."""
    for piece in pieces:
        if isinstance(piece, Placed) and piece.word.origin is Origin.SECRET:
            return Unplaced(piece.name, SECRET)
    whole = sum(piece != "" for piece in pieces) == 1
    return joined(pieces, lambda placed, _: _placed(placed, whole=whole))


def _placed(placed: Placed, *, whole: bool) -> str | Unplaced:
    text = placed.word.text
    if why := unfit(text):
        return Unplaced(placed.name, f"it {why}")
    if not whole and not _PLAIN.fullmatch(text):
        return Unplaced(placed.name, PLAIN)
    return text


def parameter(raw: msgspec.Raw) -> bool | int | float | str | None:
    """The value of a parameter; None if it is no text, no number, and neither true nor false."""
    found = msgspec.json.decode(raw)
    return found if isinstance(found, bool | int | float | str) else None


def parameters(query: SourceQuery) -> dict[str, bool | int | float | str]:
    """The parameters that have a value."""
    found = {name: parameter(raw) for name, raw in query.params.items()}
    return {name: value for name, value in found.items() if value is not None}


def texts_in(query: SourceQuery) -> tuple[str, ...]:
    """The parameters that are texts."""
    return tuple(value for value in parameters(query).values() if isinstance(value, str))


def filled_source(query: SourceQuery, fill: Fill) -> SourceQuery:
    """The query with every word of its parameters."""
    params = {
        name: msgspec.Raw(msgspec.json.encode(fill(value, in_parameter)))
        for name, value in parameters(query).items()
        if isinstance(value, str)
    }
    return structs.replace(query, params=query.params | params)


def source_problem(query: SourceQuery) -> str:
    """Why the script cannot be asked as it is written; empty if it can."""
    for name, raw in query.params.items():
        if parameter(raw) is None:
            return f"source.params.{name}: a parameter is a text, a number, true or false"
    for name, key in query.secrets.items():
        if secrets_of((place_of(key),)) != (SecretKey(key.name, key.key),):
            return f"source.secrets.{name}: give the name and the key of a Secret"
    return ""
