"""The texts that a gate sends in confidence, and the answers that repeat one.

Why: servers repeat a header or a query in their error pages, and parts of an answer are shown in a status, which more
people may read than the Secret. Invariant: pure; an answer that repeats a confidential text, or a long part of one in a
refusal, is never shown.
"""

from collections.abc import Iterable, Mapping

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
    return any(part in body for text in confidential for part in _parts(text))


def repeated_in_answer(body: bytes, confidential: Iterable[str]) -> bool:
    """The body has one of the texts whole; short ones occur in any answer."""
    whole = (text.encode() for text in confidential if len(text) >= SHORTEST_PART)
    return any(text in body for text in whole)


def _parts(text: str) -> Iterable[bytes]:
    width = min(len(text), SHORTEST_PART)
    return {text[at : at + width].encode() for at in range(len(text) - width + 1)}
