"""Access tokens that were granted, until shortly before they expire.

Invariant: bounded in size, in number and in age, for each namespace and in all: the tokens of one tenant's server take
no memory from others, and no place of theirs. Only a hash of the question is kept, which contains a password.
"""

import hashlib

import msgspec

LONGEST = 16 * 1024
"""Characters of a token; a server that takes longer headers is rare."""
OF_NAMESPACE = 16
IN_ALL = 512
OLDEST = 3600.0
"""Seconds after which a token is asked for again, whatever its server said."""
EARLY = 30.0
"""Seconds before its end."""


class _Kept(msgspec.Struct, frozen=True):
    namespace: str
    token: str
    until: float


class Tokens:
    """The tokens of one process; `now` are seconds that only grow."""

    def __init__(self) -> None:
        self._kept: dict[bytes, _Kept] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, question: object, now: float) -> str | None:
        """The token that this question was answered with; None if there is none."""
        kept = self._kept.get(_hash(question))
        return kept.token if kept is not None and kept.until > now else None

    def keep(
        self, question: object, namespace: str, token: str, seconds: float, now: float
    ) -> None:
        """Keep a token that is valid for so long."""
        self._kept = {key: kept for key, kept in self._kept.items() if kept.until > now}
        own = [key for key, kept in self._kept.items() if kept.namespace == namespace]
        if len(own) >= OF_NAMESPACE:
            del self._kept[own[0]]
        elif len(self._kept) >= IN_ALL:
            del self._kept[next(iter(self._kept))]
        until = now + min(OLDEST, max(0.0, seconds - EARLY))
        self._kept[_hash(question)] = _Kept(namespace, token, until)

    def drop(self, question: object) -> None:
        """The token is not taken any more."""
        self._kept.pop(_hash(question), None)


def _hash(question: object) -> bytes:
    return hashlib.sha256(msgspec.json.encode(question)).digest()
