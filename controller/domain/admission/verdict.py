"""The possible verdicts of admission, and their form as a patch.

Invariant: an amended object is complete, so unknown fields survive; the patch names only the changed places.
"""

import msgspec

from controller.api.jsontree import JsonObject, same
from controller.api.validation.findings import Findings


class Unchanged(msgspec.Struct, frozen=True):
    """The object passes unchanged."""


class Amended(msgspec.Struct, frozen=True):
    """The object passes with changes."""

    obj: JsonObject


class Refused(msgspec.Struct, frozen=True):
    """The object does not pass; `message` tells the person what to do instead."""

    message: str


Verdict = Unchanged | Amended | Refused


MOST_TEXTS = 20
"""Texts of one answer, about as many as the API server shows: it cuts warnings off after 4096 characters."""


def in_one(findings: Findings) -> str:
    """The findings as one text, in the API server's manner."""
    texts = [*map(str, findings[:MOST_TEXTS]), *_more(len(findings))]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def shown_warnings(warnings: tuple[str, ...]) -> tuple[str, ...]:
    """The first warnings of an answer, and how many more there are."""
    return (*warnings[:MOST_TEXTS], *_more(len(warnings)))


def _more(number: int) -> tuple[str, ...]:
    return (f"and {number - MOST_TEXTS} more",) if number > MOST_TEXTS else ()


def amended(before: JsonObject, after: JsonObject) -> Unchanged | Amended:
    """The verdict that `before` becomes `after`."""
    return Unchanged() if same(before, after) else Amended(after)


class PatchOperation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One operation of a JSON patch (RFC 6902): add, replace or remove."""

    op: str
    path: str
    value: msgspec.Raw = msgspec.Raw(b"")


def json_patch(before: object, after: object, path: str = "") -> tuple[PatchOperation, ...]:
    """The operations that turn `before` into `after`. Objects are compared by field, lists as a whole."""
    if isinstance(before, dict) and isinstance(after, dict):
        found: list[PatchOperation] = []
        for name in sorted({*before, *after}):
            place = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
            if name not in after:
                found.append(PatchOperation("remove", place))
            elif name not in before:
                found.append(_with_value("add", place, after[name]))
            else:
                found += json_patch(before[name], after[name], place)
        return tuple(found)
    return () if same(before, after) else (_with_value("replace", path, after),)


def _with_value(op: str, path: str, value: object) -> PatchOperation:
    return PatchOperation(op, path, msgspec.Raw(msgspec.json.encode(value)))
