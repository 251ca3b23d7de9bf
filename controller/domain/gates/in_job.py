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
from controller.domain.gates.origins import (
    EachWord,
    Origin,
    Piece,
    Placed,
    Unplaced,
    Word,
    joined,
    unfit,
)

PREFIX = "MOONSHIFT_ARG_"
_CONTAINERS = ("containers", "initContainers")
_LIST = len('"env":[],')
_FORM = len('{"name":"","value":""},')
_DOLLARS = re.compile(r"\$+")


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
    return joined(pieces, _Environment())


class _Environment:
    """The place in the value of a variable: in a reference to another variable, or not."""

    def __init__(self) -> None:
        self._behind_dollar = False
        """Behind an odd number of `$`: the next character says whether a reference begins."""
        self._in_reference = False

    def on(self, text: str) -> None:
        """Read these characters."""
        if self._behind_dollar:
            text, self._behind_dollar = f"${text}", False
        at = 0
        while at < len(text):
            at = self._reference(text, at) if self._in_reference else self._outside(text, at)

    def _reference(self, text: str, at: int) -> int:
        end = text.find(")", at)
        self._in_reference = end == -1
        return len(text) if self._in_reference else end + 1

    def _outside(self, text: str, at: int) -> int:
        found = _DOLLARS.search(text, at)
        if found is None:
            return len(text)
        odd = len(found[0]) % 2 == 1
        self._behind_dollar = odd and found.end() == len(text)
        self._in_reference = odd and text.startswith("(", found.end())
        return found.end()

    def put(self, placed: Placed) -> str | Unplaced:
        """The word as it is: Kubernetes sees no reference in it."""
        if why := unfit(placed.word.text):
            return Unplaced(placed.name, f"it {why}")
        if self._behind_dollar or self._in_reference:
            return Unplaced(placed.name, "it stands behind a $, and would choose a variable")
        return _literal(placed.word.text)


def anywhere_else(pieces: Sequence[Piece]) -> str | Unplaced:
    """A text in any other field of a Job: nothing of others may stand there."""
    return joined(pieces, EachWord(lambda placed: Unplaced(placed.name, _remedy(placed.name))))


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
    added = _variables(words)
    spec = jobs.tree(query)
    for kind in _CONTAINERS:
        place = ("template", "spec", kind)
        if containers := items(child(spec, *place[:-1]), kind):
            spec = changed(spec, place, [_with_variables(one, added) for one in containers])
    return structs.replace(query, spec=msgspec.Raw(msgspec.json.encode(spec)))


def added_by_arguments(query: JobQuery, words: Mapping[str, Word]) -> int:
    """How many characters a Job gets by `with_arguments`, at most but for signs that JSON escapes."""
    pod = child(jobs.tree(query), "template", "spec")
    containers = sum(len(items(pod, kind)) for kind in _CONTAINERS)
    variables = _variables(words).items()
    return containers * (_LIST + sum(len(name) + len(value) + _FORM for name, value in variables))


def _variables(words: Mapping[str, Word]) -> dict[str, str]:
    return {
        variable(name.removeprefix("args.")): _literal(word.text)
        for name, word in words.items()
        if name.startswith("args.") and word.origin is not Origin.SECRET and not unfit(word.text)
    }


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
