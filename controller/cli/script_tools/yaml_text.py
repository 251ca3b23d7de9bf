"""YAML as Kubernetes reads and people compare it.

Invariant: a text is read as kubectl reads it, into JSON's types only (a date and `22:22` stay text, `1e2` and `017`
are numbers). A written text reads back as the same value, keys in a fixed order, so that two texts differ exactly where
the values do.
"""

import difflib
import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from controller.api.depth import DEEPEST
from controller.domain.traffic.tree import Json, Tree, decode, encode

_WIDTH = 1000
MOST_VALUES = 1_000_000
"""Values of a document, each alias counted with everything that it repeats. The API server takes no larger object."""

_INDENTED = re.compile(rf"(?m)^[ \-?:\t]{{{DEEPEST}}}")
"""A line of so many levels without brackets: each of them needs a column."""
_SIGNS_AND_DIGITS = list("+-0123456789")
_INT = re.compile(r"[-+]?(?:0[bB][01_]+|0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]+|0|[1-9][0-9_]*)\Z")
_FLOAT = re.compile(
    r"(?:[-+]?(?:\.[0-9_]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
)
# YAML 1.1 has these too; the reader of the API server does not. A number with colons counted in sixties.
_NOT_READ = tuple(f"tag:yaml.org,2002:{name}" for name in ("timestamp", "value", "int", "float"))


# libyaml's reader if PyYAML was built with it, as its wheels are: ten times as fast
_SAFE: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SAFE):  # type: ignore[valid-type, misc]  # which of the two is known when it runs
    """YAML 1.1 as far as the API server's reader follows it."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag not in _NOT_READ]
    for first, resolvers in _SAFE.yaml_implicit_resolvers.items()
}


class _Dumper(yaml.SafeDumper):
    """Without anchors, so that texts can be compared and pasted. Quotes every text that a parser might read as another
    type.
    """

    def ignore_aliases(self, data: object) -> bool:
        """Always: YAML aliases are never written."""
        return True


def _whole(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    text = node.value.replace("_", "").lower()
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.lstrip("+"))
    octal = len(digits) > 1 and digits.isdigit() and digits.startswith("0")
    return sign * int(digits, 8 if octal else 0)


for _reader in (_Loader, _Dumper):
    _reader.add_implicit_resolver("tag:yaml.org,2002:int", _INT, _SIGNS_AND_DIGITS)
    _reader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, [*_SIGNS_AND_DIGITS, "."])
_Loader.add_constructor("tag:yaml.org,2002:int", _whole)


def _with_text_keys(value: Any) -> Json:
    """JSON's keys are text: `80:` is "80", `on:` is "true"."""
    if isinstance(value, dict):
        return {
            key if isinstance(key, str) else json.dumps(key): _with_text_keys(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_with_text_keys(item) for item in value]
    scalar: Json = value
    return scalar


def _number_of_values(node: yaml.Node, known: dict[int, int | None]) -> int:
    """The number of values in a node, its aliases written out. Raises ValueError for a node that contains itself."""
    if id(node) in known:
        found = known[id(node)]
        if found is None:
            raise ValueError(
                f"an alias stands inside its own anchor, in line {node.start_mark.line + 1}"
            )
        return found
    known[id(node)] = None
    inner: list[yaml.Node] = []
    if isinstance(node, yaml.SequenceNode):
        inner = node.value
    elif isinstance(node, yaml.MappingNode):
        inner = [part for pair in node.value for part in pair]
    number = known[id(node)] = 1 + sum(_number_of_values(each, known) for each in inner)
    return number


def _check_depth(text: str) -> None:
    """Raises ValueError for a text that is nested deeper than is read: the reader in C calls itself for each level, and
    ends the process where its stack ends."""
    if text.count("[") + text.count("{") <= DEEPEST and _INDENTED.search(text) is None:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_SAFE):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            line = event.start_mark.line + 1 if event.start_mark is not None else 1
            raise ValueError(f"it is nested deeper than {DEEPEST} levels, in line {line}")


def _values(text: str) -> Iterator[Any]:
    """The documents, one after the other. A few lines of aliases can mean more values than the memory holds."""
    _check_depth(text)
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            if _number_of_values(node, {}) > MOST_VALUES:
                raise ValueError(
                    f"its aliases stand for more than {MOST_VALUES} values: write fewer aliases"
                )
            yield loader.construct_document(node)
    finally:
        loader.dispose()


def read_documents(text: str) -> list[Json]:
    """All documents in `text`. Raises ValueError for text that is not YAML, or has data that JSON cannot express."""
    try:
        return [decode(encode(_with_text_keys(value))) for value in _values(text)]
    except yaml.YAMLError as problem:
        raise ValueError(f"not YAML: {' '.join(str(problem).split())}") from problem
    except (TypeError, RecursionError) as problem:
        raise ValueError(f"not data that JSON can express: {problem}") from problem


def read_yaml(text: str) -> Json:
    """The only document in `text`; null if there is none. Raises ValueError like `read_documents`."""
    documents = [document for document in read_documents(text) if document is not None]
    if len(documents) > 1:
        raise ValueError(f"{len(documents)} YAML documents where one is expected")
    return documents[0] if documents else None


def write_yaml(value: Json, *, sort: bool = True) -> str:
    """Write the value as YAML in block style."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=sort, allow_unicode=True, width=_WIDTH,
        default_flow_style=False,
    )  # fmt: skip
    return text


def diff(before: Tree, after: Tree, names: tuple[str, str], context: int = 3) -> tuple[str, ...]:
    """Unified diff of two values as YAML; empty if they are equal."""
    one, other = (write_yaml(value).splitlines() for value in (before, after))
    return tuple(difflib.unified_diff(one, other, *names, n=context, lineterm=""))
