"""A gate over any JSON page: ask for it, and read the number at a path.

Invariant: a path is plain names and list positions, `results.0.value`; nothing in a page is executed. A path
without a value is no data; a value that is no number is an error that does not repeat the value.
"""

import re
from typing import NamedTuple

import msgspec

from controller.api.analysis import Method, WebQuery
from controller.api.decoding import decoded
from controller.measure.fetching import Failed, Fetching, Request

_NUMBER = re.compile("[0-9]{1,9}")


class Page(NamedTuple):
    """The value, the number of samples if `samplesPath` asks for it, and why there is no value."""

    value: float | None
    samples: float | None
    missing: str = ""


async def ask(fetching: Fetching, namespace: str, page: WebQuery) -> Page:
    """What a page says. Raises `Failed`."""
    request = Request(
        namespace,
        page.url,
        headers=page.headers,
        auth=page.auth,
        method=page.method,
        body=page.body,
        timeout_seconds=page.timeout_seconds,
    )
    body = await fetching.fetch(request)
    try:
        tree = decoded(body, object)
    except msgspec.DecodeError as error:
        raise Failed("the page is no JSON") from error
    samples = at(tree, page.samples_path) if page.samples_path else None
    return Page(at(tree, page.value_path), samples, _why_nothing(tree, page.value_path))


def shown(page: WebQuery) -> str:
    """The request, in one line."""
    if page.method is Method.GET:
        return page.url
    return " ".join((page.method, page.url, page.body)).strip()


def _why_nothing(tree: object, path: str) -> str:
    """Which part of the path the page does not have; empty if it has all. Nothing of the page itself is repeated."""
    names = path.split(".")
    for place, name in enumerate(names):
        whole = ".".join(names[:place]) or "the page"
        if isinstance(tree, dict) and name in tree:
            tree = tree[name]
        elif isinstance(tree, list) and (position := _position(name, tree)) is not None:
            tree = tree[position]
        elif isinstance(tree, list):
            return f"the page has no {path}: {whole} is a list of {len(tree)}, and positions are written list.0,"
        elif isinstance(tree, dict):
            hint = ", and positions in lists are written list.0" if "[" in name else ""
            return f"the page has no {path}: there is no {name} in {whole}{hint},"
        else:
            return f"the page has no {path}: {whole} has nothing in it,"
    return f"{path} of the page is null" if tree is None else ""


def _position(name: str, values: list[object]) -> int | None:
    """The place in the list that a part of a path names; None if there is none."""
    is_number = _NUMBER.fullmatch(name) is not None
    return int(name) if is_number and int(name) < len(values) else None


def at(tree: object, path: str) -> float | None:
    """The number at `path`, None if there is nothing. Raises `Failed` if it is no number."""
    for name in path.split("."):
        if isinstance(tree, dict):
            tree = tree.get(name)
        elif isinstance(tree, list) and (position := _position(name, tree)) is not None:
            tree = tree[position]
        else:
            return None
    if tree is None:
        return None
    if isinstance(tree, bool) or not isinstance(tree, int | float | str):
        raise Failed(f"{path} is no number")
    try:
        return float(tree)
    except (ValueError, OverflowError) as error:
        raise Failed(f"{path} is no number that can be compared") from error
