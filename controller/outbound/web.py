"""A gate over any page: ask for it, and read the number or the text at a path of its JSON, or its whole text.

Invariant: a path is plain names and list positions, `results.0.value`; nothing in a page is executed. A path
without a value is no data; a value that is neither number nor text is an error that does not repeat the value.
"""

import re
from typing import NamedTuple

import msgspec

from controller.api.analysis import Format, Method, WebQuery
from controller.api.decoding import decoded
from controller.outbound.fetching import Failed, Fetching, Request

LONGEST_TEXT = 4096
"""Bytes of a text that is a value."""
_NUMBER = re.compile("[0-9]{1,9}")


class Page(NamedTuple):
    """The value, the number of samples if `samplesPath` asks for it, and why there is no value."""

    value: float | str | None
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
    if page.format is Format.TEXT:
        text = _text(body)
        return Page(text or None, None, "" if text else "the page is empty,")
    try:
        tree = decoded(body, object)
    except msgspec.DecodeError as error:
        raise Failed("the page is no JSON") from error
    samples = number_at(tree, page.samples_path) if page.samples_path else None
    return Page(value_at(tree, page.value_path), samples, _why_nothing(tree, page.value_path))


def _text(body: bytes) -> str:
    """The whole page, without spaces around it. Raises `Failed`."""
    text = body.strip()
    if len(text) > LONGEST_TEXT:
        raise Failed(
            f"the page has more than {LONGEST_TEXT // 1024} KiB of text: ask for a shorter page"
        )
    try:
        return text.decode().strip()
    except UnicodeDecodeError as error:
        raise Failed("the page is no text in UTF-8") from error


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


def value_at(tree: object, path: str) -> float | str | None:
    """The number or the text at `path`, None if there is nothing. Raises `Failed` if it is neither."""
    found = _at(tree, path)
    if isinstance(found, bool):
        return "true" if found else "false"
    if not isinstance(found, str):
        return _number(found, path)
    if len(found.encode()) > LONGEST_TEXT:
        raise Failed(f"{path} is a text of more than {LONGEST_TEXT // 1024} KiB")
    return found


def number_at(tree: object, path: str) -> float | None:
    """The number at `path`, None if there is nothing. Raises `Failed` if it is no number."""
    return _number(_at(tree, path), path)


def _number(found: object, path: str) -> float | None:
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float | str):
        raise Failed(f"{path} is no number")
    try:
        return float(found)
    except (ValueError, OverflowError) as error:
        raise Failed(f"{path} is no number that can be compared") from error


def _at(tree: object, path: str) -> object:
    for name in path.split("."):
        if isinstance(tree, dict):
            tree = tree.get(name)
        elif isinstance(tree, list) and (position := _position(name, tree)) is not None:
            tree = tree[position]
        else:
            return None
    return tree
