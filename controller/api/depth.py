"""The deepest nesting of JSON that is read, at every door: admission, conversion, caches, annotations, files.

Why one small number: the API server stores ten thousand levels, msgspec stops at a thousand, and a function that calls
itself stops somewhere between. Whatever passes here, everything behind can walk through. Invariant: the number is far
below the limit of every library, and the check itself never calls itself.
"""

import re
from itertools import accumulate

DEEPEST = 100
"""Levels; an object of any known kind has fewer than thirty."""
TOO_DEEP = "it is nested too deeply"
_TEXTS = re.compile(rb'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
_STEPS = [
    {**dict.fromkeys(b"[{", 1), **dict.fromkeys(b"]}", -1)}.get(char, 0) for char in range(256)
]


def is_too_deep(text: bytes) -> bool:
    """Whether a JSON text is nested deeper than is read."""
    if text.count(b"[") + text.count(b"{") <= DEEPEST:
        return False
    brackets = _TEXTS.sub(b"", text).translate(None, _NO_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > DEEPEST
