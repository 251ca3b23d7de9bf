"""Leader election on one Lease: at most one process writes.

Invariants: another's lease is expired only when *this* process has watched it unchanged for its whole duration
on its own monotonic clock (dates in the lease are for people, no two clocks need agree); taking over is one
write guarded by the version that was judged; a leader that cannot renew for `renew_deadline` raises
`LostLease` and never leads again in this process; its fence lets no write through from then on, also if the process
was frozen and has not noticed yet. Leading ends before the lease is released, so that two leaders do not overlap.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from random import Random
from typing import Protocol, TypeVar

import msgspec

from controller.errors import AlreadyExists, Conflict, LostLease, MoonshiftError
from controller.runtime.clock import Clock
from controller.runtime.fence import Fence

T = TypeVar("T")

_log = logging.getLogger(__name__)


class LeaseRecord(msgspec.Struct, frozen=True):
    """The content of a Lease; `version` changes with every write."""

    holder: str = ""
    duration: float = 15.0
    acquired_at: datetime | None = None
    renewed_at: datetime | None = None
    transitions: int = 0
    version: str = ""
    wanted_by: str = ""
    """The process that asked the holder for the Lease."""


class LeaseStore(Protocol):
    """The store of the Lease."""

    async def read(self) -> LeaseRecord | None:
        """The lease as it is, or None."""
        ...

    async def create(self, record: LeaseRecord) -> LeaseRecord:
        """Write a lease that did not exist; AlreadyExists if it does."""
        ...

    async def update(self, record: LeaseRecord) -> LeaseRecord:
        """Replace the lease of version `record.version`; Conflict if it has another version."""
        ...


class LeaderMetrics(Protocol):
    """Metrics of the election."""

    def leading(self, name: str, leads: bool) -> None:
        """This process became, or ceased to be, the leader."""
        ...


class LeaseTiming(msgspec.Struct, frozen=True):
    """Seconds; renew_deadline must leave room before others may take over."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.retry_period < self.renew_deadline < self.duration:
            raise ValueError(
                "leader election needs retry period < renew deadline < lease duration, got "
                f"{self.retry_period:g} s, {self.renew_deadline:g} s, {self.duration:g} s"
            )


