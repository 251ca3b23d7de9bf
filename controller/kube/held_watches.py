"""Watches that exist while an owner holds them: of kinds that objects name, of ConfigMaps with scripts.

Invariant: all holders of a key share one watch, which ends with the last holder. Tenants choose the keys, so their
number is bounded, for a namespace and in all; a refused owner is woken when a place is free. It must not know the type
of the watched objects.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from controller.api.meta import Key

Owner = Key
"""The holder of a watch: a Rollout, or the name that gateway objects have for a TrafficRouting."""


class Watch(Protocol):
    """One watch, of a kind or of an object."""

    async def run(self) -> None:
        """Watch until cancelled."""
        ...


class _Ordered(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...

    def __hash__(self) -> int: ...


K = TypeVar("K", bound=_Ordered)
W = TypeVar("W", bound=Watch)


class Bounds(msgspec.Struct, frozen=True):
    """How many keys may be held."""

    of_a_namespace: int
    """By all owners of one namespace."""
    in_all: int


class HeldWatches(Generic[K, W]):
    """The watches of the keys that are held; `run` runs them."""

    def __init__(
        self, make: Callable[[K], W], bounds: Bounds, wake: Callable[[Owner], None]
    ) -> None:
        self._make = make
        self._bounds = bounds
        self._wake = wake
        self._held: dict[Owner, frozenset[K]] = {}
        self._left_out: dict[Owner, frozenset[K]] = {}
        self._in_namespace: dict[str, Counter[K]] = {}
        """The number of owners of a namespace that hold a key, so that a namespace's keys are counted without visiting
        all owners.
        """
        self._holders: dict[K, set[Owner]] = {}
        self._watches: dict[K, W] = {}
        self._turned = asyncio.Event()

    def keep(self, owner: Owner, keys: Iterable[K]) -> None:
        """`owner` needs these keys, and no others any more."""
        wanted = frozenset(keys)
        if self._held.get(owner, frozenset()) == wanted and owner not in self._left_out:
            return
        before = self._held.pop(owner, frozenset())
        self._count(owner.namespace, before, -1)
        granted = self._granted(owner, wanted)
        self._count(owner.namespace, granted, 1)
        if granted:
            self._held[owner] = granted
        self._left_out.pop(owner, None)
        if wanted - granted:
            self._left_out[owner] = wanted - granted
        for key in granted:
            self._holders.setdefault(key, set()).add(owner)
            if key not in self._watches:
                self._watches[key] = self._make(key)
                self._turned.set()
        for key in before - granted:
            self._let_go(key, owner)

    def get(self, key: K) -> W | None:
        """The watch of a key; None if no owner holds it, or there was no place for it."""
        return self._watches.get(key)

    def items(self) -> Iterator[tuple[K, W]]:
        """All keys that are held, with their watches."""
        return iter(self._watches.items())

    def wake_holders(self, key: K) -> None:
        """The state of the key changed."""
        for owner in tuple(self._holders.get(key, ())):
            self._wake(owner)

    async def run(self, each_turn: Callable[[], None] = lambda: None) -> None:
        """Run the watches, until cancelled; `each_turn` is called after every change of the keys."""
        tasks: dict[W, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            while True:
                self._turned.clear()
                names = {watch: key for key, watch in self._watches.items()}
                for ended in tasks.keys() - names.keys():
                    tasks.pop(ended).cancel()
                for watch in names.keys() - tasks.keys():
                    tasks[watch] = group.create_task(watch.run(), name=f"watch {names[watch]}")
                each_turn()
                await self._turned.wait()

    def _granted(self, owner: Owner, wanted: frozenset[K]) -> frozenset[K]:
        held = set(self._in_namespace.get(owner.namespace, ()))
        granted = wanted & held
        for key in sorted(wanted - held):
            full = len(self._watches) >= self._bounds.in_all and key not in self._watches
            if len(held) < self._bounds.of_a_namespace and not full:
                held.add(key)
                granted |= {key}
        return granted

    def _count(self, namespace: str, keys: frozenset[K], by: int) -> None:
        counted = self._in_namespace.setdefault(namespace, Counter())
        for key in keys:
            counted[key] += by
            if not counted[key]:
                del counted[key]
        if not counted:
            del self._in_namespace[namespace]

    def _let_go(self, key: K, owner: Owner) -> None:
        holders = self._holders[key]
        holders.discard(owner)
        if holders and key not in self._in_namespace.get(owner.namespace, ()):
            self._wake_refused(lambda waiting: waiting.namespace == owner.namespace)
        if holders:
            return
        del self._holders[key], self._watches[key]
        self._turned.set()
        self._wake_refused(lambda _: True)

    def _wake_refused(self, which: Callable[[Owner], bool]) -> None:
        """A place became free for these owners."""
        for waiting in tuple(self._left_out):
            if which(waiting):
                self._wake(waiting)
