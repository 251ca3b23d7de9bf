"""Go's types of a pod template, read from `pod_template.types`.

Why it exists: the original names a Deployment's revision by a hash over the printed Go value, so the order of fields
and the names of types count. Invariant: data, not code; a line that cannot be read is a defect of the package.
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple

ROOT = "v1.PodTemplateSpec"


class GoField(NamedTuple):
    """A field of a struct: its name in Go, its name in JSON, its type."""

    name: str
    json: str
    type: str


class GoTypes(NamedTuple):
    """Structs by name, and types that are other names of types."""

    structs: Mapping[str, tuple[GoField, ...]]
    aliases: Mapping[str, str]


@cache
def go_types() -> GoTypes:
    """Return the table; it is read once."""
    text = resources.files("controller.api.original").joinpath("pod_template.types").read_text()
    structs: dict[str, list[GoField]] = {}
    aliases: dict[str, str] = {}
    fields: list[GoField] = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if line.startswith(" "):
            fields.append(GoField(*line.split()))
        elif " = " in line:
            name, _, other = line.partition(" = ")
            aliases[name] = other
        else:
            fields = structs[line] = []
    return GoTypes({name: tuple(found) for name, found in structs.items()}, aliases)
