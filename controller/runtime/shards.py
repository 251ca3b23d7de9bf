"""The shards that this process holds, when several processes divide the namespaces.

Why two kinds of Lease: one has the number of shards (the *generation*), and is held in common by all processes with
that number; a Lease for each shard has its holder. A process with another number, an unsharded one included,
competes for the first Lease and holds no shard before it has it.

Invariants: a write about a namespace passes the fence of the generation and that of its shard; a shard is released
after its passes have ended and its fence has closed; a process that loses one of its Leases ends, because it renews
all of them over the same connections, and its memory of that shard must not be used again.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from random import Random

from controller.domain.shards import common_holder, shard_of, weight
from controller.runtime.clock import Clock
from controller.runtime.fence import Fence
from controller.runtime.leader import (
    Leader,
    LeaderMetrics,
    LeaseRecord,
    LeaseStore,
    LeaseTiming,
    cancelled,
)
from controller.runtime.leadership import Begun, Ended, Namespaces, Work

MOST_PATIENCE = 3
"""Periods that a process with many shards waits longer than one without before it asks for one more."""

_log = logging.getLogger(__name__)


async def _at_once(_: Namespaces) -> None:
    """No work is under way."""


class HandedOver(Exception):
    """The work on a shard has ended because another process wants it."""


class Shards:
    """The shards of one process; `run` returns only by an exception."""

    def __init__(
        self,
        stores: tuple[LeaseStore, ...],
        common: LeaseStore,
        identity: str,
        *,
        name: str,
        clock: Clock,
        timing: LeaseTiming | None = None,
        random: Random | None = None,
        metrics: LeaderMetrics | None = None,
        seconds: Callable[[], float] | None = None,
    ) -> None:
        """`stores` are the Leases of the shards, `common` that of the generation."""
        self._count = len(stores)
        self._identity = identity
        self._timing = timing or LeaseTiming()
        self._held: set[int] = set()
        self._holders: dict[int, str] = {}
        self._gained = tuple(asyncio.Event() for _ in stores)
        self._lost = tuple(asyncio.Event() for _ in stores)
        self._asked = tuple(asyncio.Event() for _ in stores)
        self._begun: Begun = lambda _: None
        self._ended: Ended = _at_once
        self._fence = Fence(seconds) if seconds else Fence()
        self._fences = tuple(Fence(seconds) if seconds else Fence() for _ in stores)
        make = partial(Leader, clock=clock, timing=timing, random=random, metrics=metrics)
        self._generation = make(
            common, common_holder(self._count), name=name, fence=self._fence, shared=True
        )
        self._leaders = tuple(
            make(
                store, identity, name=f"{name}-{shard}", fence=self._fences[shard],
                patience=self._patience, wants=partial(self._wants, shard),
                asked=partial(self._ask, shard),
            )
            for shard, store in enumerate(stores)
        )  # fmt: skip

    def on_changes(self, begun: Begun, ended: Ended) -> None:
        """Before `run`: set the callbacks that begin and end the work on the namespaces of a shard."""
        self._begun, self._ended = begun, ended

    def holds(self, namespace: str) -> bool:
        """Work on this namespace may begin here."""
        return shard_of(namespace, self._count) in self._held

    def check(self, namespace: str) -> None:
        """Raise LostLease unless a write about this namespace may be sent now; empty: about none."""
        self._fence.check()
        if namespace:
            self._fences[shard_of(namespace, self._count)].check()

    async def run(self, work: Work) -> None:
        """Do `work` while this number of shards is in force, and hold as many shards as are this process's to hold."""
        await self._generation.run(partial(self._hold_while, work))

    async def during(self, namespace: str, duty: Work) -> None:
        """Run work of one process only: `duty` runs while the shard of this namespace is held."""
        shard = shard_of(namespace, self._count)
        while True:
            await self._gained[shard].wait()
            doing = asyncio.ensure_future(duty())
            ending = asyncio.ensure_future(self._lost[shard].wait())
            try:
                await asyncio.wait((doing, ending), return_when=asyncio.FIRST_COMPLETED)
                if doing.done():
                    doing.result()
                await ending  # a duty that is done is not begun again while the shard is held
            finally:
                await cancelled(doing)
                ending.cancel()

    async def _hold_while(self, work: Work) -> None:
        working = asyncio.ensure_future(work())
        by_weight = sorted(range(self._count), key=partial(weight, self._identity), reverse=True)
        holding = [
            asyncio.ensure_future(self._hold(shard, turn * self._timing.retry_period))
            for turn, shard in enumerate(by_weight)
        ]
        try:
            done, _ = await asyncio.wait((working, *holding), return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()
        finally:
            # passes in flight end while the Leases are still renewed; without one of them the process has to end
            lost = any(one.done() for one in holding)
            await cancelled(working, within=self._timing.duration if lost else None)
            await asyncio.gather(*(cancelled(one) for one in holding))

    async def _hold(self, shard: int, delay: float) -> None:
        await asyncio.sleep(delay)
        while True:
            try:
                await self._leaders[shard].run(partial(self._serve, shard))
            except HandedOver:
                # the process that asked comes first
                await asyncio.sleep((1 + MOST_PATIENCE) * self._timing.retry_period)

    async def _serve(self, shard: int) -> None:
        def mine(namespace: str) -> bool:
            return shard_of(namespace, self._count) == shard

        self._holders[shard] = self._identity
        self._held.add(shard)
        self._asked[shard].clear()
        self._lost[shard].clear()
        self._gained[shard].set()
        _log.info("holds shard", extra={"shard": shard, "shards": self._count})
        try:
            self._begun(mine)
            await self._asked[shard].wait()
            self._leave(shard)
            await self._ended(mine)
            raise HandedOver
        finally:
            self._leave(shard)
            _log.info("leaves shard", extra={"shard": shard, "shards": self._count})

    def _leave(self, shard: int) -> None:
        """No work on it begins any more."""
        self._held.discard(shard)
        self._gained[shard].clear()
        self._lost[shard].set()

    def _patience(self) -> int:
        return min(len(self._held), MOST_PATIENCE)

    def _wants(self, shard: int, seen: LeaseRecord) -> bool:
        """Another process holds it, and at least two shards more than this one; shards without a holder are taken
        first.
        """
        self._holders[shard] = seen.holder
        others = [one for one, holder in self._holders.items() if holder == seen.holder]
        fair = len(self._held) + 2 > len(others)
        return not (fair or "" in self._holders.values() or shard != min(others))

    def _ask(self, shard: int) -> None:
        """Another process asks for it: a process with fewer shards gets it; the last shard is kept."""
        if len(self._held) > 1:
            self._asked[shard].set()
