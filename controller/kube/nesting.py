"""Reads lists and events around the objects in them that are nested too deeply.

Why it exists: the API server stores objects of ten thousand nested levels, and msgspec stops at a thousand. One
object with free-form fields, in one namespace, would hide all objects of its kind from everybody. Invariant: an object
that is not too deep keeps every byte; of one that is too deep the outline is left, with its name and version, and the
reader knows that it is not the whole object. It must not know any kind.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import msgspec

from controller.api.depth import DEEPEST, TOO_DEEP

T = TypeVar("T")

AT_ONCE = 32 * 1024
"""Bytes of a text that takes some milliseconds at most."""
_MARK = b'"moonshift.dev/nested-too-deeply"'
# Texts are passed over: a bracket in one of them does not count.
_NEXT_BRACKET = re.compile(rb'(?s)(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+[\[\]{}]')


class Read(NamedTuple, Generic[T]):
    """A value that was read, and whether all of it is there."""

    value: T
    whole: bool


async def read_around(read: Callable[[bytes], T], text: bytes) -> Read[T]:
    """The value of a JSON text; parts that are nested too deeply are left out. Raises `msgspec.DecodeError`."""
    try:
        return Read(read(text), True)
    except RecursionError:
        # A second for a few million brackets: in a thread, the loop gets its turns.
        small = len(text) <= AT_ONCE
        outline = outlined(text) if small else await asyncio.to_thread(outlined, text)
    try:
        return Read(read(outline), False)
    except RecursionError:
        raise msgspec.DecodeError(TOO_DEEP) from None


def outlined(text: bytes) -> bytes:
    """The JSON text with a mark in place of everything below `DEEPEST` levels."""
    pieces: list[bytes] = []
    depth = kept = at = 0
    while (found := _NEXT_BRACKET.match(text, at)) is not None:
        at = found.end()
        if text[at - 1] in b"[{":
            depth += 1
            if depth == DEEPEST + 1:
                pieces.append(text[kept : at - 1])
                kept = at - 1
        else:
            if depth == DEEPEST + 1:
                pieces.append(_MARK)
                kept = at
            depth -= 1
    pieces.append(text[kept:])
    return b"".join(pieces)


def is_outline(item: msgspec.Raw) -> bool:
    """Whether something was left out of this part of a text that is not whole."""
    return _MARK in bytes(item)
