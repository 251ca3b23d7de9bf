"""What admission can answer, and how the answer is said as a patch.

Invariant: an amended object is complete, so that what admission does not know survives; the patch that goes back names
the changed places only.
"""

import msgspec

from controller.api.jsontree import JsonObject, same


class Unchanged(msgspec.Struct, frozen=True):
    """Let it pass as it is."""


class Amended(msgspec.Struct, frozen=True):
    """Let it pass like this."""

    obj: JsonObject


class Refused(msgspec.Struct, frozen=True):
    """Do not let it pass; `message` tells the person what to do instead."""

    message: str


Verdict = Unchanged | Amended | Refused


def amended(before: JsonObject, after: JsonObject) -> Unchanged | Amended:
    """The verdict that `before` becomes `after`."""
    return Unchanged() if same(before, after) else Amended(after)


class PatchOperation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One operation of a JSON patch (RFC 6902): add, replace or remove."""

    op: str
    path: str
    value: msgspec.Raw = msgspec.Raw(b"")


def json_patch(before: object, after: object, path: str = "") -> tuple[PatchOperation, ...]:
    """The operations that lead from `before` to `after`. Objects are compared by field, lists as a whole."""
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
