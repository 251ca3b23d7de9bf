"""JSON trees: reads, writes and compares objects whose schema is not known.

Gateway objects are somebody else's, of any kind; they are kept as plain JSON values from the first byte to the last.
Invariant: reading and writing loses nothing that a JSON parser may see (integers of any size stay exact, an empty list
stays a list), and equal values have equal bytes. Bytes are those of Go's encoder: compact, keys sorted, `<`, `>`, `&`
and the two Unicode line separators escaped, because other controllers read and compare them.
Must not raise anything but `ValueError`, and only for unreadable bytes.
"""

import json
from typing import Final, TypeAlias

from controller.api.jsontree import as_go_writes

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Tree: TypeAlias = dict[str, Json]

MAX_DEPTH = 100
"""Deeper values are refused: no gateway object is that deep, and every rule here recurses."""
MOST_VALUES = 50_000
"""An object that is in use has no more: it is compared with what it was and what was written, in each pass."""
_EXACT: Final = 10.0**21
"""From here on Go prints a float with an exponent, so that it stays a float."""


def _number(text: str) -> int | float:
    """A literal with a fraction or an exponent; whole numbers become integers, so that 1.0 equals 1."""
    value = float(text)
    if abs(value) == float("inf"):
        raise ValueError(f"the number {text[:40]} is out of range")
    return int(value) if value.is_integer() and abs(value) < _EXACT else value


def _constant(text: str) -> Json:
    raise ValueError(f"{text} is not JSON")


def _depth(value: Json) -> int:
    """Levels of containers, found without recursion."""
    level: list[Json] = [value]
    depth = 0
    while level := [item for item in level if isinstance(item, (dict, list))]:
        depth += 1
        below: list[Json] = []
        for item in level:
            below.extend(item.values() if isinstance(item, dict) else item)
        level = below
    return depth


def values_in(raw: bytes) -> int:
    """How many values a JSON text has at most; commas and brackets in strings count, too."""
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{") + 1


def decode(raw: bytes) -> Json:
    """The value in `raw`. Raises ValueError when it is not JSON or nests deeper than `MAX_DEPTH`."""
    try:
        value: Json = json.loads(raw, parse_float=_number, parse_constant=_constant)
    except RecursionError:
        raise ValueError("the value is nested too deeply") from None
    if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise ValueError(f"the value is nested deeper than {MAX_DEPTH} levels")
    return value


def decode_tree(raw: bytes) -> Tree:
    """The object in `raw`. Raises ValueError for anything else."""
    value = decode(raw)
    if not isinstance(value, dict):
        raise ValueError("a JSON object was expected")  # noqa: TRY004  # it is about text, not about an argument
    return value


def encode(value: Json, *, sort: bool = True) -> bytes:
    """Canonical bytes of `value`; `sort=False` keeps the order of the outermost keys as built."""
    if not sort and isinstance(value, dict):
        members = (encode(key) + b":" + encode(item) for key, item in value.items())
        return b"{" + b",".join(members) + b"}"
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return as_go_writes(text).encode("utf-8", "replace")


def same(one: Json, other: Json) -> bool:
    """Equal as JSON: unlike Python, true is not 1."""
    return one == other and (one is other or encode(one) == encode(other))


def covers(live: Json, wanted: Json) -> bool:
    """`live` contains all of `wanted`; objects in it may have more fields (server defaults)."""
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(
            key in live and covers(live[key], item) for key, item in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(live, list)
            and len(live) == len(wanted)
            and all(covers(have, want) for have, want in zip(live, wanted, strict=True))
        )
    return same(live, wanted)
