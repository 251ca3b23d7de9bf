"""The deepest nesting of JSON that is read, at every door: admission, conversion, caches, annotations, files.

Why one small number: the API server stores ten thousand levels, msgspec stops at a thousand, and a function that calls
itself stops somewhere between. Whatever passes here, everything behind can walk through. Invariant: the number is far
below the limit of every library, and the check itself never calls itself.
"""

import re
from collections.abc import Iterator
from itertools import accumulate

import msgspec

DEEPEST = 100
"""Levels; an object of any known kind has fewer than thirty."""
TOO_DEEP = "it is nested too deeply"
_TEXT = re.compile(rb'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_WHOLE_TEXTS = re.compile(rb'(?s)(?:[^"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+')
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
_STEPS = [
    {**dict.fromkeys(b"[{", 1), **dict.fromkeys(b"]}", -1)}.get(char, 0) for char in range(256)
]
_SLICE = 64 << 10
"""Bytes at a time: of a large text with many strings, all at once would take ten times its size."""
Json = bytes | memoryview | msgspec.Raw


def without_texts(json: Json) -> Iterator[bytes]:
    """A JSON text in slices, with the content of every string left out."""
    view, at = memoryview(json), 0
    while at < len(view):
        whole = _WHOLE_TEXTS.match(view, at, at + _SLICE)
        end = whole.end() if whole is not None else at
        if end > at:
            yield _TEXT.sub(b'""', bytes(view[at:end]))
        elif (long := _TEXT.match(view, at)) is not None:
            end = long.end()
            yield b'""'
        else:
            return
        at = end


def is_too_deep(json: Json) -> bool:
    """Whether a JSON text is nested deeper than is read."""
    if not _has_so_many_brackets(json):
        return False
    depth = 0
    for piece in without_texts(json):
        brackets = piece.translate(None, _NO_BRACKETS)
        if max(accumulate(map(_STEPS.__getitem__, brackets), initial=depth)) > DEEPEST:
            return True
        depth += sum(map(_STEPS.__getitem__, brackets))
    return False


def _has_so_many_brackets(json: Json) -> bool:
    view, found = memoryview(json), 0
    for begin in range(0, len(view), _SLICE):
        piece = bytes(view[begin : begin + _SLICE])
        found += piece.count(b"[") + piece.count(b"{")
        if found > DEEPEST:
            return True
    return False
