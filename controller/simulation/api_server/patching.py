"""Patches as the API server applies them: merge patches (RFC 7386) and JSON patches (RFC 6902).

Invariant: a patch is applied whole or not at all, and never changes the given object; a `test` that does not hold is
a `Conflict`, as with `KubeClient`.
"""

import copy
from collections.abc import Mapping, Sequence

import msgspec
from jsonpath import patch as rfc6902
from jsonpath.exceptions import JSONPatchError, JSONPatchTestFailure

from controller.api.jsontree import JsonObject
from controller.errors import Conflict, Invalid


def merged(obj: JsonObject, patch: Mapping[str, object]) -> JsonObject:
    """`obj` with a merge patch applied: null takes a field out, an object is merged, all else is replaced."""
    result = dict(obj)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping):
            present = result.get(name)
            result[name] = merged(present if isinstance(present, dict) else {}, value)
        else:
            result[name] = copy.deepcopy(value)
    return result


def patched(
    obj: JsonObject, operations: Sequence[Mapping[str, object]], subject: str
) -> JsonObject:
    """`obj` with a JSON patch applied; `subject` names the object in errors."""
    changed = msgspec.json.decode(msgspec.json.encode(obj), type=JsonObject)
    try:
        rfc6902.apply([dict(operation) for operation in operations], changed)
    except JSONPatchTestFailure as failure:
        raise Conflict(
            f"{subject} is not as this patch requires", status=422, reason="Invalid"
        ) from failure
    except JSONPatchError as failure:
        tested = any(operation.get("op") == "test" for operation in operations)
        kind = Conflict if tested else Invalid
        raise kind(
            f"{subject}: the patch cannot be applied: {failure}", status=422, reason="Invalid"
        ) from failure
    return changed
