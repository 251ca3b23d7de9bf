"""The places where a live object differs from the written one: for messages, and to recognise a repeated change.

Invariant: fields that the server adds inside a written object are no difference; a place is the path that a person
would type (`spec.http[0].route[1].weight`). Lists of different lengths differ as a whole: `restore` pairs elements, a
message does not need to.
"""

from collections.abc import Iterator

import msgspec

from controller.domain.traffic.tree import Json, Tree, encode, same

MAX_DIFFERENCES = 8
"""Places that a message names; one change by a tool rarely has more."""
_LONG = 60


class Difference(msgspec.Struct, frozen=True):
    """One place: the written text and the live text, each empty if the field is missing."""

    path: str
    wanted: str
    found: str

    def __str__(self) -> str:
        was, now = self.wanted or "nothing", self.found or "nothing"
        return f"{self.path} from {was} to {now}"


def differences(written: Tree, live: Tree) -> tuple[Difference, ...]:
    """The first places where the live content differs from the written content."""
    found: list[Difference] = []
    for item in _object(written, live, ""):
        found.append(item)
        if len(found) == MAX_DIFFERENCES:
            break
    return tuple(found)


def _object(written: Tree, live: Tree, path: str) -> Iterator[Difference]:
    for key, item in written.items():
        place = f"{path}.{key}" if path else key
        if key not in live:
            yield Difference(place, _text(item), "")
        else:
            yield from _value(item, live[key], place)


def _value(written: Json, live: Json, path: str) -> Iterator[Difference]:
    if isinstance(written, dict) and isinstance(live, dict):
        yield from _object(written, live, path)
    elif isinstance(written, list) and isinstance(live, list) and len(written) == len(live):
        for index, (one, other) in enumerate(zip(written, live, strict=True)):
            yield from _value(one, other, f"{path}[{index}]")
    elif not same(live, written):
        yield Difference(path, _text(written), _text(live))


def _text(value: Json) -> str:
    text = encode(value).decode()
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"
