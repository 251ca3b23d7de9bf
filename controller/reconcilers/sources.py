"""The caches that are filled from the start, and how each of them stands.

Invariant: no pass before the Rollouts and the scripts are known, and before it is known of every other cache how it
stands; one that may not be read, or whose kind is not installed, stops only the Rollouts that depend on it.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from controller.domain.availability import (
    Availability,
    Forbidden,
    NotServed,
    Synced,
    Unavailable,
)
from controller.kube.resources import CONFIG_MAPS, ROLLOUTS, Resource

INDISPENSABLE = (ROLLOUTS, CONFIG_MAPS)


class Watching(Protocol):
    """A watch, whatever it is of."""

    resource: Resource

    @property
    def availability(self) -> Availability: ...

    async def run(self) -> None: ...


class SourceMetrics(Protocol):
    """What is told about caches."""

    def cache_synced(self, resource: str, synced: bool) -> None:
        """A cache can be relied on, or not."""
        ...


class Sources:
    """All caches that are filled from the start."""

    def __init__(self, turned: Callable[[], None], metrics: SourceMetrics) -> None:
        """`turned` hears that a cache can be relied on, or cannot any more, once passes have begun."""
        self.every: Sequence[Watching] = ()
        self._turned = turned
        self._metrics = metrics
        self._told = asyncio.Event()
        self._settled = False

    def follow(self, every: Sequence[Watching]) -> None:
        """These are the caches."""
        self.every = every
        self._count()

    def unavailable(self, kinds: Iterable[Resource]) -> Unavailable | None:
        """Why the objects of one of these kinds are not known; None when all are."""
        wanted = {kind.name for kind in kinds}
        for source in self.every:
            stands = source.availability
            if source.resource.name in wanted and not isinstance(stands, Synced):
                return stands
        return None

    def tell(self) -> None:
        """One of the caches stands otherwise than before."""
        self._told.set()
        self._count()
        if self._settled:
            self._turned()

    async def settled(self) -> None:
        """Return when passes may begin."""
        while not all(_is_settled(source) for source in self.every):
            self._told.clear()
            await self._told.wait()
        self._settled = True

    def _count(self) -> None:
        for source in self.every:
            synced = isinstance(source.availability, Synced)
            self._metrics.cache_synced(source.resource.name, synced)


def _is_settled(source: Watching) -> bool:
    if source.resource in INDISPENSABLE:
        return isinstance(source.availability, Synced)
    return isinstance(source.availability, Synced | Forbidden | NotServed)
