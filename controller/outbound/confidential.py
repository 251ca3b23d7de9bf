"""The texts that a gate sends in confidence, and the answers that repeat one.

Why: servers repeat a header or a query in their error pages, and parts of an answer are shown in a status, which more
people may read than the Secret. Invariant: pure; an answer that repeats a confidential text, or a long part of one in a
refusal, is never shown. Both are a tenant's, and everything else waits for the check: its time grows with the sum of
their sizes, and never with the product.
"""

from collections.abc import Iterable, Iterator, Mapping

LONGEST_TEXTS = 64 * 1024
"""Characters of all confidential texts of one request; no server takes such headers."""
SHORTEST_PART = 8
"""Characters of a confidential text whose repetition in a refusal is no accident."""
_CONFIDENTIAL_KEYS = ("token", "password", "clientSecret")


def confidential_of(
    credentials: Mapping[str, str], filled_in: Iterable[str], authorization: str
) -> tuple[str, ...]:
    """The texts of one request that no answer may show: credentials, arguments, and the header made of them."""
    secret = (credentials[key].strip() for key in _CONFIDENTIAL_KEYS if key in credentials)
    header = authorization.partition(" ")[2]
    return tuple(dict.fromkeys(filter(None, (*secret, *filled_in, header))))


def repeated_in_refusal(body: bytes, confidential: Iterable[str]) -> bool:
    """The body has one of the texts, or a part of one that is too long for an accident."""
    by_width: dict[int, set[bytes]] = {}
    for text in confidential:
        for part in _parts(text.encode()):
            by_width.setdefault(len(part), set()).add(part)
    return any(
        body[at : at + width] in parts
        for width, parts in by_width.items()
        for at in range(len(body) - width + 1)
    )


def repeated_in_answer(body: bytes, confidential: Iterable[str]) -> bool:
    """The body has one of the texts whole; short ones occur in any answer."""
    whole = (text.encode() for text in confidential if len(text) >= SHORTEST_PART)
    return any(text in body for text in whole)


def _parts(text: bytes) -> Iterator[bytes]:
    width = min(len(text), SHORTEST_PART)
    return (text[at : at + width] for at in range(len(text) - width + 1))
