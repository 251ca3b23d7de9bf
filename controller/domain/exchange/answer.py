"""The answer of a script in one turn: it asks, or it is done.

Invariant: pure and total: whatever the worker returns, the result is one value of the closed union. A field that is not
known is refused with its place, because a mistyped one would change a verdict silently. A source says a value or
nothing; it never says whether that is good.
"""

from enum import StrEnum
from typing import assert_never

from controller.domain.decision.value import Value
from controller.domain.exchange.asked import is_small, read_request
from controller.domain.exchange.fields import Fields, Refused, kind_of
from controller.domain.exchange.limits import (
    CHARACTERS_OF_WORDS,
    LONGEST_WAIT,
    LONGEST_WAIT_OF_A_SOURCE,
    REQUESTS,
    SHORTEST_WAIT_OF_A_CHECK,
    STATE_BYTES,
    TEXT_BYTES,
)
from controller.domain.exchange.request import Asked
from controller.domain.traffic.tree import Tree, decode_tree

_TURN = ("ask", "again", "state")


class Does(StrEnum):
    """The purpose of a script that asks; scripts of gateways (`route`) have a contract of their own."""

    SOURCE = "source"
    CHECK = "check"
    TARGET = "target"


class Asks(Value, frozen=True):
    """Requests to send, after `again` seconds; the next turn gets their answers and `state`."""

    requests: tuple[Asked, ...]
    again: float = 0.0
    state: Tree | None = None


class SourceValue(Value, frozen=True):
    """A measurement; without a value there is no data."""

    value: float | str | None = None
    samples: float | None = None


class Passed(Value, frozen=True):
    """The check lets the release go on."""

    words: str


class Held(Value, frozen=True):
    """The check lets the release wait, and looks again."""

    words: str
    again: float | None = None
    state: Tree | None = None


class FailedCheck(Value, frozen=True):
    """The check says that this release is not to go on."""

    words: str


class Sent(Value, frozen=True):
    """The target has the event."""


class Later(Value, frozen=True):
    """The target takes the event later."""

    again: float | None = None
    why: str = ""


Verdict = Passed | Held | FailedCheck
Turn = Asks | SourceValue | Verdict | Sent | Later | Refused


def read_turn(does: Does, result: bytes) -> Turn:
    """The answer of a script, as the worker returned it."""
    try:
        tree = decode_tree(result)
    except ValueError as error:
        return Refused("", str(error))
    fields = Fields(tree)
    if fields.has("ask"):
        found: Turn = _asks(does, fields)
    else:
        match does:
            case Does.SOURCE:
                found = _value(fields)
            case Does.CHECK:
                found = _verdict(fields)
            case Does.TARGET:
                found = _told(fields)
            case other:
                assert_never(other)
    return fields.first_mistake or found


def _asks(does: Does, fields: Fields) -> Asks:
    fields.only(*_TURN)
    requests = []
    for number, item in enumerate(fields.items("ask", 1, REQUESTS), 1):
        place = f"ask[{number}]"
        if not isinstance(item, dict):
            fields.refuse(place, f"it is {kind_of(item)}, and should be a request")
        else:
            requests.append(read_request(Fields(item, place, fields.mistakes)))
    return Asks(tuple(requests), _again(does, fields) or 0.0, _state(fields))


def _again(does: Does, fields: Fields) -> float | None:
    match does:
        case Does.SOURCE:
            return fields.number("again", 0, LONGEST_WAIT_OF_A_SOURCE)
        case Does.CHECK:
            return fields.number("again", SHORTEST_WAIT_OF_A_CHECK, LONGEST_WAIT)
        case Does.TARGET:
            return fields.number("again", 0, LONGEST_WAIT)
        case other:
            assert_never(other)


def _state(fields: Fields) -> Tree | None:
    table = fields.table("state")
    if table is None:
        return None
    if not is_small(table, STATE_BYTES):
        fields.refuse("state", f"it may have {STATE_BYTES} bytes as JSON")
    return table.tree


def _value(fields: Fields) -> SourceValue:
    fields.only("value", "samples", "ask", "again", "state")
    for name in ("again", "state"):
        if fields.has(name):
            fields.refuse(name, "it goes with ask, and this answer asks nothing")
    samples = fields.number("samples", 0, 1e300)
    found = fields.tree.get("value")
    if isinstance(found, bool):
        return SourceValue("true" if found else "false", samples)
    if isinstance(found, int | float):
        return SourceValue(_as_float(found, fields), samples)
    if isinstance(found, dict | list):
        fields.refuse("value", f"it is {kind_of(found)}, and should be a number or a text")
        return SourceValue()
    if found is not None and len(found.encode("utf-8", "replace")) > TEXT_BYTES:
        fields.refuse("value", f"it is a text of more than {TEXT_BYTES // 1024} KiB")
    return SourceValue(found, samples)


def _as_float(number: float, fields: Fields) -> float:
    try:
        return float(number)
    except OverflowError:
        fields.refuse("value", "it is too large a number")
        return 0.0


def _verdict(fields: Fields) -> Verdict:
    fields.only("pass", "hold", "fail", "again", "state", "ask")
    given = [name for name in ("pass", "hold", "fail") if fields.has(name)]
    if len(given) != 1:
        fields.mistakes.append(Refused("", "a check answers one of pass, hold, fail, or ask"))
        return Held("")
    words = _words(fields, given[0])
    if not words:
        fields.refuse(given[0], "it should say why, in words")
    if given[0] != "hold" and fields.has("again"):
        fields.refuse("again", "only hold looks again")
    again, state = _again(Does.CHECK, fields), _state(fields)
    match given[0]:
        case "pass":
            return Passed(words)
        case "fail":
            return FailedCheck(words)
        case _:
            return Held(words, again, state)


def _told(fields: Fields) -> Sent | Later:
    fields.only("sent", "again", "why", "ask", "state")
    sent = fields.tree.get("sent")
    if sent is not None and not isinstance(sent, bool):
        fields.refuse("sent", f"it is {kind_of(sent)}, and should be true or false")
    again = _again(Does.TARGET, fields)
    why = _words(fields, "why")
    if sent is True:
        return Sent()
    if sent is None and again is None:
        fields.mistakes.append(Refused("", "a target answers sent, again, or ask"))
    return Later(again, why)


def _words(fields: Fields, name: str) -> str:
    """One line of words; a longer text of a vendor is cut."""
    words = " ".join(fields.text(name, most=TEXT_BYTES).split())
    return words if len(words) <= CHARACTERS_OF_WORDS else words[: CHARACTERS_OF_WORDS - 1] + "…"
