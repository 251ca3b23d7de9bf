"""`-o jsonpath=…`: one value out of the data of `-o json`, for scripts.

Why own code: kubectl's dialect has no library in Python, and only its plain part is needed. Invariant: names, quoted
names, positions, `*` and `[?(@.NAME=="TEXT")]`; every other form is refused with a message, never half understood. A
path that leads nowhere prints nothing, as kubectl's does with missing keys.
"""

import re
from collections.abc import Iterator

import click
import msgspec

_PART = re.compile(
    r"""\.(?P<name>[\w/-]+|\*)
    | \[(?P<position>-?[0-9]{1,9}|\*)\]
    | \[(?P<quote>['"])(?P<quoted>.+?)(?P=quote)\]
    | \[\?\(@\.(?P<key>\w+)\s*==\s*(?P<mark>['"])(?P<text>.*?)(?P=mark)\)\]""",
    re.VERBOSE,
)
_BRACES = re.compile(r"\{([^{}]*)\}")
_LITERALS = {r'"\n"': "\n", r'"\t"': "\t"}


def filled(template: str, data: object) -> str:
    """The template with each `{…}` replaced by the values at that path, apart by blanks. Raises UsageError."""
    if "{" not in template:
        raise click.UsageError(f"jsonpath={template}: write the path in braces, {{.summary.state}}")
    if set(_BRACES.sub("", template)) & set("{}"):
        raise click.UsageError(f"jsonpath={template}: a brace is not closed")
    tree = msgspec.json.decode(msgspec.json.encode(data))
    return _BRACES.sub(lambda found: _replaced(found[1].strip(), tree), template)


def _replaced(path: str, tree: object) -> str:
    if path in _LITERALS:
        return _LITERALS[path]
    return " ".join(map(_shown, at(tree, path)))


def at(tree: object, path: str) -> Iterator[object]:
    """The values at a path. Raises UsageError if the path is not understood."""
    path = path.removeprefix("$")
    found = [tree]
    place = 0
    while place < len(path) and path != ".":
        part = _PART.match(path, place)
        if part is None:
            raise click.UsageError(
                f"jsonpath: {path[place:]} is not understood; use names, ['name'], [0], [*] and [?(@.name==\"text\")]"
            )
        place = part.end()
        found = [inner for value in found for inner in _step(value, part)]
    yield from found


def _step(value: object, part: re.Match[str]) -> list[object]:
    if part["key"]:
        found = value if isinstance(value, list) else []
        return [
            one for one in found if isinstance(one, dict) and one.get(part["key"]) == part["text"]
        ]
    wanted = part["name"] or part["position"] or part["quoted"]
    if wanted == "*":
        return list(value.values() if isinstance(value, dict) else _listed(value))
    if isinstance(value, dict):
        return [value[wanted]] if wanted in value else []
    return _at_position(_listed(value), int(wanted)) if part["position"] else []


def _at_position(values: list[object], position: int) -> list[object]:
    """The value there, a negative position from the end; none if there is none."""
    return [values[position]] if -len(values) <= position < len(values) else []


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _shown(value: object) -> str:
    """As kubectl prints it: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
