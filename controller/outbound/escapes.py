"""The texts of an answer with its escapes read.

Why: a server that repeats a Secret rarely repeats its bytes. It writes `\\/` or `\\u0026` in JSON, `%2F` in an address,
`&amp;` in HTML, and an address in JSON has both. Invariant: pure; there are at most 21 views, each made in one walk,
and an answer without escapes is its only one. No view is ever shown. Letters are small, because servers change them.
"""

import html
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote_to_bytes

DEEP = 2
"""Escapes in escapes, as those of an address in JSON."""
_IN_JSON = re.compile(rb"(?:\\u[0-9a-fA-F]{4})+|\\x[0-9a-fA-F]{2}|\\[^ux]", re.DOTALL)
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def views_of(body: bytes) -> Iterator[bytes]:
    """The body in small letters, and once more for each way to read its escapes that changes it."""
    known = level = {body}
    yield body.lower()
    for _ in range(DEEP):
        level = {read(one) for one in level for read in _READERS} - known
        known = known | level
        yield from (one.lower() for one in level)


def _json(body: bytes) -> bytes:
    return _IN_JSON.sub(_one_of_json, body) if b"\\" in body else body


def _one_of_json(found: re.Match[bytes]) -> bytes:
    escape = found[0]
    if escape[1:2] == b"u":
        units = bytes.fromhex(escape.replace(b"\\u", b"").decode())
        return units.decode("utf-16-be", "replace").encode()
    if escape[1:2] == b"x":
        return bytes.fromhex(escape[2:].decode())
    return _LETTERS.get(escape[1:], escape[1:])


def _address(body: bytes) -> bytes:
    return unquote_to_bytes(body) if b"%" in body else body


def _form(body: bytes) -> bytes:
    return _address(body.replace(b"+", b" "))


def _html(body: bytes) -> bytes:
    return html.unescape(body.decode(errors="replace")).encode() if b"&" in body else body


_READERS: tuple[Callable[[bytes], bytes], ...] = (_json, _address, _form, _html)
