"""Keeps what the API server answered to a write, for a later pass that copies the object: it need not be read again.

Why: a stable Service is pinned in one pass and copied in a later one; the caches have a few fields of it only.
Invariant: an answer is used in the version that was looked at, or not at all; memory is bounded. It must send nothing.
"""

from collections import OrderedDict

from controller.api.meta import Key
from controller.kube.resources import Resource

KEPT = 128
"""Answers; each is taken out when it is used."""

_Version = tuple[str, Key, str]


class KeptAnswers:
    """The last answers, by kind, name and version."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Version, bytes] = OrderedDict()

    def keep(self, resource: Resource, key: Key, version: str, answer: bytes) -> None:
        """An object as it was stored."""
        self._kept[resource.name, key, version] = answer
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def take(self, resource: Resource, key: Key, version: str) -> bytes | None:
        """The object in that version; None where it is not known."""
        return self._kept.pop((resource.name, key, version), None)
