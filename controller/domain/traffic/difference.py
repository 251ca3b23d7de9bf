"""Where a live object differs from what was written, place by place, for people and for telling changes apart.

Invariant: what the server adds inside what was written is no difference, as everywhere; a place is the path a person
would type (`spec.http[0].route[1].weight`). Lists of different lengths differ as a whole: which element is which is a
question for `restore`, not for a message.
"""

from collections.abc import Iterator

import msgspec

from controller.domain.traffic.tree import Json, Tree, covers, encode

MOST = 8
"""Places that are told; one change of a tool's is rarely more."""
_LONG = 60


class Difference(msgspec.Struct, frozen=True):
    """One place: what was written there and what is there now; empty texts where there is nothing."""

    path: str
    wanted: str
    found: str

    def __str__(self) -> str:
        was, now = self.wanted or "nothing", self.found or "nothing"
        return f"{self.path} from {was} to {now}"


def differences(written: Tree, live: Tree) -> tuple[Difference, ...]:
    """The first places where the live content does not say what was written."""
    found: list[Difference] = []
    for item in _object(written, live, ""):
        found.append(item)
        if len(found) == MOST:
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
    if covers(live, written):
        return
    if isinstance(written, dict) and isinstance(live, dict):
        yield from _object(written, live, path)
    elif isinstance(written, list) and isinstance(live, list) and len(written) == len(live):
        for index, (one, other) in enumerate(zip(written, live, strict=True)):
            yield from _value(one, other, f"{path}[{index}]")
    else:
        yield Difference(path, _text(written), _text(live))


def _text(value: Json) -> str:
    text = encode(value).decode()
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"
