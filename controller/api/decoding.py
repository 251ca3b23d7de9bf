"""Decodes JSON that anybody may have written: annotations, objects of foreign kinds, answers of other servers.

Why it exists: the API server stores values of ten thousand nested levels, and msgspec stops at a thousand with a
RecursionError, which is no DecodeError: one such annotation ended the process again and again. Invariant: whatever the
text is, the only exception is `msgspec.DecodeError`, and a value is nested no deeper than `DEEPEST`, so that all code
can walk through it. It must not know any type of its own.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from controller.api.depth import is_too_deep

T = TypeVar("T")
_TOO_DEEP = "the value is nested too deeply"


def decoded(text: str | bytes | msgspec.Raw, kind: type[T]) -> T:
    """The value in `text`. Raises `msgspec.DecodeError` if there is none of this type."""
    if is_too_deep(text.encode("utf-8", "replace") if isinstance(text, str) else text):
        raise msgspec.DecodeError(_TOO_DEEP)
    return msgspec.json.decode(text, type=kind)


def reader_of(kind: type[T]) -> Callable[[str | bytes | msgspec.Raw], T]:
    """`decoded` for one type, with a decoder that is made once: for objects that come often."""
    decode = msgspec.json.Decoder(kind).decode

    def read(text: str | bytes | msgspec.Raw) -> T:
        try:
            return decode(text)
        except RecursionError:
            raise msgspec.DecodeError(_TOO_DEEP) from None

    return read
