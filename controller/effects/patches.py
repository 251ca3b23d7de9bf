"""Operations of JSON patches, and the paths in them.

Invariant: a path's parts are escaped. Must not: send anything.
"""

Operation = dict[str, object]
"""One operation of a JSON patch."""


def generation_is(generation: int) -> Operation:
    """The patch applies only to the spec that was observed."""
    return {"op": "test", "path": "/metadata/generation", "value": generation}


def object_is(uid: str) -> Operation:
    """The patch applies only to this object, not to a later object of the same name."""
    return {"op": "test", "path": "/metadata/uid", "value": uid}


def absent(path: str) -> list[Operation]:
    """The field is absent afterwards, whether it was there before or not: `remove` alone fails if it is missing.

    A controller that was killed between two writes repeats the first one.
    """
    return [{"op": "add", "path": path, "value": {}}, {"op": "remove", "path": path}]


def pointer(*parts: str) -> str:
    """A JSON pointer to a path whose parts may hold slashes."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
