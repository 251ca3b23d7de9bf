"""Typical mistakes of editors, templates and people in a manifest.

Invariant: Hypothesis chooses the mistake, so a failing example can be repeated and made smaller.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import yaml
from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
Path = tuple[Any, ...]

STRANGE = st.sampled_from(
    ("", "-1", "20", "120%", "x" * 70_000, "a\x1bb", "ünïcode", "../../etc", "{{ .Values.x }}", "~")
)
OTHERS: st.SearchStrategy[Any] = st.sampled_from(
    (None, True, 0, -3, 2**63, 0.5, "text", [], {}, [None], {"a": {"b": []}})
)


def places(tree: Any, path: Path = ()) -> Iterator[Path]:
    """Every place in a tree, the root left out."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for name, value in inner:
        yield (*path, name)
        if isinstance(value, dict | list):
            yield from places(value, (*path, name))


def _at(tree: Any, path: Path) -> Any:
    for name in path:
        tree = tree[name]
    return tree


def _parent(draw: Draw, documents: list[Any]) -> tuple[Any, Any]:
    """A place: the object or list that contains it, and its name or number there."""
    path = draw(st.sampled_from(list(places(documents))))
    return _at(documents, path[:-1]), path[-1]


def _left_out(draw: Draw, documents: list[Any]) -> None:
    holder, name = _parent(draw, documents)
    del holder[name]


def _misspelt(draw: Draw, documents: list[Any]) -> None:
    fields = [path for path in places(documents) if isinstance(path[-1], str)]
    path = draw(st.sampled_from(fields))
    holder = _at(documents, path[:-1])
    holder[path[-1][:-1] or "x"] = holder.pop(path[-1])


def _other_value(draw: Draw, documents: list[Any]) -> None:
    holder, name = _parent(draw, documents)
    holder[name] = draw(OTHERS)


def _strange_text(draw: Draw, documents: list[Any]) -> None:
    texts = [path for path in places(documents) if isinstance(_at(documents, path), str)]
    path = draw(st.sampled_from(texts))
    _at(documents, path[:-1])[path[-1]] = draw(STRANGE)


def _other_number(draw: Draw, documents: list[Any]) -> None:
    numbers = [path for path in places(documents) if isinstance(_at(documents, path), int)]
    path = draw(st.sampled_from(numbers))
    _at(documents, path[:-1])[path[-1]] = draw(st.sampled_from((-1, 0, 7, 101, 10**6, 2**70)))


def _said_twice(draw: Draw, documents: list[Any]) -> None:
    lists = [path for path in places(documents) if isinstance(_at(documents, path), list)]
    found = _at(documents, draw(st.sampled_from(lists)))
    found += copy.deepcopy(found)


def _swapped(draw: Draw, documents: list[Any]) -> None:
    (one, name), (other, called) = _parent(draw, documents), _parent(draw, documents)
    one[name] = copy.deepcopy(other[called])


def _wrapped(draw: Draw, documents: list[Any]) -> None:
    holder, name = _parent(draw, documents)
    holder[name] = draw(st.sampled_from(([holder[name]], {"value": holder[name]})))


def _object_missing(draw: Draw, documents: list[Any]) -> None:
    del documents[draw(st.integers(0, len(documents) - 1))]


def in_tree(damage: Callable[[Draw, list[Any]], None]) -> Callable[[Draw, str], str]:
    """The damage of a tree as one of a text."""

    def damaged(draw: Draw, text: str) -> str:
        documents = list(yaml.safe_load_all(text))
        damage(draw, documents)
        return yaml.safe_dump_all(documents)

    return damaged


def _cut(draw: Draw, text: str) -> str:
    """A text that ends too early, or lost the blanks of a line."""
    lines = text.splitlines()
    place = draw(st.integers(0, len(lines) - 1))
    if draw(st.booleans()):
        return "\n".join(lines[:place])
    return "\n".join((*lines[:place], lines[place].strip(), *lines[place + 1 :]))


DAMAGES: dict[str, Callable[[Draw, str], str]] = {
    "a field or an item is left out": in_tree(_left_out),
    "a field is misspelt": in_tree(_misspelt),
    "a value is of another type": in_tree(_other_value),
    "a text is strange": in_tree(_strange_text),
    "a number is another one": in_tree(_other_number),
    "a list is written twice": in_tree(_said_twice),
    "something stands where something else belongs": in_tree(_swapped),
    "a value stands one level too deep": in_tree(_wrapped),
    "an object is missing": in_tree(_object_missing),
    "the text is cut or out of line": _cut,
}
"""Ten ways, by name."""
