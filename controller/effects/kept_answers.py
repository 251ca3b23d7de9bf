"""Keeps the API server's answer to a write for a later pass that copies the object, which then need not read it.

Why: a stable Service is pinned in one pass and copied in a later one; the caches have only a few fields of it.
Invariant: an answer is used only in the version that was observed; memory is bounded, and the answers of a deleted
Rollout are forgotten. It must send nothing.
"""

from collections import OrderedDict
from typing import NamedTuple

from controller.api.meta import Key
from controller.kube.resources import Resource

KEPT = 128
"""Answers; each is taken out when it is used."""

_Place = tuple[Key, str, Key]
"""The Rollout, the resource, the object."""


class KeptAnswers:
    """The last answers about each object, by the Rollout for which it was written."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Place, tuple[str, bytes]] = OrderedDict()

    def of(self, owner: Key) -> "AnswersOf":
        """The answers of one Rollout."""
        return AnswersOf(self, owner)

    def keep(self, place: _Place, version: str, answer: bytes) -> None:
        """An object as it was stored; an older answer about it is of no use any more."""
        self._kept[place] = version, answer
        self._kept.move_to_end(place)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def take(self, place: _Place, version: str) -> bytes | None:
        """The object in that version; None if it is not known."""
        known = self._kept.get(place)
        if known is None or known[0] != version:
            return None
        del self._kept[place]
        return known[1]

    def forget(self, owner: Key) -> None:
        """The Rollout is gone."""
        for place in [place for place in self._kept if place[0] == owner]:
            del self._kept[place]


class AnswersOf(NamedTuple):
    """The answers of one Rollout."""

    answers: KeptAnswers
    owner: Key

    def keep(self, resource: Resource, key: Key, version: str, answer: bytes) -> None:
        """An object as it was stored."""
        self.answers.keep((self.owner, resource.name, key), version, answer)

    def take(self, resource: Resource, key: Key, version: str) -> bytes | None:
        """The object in that version; None if it is not known."""
        return self.answers.take((self.owner, resource.name, key), version)
