"""The caches that are filled when the process starts, and the state of each.

Invariant: no pass runs before the Rollouts and the scripts are known, and before every other cache is synced, may not
be read, or is of a kind that is not served. A cache that may not be read, or whose kind is not served, stops only the
Rollouts that depend on it.
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
    """A watch on any kind."""

    resource: Resource

    @property
    def availability(self) -> Availability: ...

    async def run(self) -> None: ...


class SourceMetrics(Protocol):
    """Metrics of caches."""

    def cache_synced(self, resource: str, synced: bool) -> None:
        """A cache is synced, or not."""
        ...


class Sources:
    """All caches that are filled from the start."""

    def __init__(self, changed: Callable[[], None], metrics: SourceMetrics) -> None:
        """Once passes have begun, `changed` is called when a cache becomes synced, or is no longer synced."""
        self.every: Sequence[Watching] = ()
        self._availability_listener = changed
        self._filled: Callable[[], None] | None = None
        self._metrics = metrics
        self._changed = asyncio.Event()
        self._settled = False

    def follow(self, every: Sequence[Watching]) -> None:
        """Set the caches."""
        self.every = every
        self._count()

    def once_filled(self, filled: Callable[[], None]) -> None:
        """`filled` is called once, as soon as passes could begin; on every replica, whoever leads."""
        self._filled = filled

    def unavailable(self, kinds: Iterable[Resource]) -> Unavailable | None:
        """Why the objects of one of these kinds are not known; None when all are."""
        wanted = {kind.name for kind in kinds}
        for source in self.every:
            state = source.availability
            if source.resource.name in wanted and not isinstance(state, Synced):
                return state
        return None

    def availability_changed(self) -> None:
        """The state of one of the caches has changed."""
        self._changed.set()
        self._count()
        if self._filled is not None and self._known():
            self._filled()
            self._filled = None
        if self._settled:
            self._availability_listener()

    async def settled(self) -> None:
        """Return when passes may begin."""
        while not self._known():
            self._changed.clear()
            await self._changed.wait()
        self._settled = True

    def _known(self) -> bool:
        return all(_is_settled(source) for source in self.every)

    def _count(self) -> None:
        for source in self.every:
            synced = isinstance(source.availability, Synced)
            self._metrics.cache_synced(source.resource.name, synced)


def _is_settled(source: Watching) -> bool:
    if source.resource in INDISPENSABLE:
        return isinstance(source.availability, Synced)
    return isinstance(source.availability, Synced | Forbidden | NotServed)
