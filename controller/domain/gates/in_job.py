"""Words in a Job, and the arguments of its gate as variables of the environment of its containers.

Why variables: no text can be escaped for a program that is not known; `sh -c` runs what it gets. Invariant: pure. A
value of others stands in the environment only, where Kubernetes and the shell take it as it is. In a command, an image
or any other field it is refused.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import structs

from controller.api.analysis import JobQuery
from controller.api.jsontree import JsonObject, changed, child, items
from controller.domain.gates import jobs
from controller.domain.gates.origins import Origin, Piece, Placed, Unplaced, Word, joined, unfit

PREFIX = "MOONSHIFT_ARG_"
_CONTAINERS = ("containers", "initContainers")
_OPEN_REFERENCE = re.compile(r"(?<!\$)(?:\$\$)*\$(?:\([^)]*)?")


def variable(name: str) -> str:
    """The environment's variable of an argument."""
    return PREFIX + re.sub("[^A-Za-z0-9]", "_", name).upper()


def two_of_one_variable(names: Sequence[str]) -> tuple[str, str] | None:
    """Two arguments that would have the same variable."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(variable(name), name)
        if other != name:
            return other, name
    return None


def in_environment(pieces: Sequence[Piece]) -> str | Unplaced:
    """The value of a variable; `$` of others is doubled, so that Kubernetes puts nothing in its place."""
    return joined(pieces, _in_environment)


def _in_environment(placed: Placed, before: str) -> str | Unplaced:
    if why := unfit(placed.word.text):
        return Unplaced(placed.name, f"it {why}")
    if any(found.end() == len(before) for found in _OPEN_REFERENCE.finditer(before)):
        return Unplaced(placed.name, "it stands behind a $, and would choose a variable")
    return _literal(placed.word.text)


def anywhere_else(pieces: Sequence[Piece]) -> str | Unplaced:
    """A text in any other field of a Job: nothing of others may stand there."""
    return joined(pieces, lambda placed, _: Unplaced(placed.name, _remedy(placed.name)))


def _remedy(name: str) -> str:
    _, dot, argument = name.partition("args.")
    if not dot:
        return "a Job gets it in no field, because it is no name"
    here = variable(argument)
    return (
        "a Job gets it only in its environment, so that nobody else decides what runs: write "
        f'"${here}" in a shell script, or $({here}) as an argument of a program that is no shell'
    )


def is_environment(place: tuple[str, ...]) -> bool:
    """Whether a field of a Job's spec is the value of a container's variable."""
    return (
        place[:2] == ("template", "spec")
        and place[2:3] != ()
        and place[2] in _CONTAINERS
        and place[3:] == ("*", "env", "*", "value")
    )


def with_arguments(query: JobQuery, words: Mapping[str, Word]) -> JobQuery:
    """The Job with every argument in the environment of each container; a variable of its author stays as it is."""
    added = {
        variable(name.removeprefix("args.")): _literal(word.text)
        for name, word in words.items()
        if name.startswith("args.") and word.origin is not Origin.SECRET and not unfit(word.text)
    }
    spec = jobs.tree(query)
    for kind in _CONTAINERS:
        place = ("template", "spec", kind)
        if containers := items(child(spec, *place[:-1]), kind):
            spec = changed(spec, place, [_with_variables(one, added) for one in containers])
    return structs.replace(query, spec=msgspec.Raw(msgspec.json.encode(spec)))


def _with_variables(container: object, added: Mapping[str, str]) -> object:
    if not isinstance(container, dict):
        return container
    own = items(container, "env")
    known = {one.get("name") for one in own if isinstance(one, dict)}
    ours: list[JsonObject] = [
        {"name": name, "value": value} for name, value in added.items() if name not in known
    ]
    return {**container, "env": [*ours, *own]}


def _literal(text: str) -> str:
    return text.replace("$", "$$")