class Leader:
    """One candidate; `run` returns only by an exception."""

    def __init__(
        self,
        store: LeaseStore,
        identity: str,
        *,
        clock: Clock,
        timing: LeaseTiming | None = None,
        random: Random | None = None,
        name: str = "",
        metrics: LeaderMetrics | None = None,
        fence: Fence | None = None,
        shared: bool = False,
        patience: Callable[[], int] = lambda: 0,
        wants: Callable[[LeaseRecord], bool] = lambda _: False,
        asked: Callable[[], None] = lambda: None,
    ) -> None:
        """Writes of the leader's work have to pass `fence`.

        A `shared` Lease is held by all processes of one identity, and expires after the last of them. `patience` is
        the number of periods that this candidate waits longer than others. `wants` says whether to ask the holder for
        the Lease; `asked` is called when another process did.
        """
        self._shared = shared
        self._patience = patience
        self._wants = wants
        self._asked = asked
        self._fence = fence or Fence(clock.monotonic)
        self._store = store
        self._identity = identity
        self._clock = clock
        self._timing = timing or LeaseTiming()
        self._random = random or Random()
        self._name = name
        self._metrics = metrics
        self._seen_version: str | None = None
        self._seen_at = 0.0
        self._told_holder = ""
        self._held: LeaseRecord | None = None
        self._may_hold = False  # it was asked for, and no answer says that it is another's
        self.is_leader = False

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, run `lead` while it is held; `LostLease` if it cannot be kept.

        When cancelled, `lead` is cancelled and awaited first, then the lease is released; also a lease for which a
        request is under way.
        """
        renewed = await self._acquire_or_give_back()
        self._report(leads=True)
        leading = asyncio.ensure_future(lead())
        renewing = asyncio.create_task(self._keep(renewed), name="lease")
        try:
            await asyncio.wait((leading, renewing), return_when=asyncio.FIRST_COMPLETED)
            if renewing.done():
                await renewing  # raises LostLease
            await leading
            raise RuntimeError("the leader's work ended by itself")
        finally:
            lost = renewing.done() and not renewing.cancelled() and renewing.exception() is not None
            if lost:
                self._fence.close()
            # the lease is still renewed while work in progress ends; without the lease the process has to end
            await cancelled(leading, within=self._timing.duration if lost else None)
            await cancelled(renewing)
            self._fence.close()
            self._report(leads=False)
            if not lost and not self._shared:
                await self._release()

    async def _acquire_or_give_back(self) -> float:
        """`_acquire`; if it is cancelled, the request under way is answered first, and the lease is given back."""
        acquiring = asyncio.ensure_future(self._acquire())
        try:
            return await asyncio.shield(acquiring)
        except asyncio.CancelledError:
            if self._may_hold:
                # Given up now, it could be carried out after our look at the lease.
                await asyncio.wait((acquiring,), timeout=self._timing.retry_period)
            await cancelled(acquiring)
            self._fence.close()
            if self._may_hold and not self._shared:
                await self._release()
            raise

    async def _acquire(self) -> float:
        """Become the holder; returns the monotonic instant from which the lease counts."""
        while True:
            started, counted = self._clock.monotonic(), self._fence.seconds()
            try:
                async with asyncio.timeout(self._timing.renew_deadline):
                    if await self._try_once():
                        self._fence.open(counted + self._timing.renew_deadline)
                        _log.info(
                            "became leader", extra={"identity": self._identity, "lease": self._name}
                        )
                        return started
            except (MoonshiftError, TimeoutError) as failure:
                _log.warning("lease not readable", extra={"error": str(failure)})
            await asyncio.sleep(self._pause() * (1 + self._patience()))

    async def _try_once(self) -> bool:
        seen = await self._store.read()
        self._may_hold = seen is not None and seen.holder == self._identity
        now = self._clock.now()
        mine = LeaseRecord(
            holder=self._identity,
            duration=self._timing.duration,
            acquired_at=now,
            renewed_at=now,
        )
        try:
            if seen is not None and not self._free(seen):
                self._log_holder(seen)
                await self._ask(seen)
                return False
            self._may_hold = True
            self._held = await self._take(mine, seen)
        except (Conflict, AlreadyExists):
            return False  # another candidate was faster
        return True

    async def _take(self, mine: LeaseRecord, seen: LeaseRecord | None) -> LeaseRecord:
        if seen is None:
            return await self._store.create(mine)
        transitions = seen.transitions + (seen.holder != self._identity)
        return await self._store.update(
            msgspec.structs.replace(mine, transitions=transitions, version=seen.version)
        )

    def _log_holder(self, seen: LeaseRecord) -> None:
        """Log the holder, for people who look for the leader in the logs of a waiting replica."""
        if seen.holder != self._told_holder:
            self._told_holder = seen.holder
            _log.info("waits for the lease", extra={"lease": self._name, "holder": seen.holder})

    async def _ask(self, seen: LeaseRecord) -> None:
        """Ask once: each write makes the Lease of a dead holder look alive."""
        if self._wants(seen) and not seen.wanted_by:
            await self._store.update(msgspec.structs.replace(seen, wanted_by=self._identity))

    def _free(self, seen: LeaseRecord) -> bool:
        now = self._clock.monotonic()
        if seen.version != self._seen_version:
            self._seen_version, self._seen_at = seen.version, now
        if seen.holder in ("", self._identity):
            return True
        return now - self._seen_at > max(seen.duration, self._timing.duration)

    async def _keep(self, renewed: float) -> None:
        """Renew until it fails; `renewed` is the time at which the last successful request was *sent*."""
        while True:
            deadline = renewed + self._timing.renew_deadline
            await asyncio.sleep(max(0.0, min(self._pause(), deadline - self._clock.monotonic())))
            started, counted = self._clock.monotonic(), self._fence.seconds()
            left = deadline - started
            if left <= 0:
                raise LostLease(f"the lease was not renewed for {started - renewed:.1f} s")
            try:
                async with asyncio.timeout(left):
                    await self._renew()
            except LostLease:
                raise
            except (MoonshiftError, TimeoutError) as failure:
                _log.warning("lease not renewed", extra={"error": repr(failure)})
            else:
                renewed = started
                self._fence.open(counted + self._timing.renew_deadline)

    async def _renew(self) -> None:
        """Write the Lease once more. Only a write counts: a record that is read may be seconds old."""
        seen = await self._store.read() if self._shared else self._held
        while seen is not None and seen.holder == self._identity:
            try:
                self._held = await self._store.update(
                    msgspec.structs.replace(seen, renewed_at=self._clock.now())
                )
            except Conflict:
                # Our own earlier write, whose answer was lost, conflicts too, and so do the writes of the processes
                # that share the Lease or ask for it: only the holder's name shows which.
                seen = await self._store.read()
            else:
                if self._held.wanted_by:
                    self._asked()
                return
        holder = seen.holder if seen else ""
        raise LostLease(f"the lease is held by {holder or 'nobody'}")

    async def _release(self) -> None:
        """Let the next leader start at once instead of after the lease's duration."""
        try:
            async with asyncio.timeout(self._timing.retry_period):
                while not await self._given_back():
                    pass
        except (MoonshiftError, TimeoutError) as failure:
            _log.warning("lease not given back", extra={"error": repr(failure)})

    async def _given_back(self) -> bool:
        """Give the lease back; False if it was written in between and has to be read again.

        It is read first: a write that was under way when we were stopped may have been carried out.
        """
        seen = await self._store.read()
        if seen is None or seen.holder != self._identity:
            return True
        try:
            await self._store.update(
                msgspec.structs.replace(
                    seen, holder="", duration=1.0, renewed_at=self._clock.now(), wanted_by=""
                )
            )
        except Conflict:
            return False
        _log.info("gave the lease back", extra={"identity": self._identity})
        return True

    def _pause(self) -> float:
        return self._timing.retry_period * self._random.uniform(0.8, 1.2)

    def _report(self, *, leads: bool) -> None:
        self.is_leader = leads
        if self._metrics:
            self._metrics.leading(self._name, leads)


async def cancelled(task: asyncio.Future[T], *, within: float | None = None) -> None:
    """Cancel and see it end, for so many seconds at most; its result is known or does not matter any more."""
    task.cancel()
    await asyncio.wait((task,), timeout=within)
