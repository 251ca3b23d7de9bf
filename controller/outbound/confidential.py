"""The texts that a gate sends in confidence, and the answers that repeat one.

Why: servers repeat a header or a query in their error pages, and parts of an answer are shown in a status, which more
people may read than the Secret. Invariant: pure; an answer that repeats a confidential text, or a long part of one in a
refusal, is never shown. Both are a tenant's, and everything else waits for the check: its time grows with the sum of
their sizes, and never with the product.
"""

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus

import msgspec

from controller.outbound.escapes import views_of

LONGEST_TEXTS = 64 * 1024
"""Characters of all confidential texts of one request; no server takes such headers."""
SHORTEST_PART = 8
"""Characters of a confidential text whose repetition in a refusal is no accident."""
HIDDEN = "(secret)"
REFUSED = 400
_QUOTED = re.compile("%[0-9A-F]{2}")
_CONFIDENTIAL_KEYS = ("token", "password", "clientSecret")


Headers = tuple[tuple[str, str], ...]


class Answered(msgspec.Struct, frozen=True):
    """The answer of a server; names of headers are in small letters."""

    status: int
    headers: Headers
    body: bytes


def confidential_of(
    credentials: Mapping[str, str], filled_in: Iterable[str], authorization: str
) -> tuple[str, ...]:
    """The texts of one request that no answer may show: credentials, arguments, and the header made of them."""
    secret = (credentials[key].strip() for key in _CONFIDENTIAL_KEYS if key in credentials)
    header = authorization.partition(" ")[2]
    return tuple(dict.fromkeys(filter(None, (*secret, *filled_in, header))))


def repeated_in_refusal(body: bytes, confidential: Iterable[str]) -> bool:
    """The body has one of the texts, or a part of one that is too long for an accident, in whatever escapes."""
    by_width: dict[int, set[bytes]] = {}
    for text in confidential:
        for form in (text.encode(), *_forms(text)):
            for part in _parts(form.lower()):
                by_width.setdefault(len(part), set()).add(part)
    return any(
        view[at : at + width] in parts
        for view in views_of(body)
        for width, parts in by_width.items()
        for at in range(len(view) - width + 1)
    )


def repeated_in_answer(body: bytes, confidential: Iterable[str]) -> bool:
    """The body has one of the texts whole, in whatever escapes and letters; short ones occur in any answer."""
    whole = [text for text in confidential if len(text) >= SHORTEST_PART]
    forms = {form.lower() for text in whole for form in (text.encode(), *_forms(text))}
    return bool(forms) and any(form in view for view in views_of(body) for form in forms)


def scrubbed_answer(answer: Answered, confidential: Iterable[str]) -> Answered:
    """The answer without the texts, in no encoding that servers repeat them in. A refusal that still repeats a part of
    one has no body; short texts are hidden in a refusal only, for they occur in any answer.
    """
    texts = tuple(confidential)
    refused = answer.status >= REFUSED
    hidden = _encoded(text for text in texts if refused or len(text) >= SHORTEST_PART)
    body = answer.body
    for text in hidden:
        body = body.replace(text.encode(), HIDDEN.encode())
    if refused and repeated_in_refusal(body.replace(HIDDEN.encode(), b"\0"), texts):
        body = b""
    headers = tuple((name, _hidden(text, hidden, texts)) for name, text in answer.headers)
    return Answered(answer.status, headers, body)


def scrubbed_words(words: str, confidential: Iterable[str]) -> str:
    """Words of a script without the texts."""
    return _without(words, _encoded(confidential))


def _hidden(text: str, hidden: Iterable[str], texts: Iterable[str]) -> str:
    """A header without the texts; nothing of it where one is left in escapes of another spelling."""
    rest = _without(text, hidden)
    return HIDDEN if repeated_in_answer(rest.encode(), texts) else rest


def _without(text: str, hidden: Iterable[str]) -> str:
    for one in hidden:
        text = text.replace(one, HIDDEN)
    return text


def _encoded(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts as servers repeat them, long ones first: one may be a part of another."""
    found: set[str] = set()
    for text in texts:
        in_json = json.dumps(text)[1:-1]
        in_address = (quote(text, safe=""), quote(text), quote_plus(text))
        found |= {
            *(text, *in_address, *map(_small_hexadecimals, in_address), html.escape(text)),
            *(in_json, json.dumps(text, ensure_ascii=False)[1:-1], in_json.replace("/", "\\/")),
            base64.b64encode(text.encode()).decode().rstrip("="),
        }
    return tuple(sorted(filter(None, found), key=lambda one: (-len(one), one)))


def _small_hexadecimals(quoted: str) -> str:
    return _QUOTED.sub(lambda found: found[0].lower(), quoted)


def _forms(text: str) -> Iterator[bytes]:
    """The text in hexadecimals, and in Base64 wherever it stands in a longer text, without the letters that its
    neighbours decide.
    """
    raw = text.encode()
    yield raw.hex().encode()
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw)
        end = (before + len(raw)) * 8 // 6
        own = whole[-(-before * 8 // 6) : end]
        if len(own) >= SHORTEST_PART:
            yield own
            yield own.replace(b"+", b"-").replace(b"/", b"_")


def _parts(text: bytes) -> Iterator[bytes]:
    width = min(len(text), SHORTEST_PART)
    return (text[at : at + width] for at in range(len(text) - width + 1))
