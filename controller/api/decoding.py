"""Decodes JSON that anybody may have written: annotations, objects of foreign kinds, answers of other servers.

Why it exists: the API server stores values of ten thousand nested levels, and msgspec stops at a thousand with a
RecursionError, which is no DecodeError: one such annotation ended the process again and again. Invariant: whatever the
text is, the only exception is `msgspec.DecodeError`, and a value is nested no deeper than `DEEPEST`, so that all code
can walk through it. A null where a field allows none counts as a field that is left out, as for the API server:
`annotations:` with nothing behind it is valid YAML. It must not know any type of its own.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from controller.api.depth import is_too_deep

T = TypeVar("T")
_NO_TEXT = "the value is no text in UTF-8"
_TOO_DEEP = "the value is nested too deeply"


def decoded(text: str | bytes | msgspec.Raw, kind: type[T]) -> T:
    """The value in `text`. Raises `msgspec.DecodeError` if there is none of this type."""
    if is_too_deep(text.encode("utf-8", "replace") if isinstance(text, str) else text):
        raise msgspec.DecodeError(_TOO_DEEP)
    return _despite_nulls(lambda raw: msgspec.json.decode(raw, type=kind), text)


def reader_of(kind: type[T]) -> Callable[[str | bytes | msgspec.Raw], T]:
    """`decoded` for one type, with a decoder that is made once: for objects that come often."""
    read_shallow = shallow_reader_of(kind)

    def read(text: str | bytes | msgspec.Raw) -> T:
        try:
            return read_shallow(text)
        except RecursionError:
            raise msgspec.DecodeError(_TOO_DEEP) from None

    return read


def shallow_reader_of(kind: type[T]) -> Callable[[str | bytes | msgspec.Raw], T]:
    """The same for a caller that has an answer of its own to a RecursionError, which comes through."""
    decode = msgspec.json.Decoder(kind).decode
    return lambda text: _despite_nulls(decode, text)


def without_nulls(value: object) -> object:
    """The value without the members that are null, at every depth. Nulls in lists stay: they are items."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def _despite_nulls(
    decode: Callable[[str | bytes | msgspec.Raw], T], text: str | bytes | msgspec.Raw
) -> T:
    """The decoded value. The text is read again without its nulls only if one of them is in the way, which is rare."""
    try:
        try:
            return decode(text)
        except msgspec.ValidationError as problem:
            if "got `null`" not in str(problem):
                raise
        return decode(msgspec.json.encode(without_nulls(msgspec.json.decode(text))))
    except UnicodeError:
        raise msgspec.DecodeError(_NO_TEXT) from None
