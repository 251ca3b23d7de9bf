"""The work queue: which key is worked on next.

Invariants, for every key: it is ready at most once; it is never handed to two workers at once; changes that arrive
while it is worked on lead to exactly one more turn; of several due times the earliest wins, and an immediate `add`
beats them all. Keys are levels, not events: the queue never says why. It holds no payload, and forgets a key only by
`drop` and `close`. An urgent key goes before all that are not (`lines`), and stays urgent until a turn answered it.
"""

import asyncio
import contextlib
import heapq
import itertools
import math
from collections import deque
from collections.abc import Callable, Hashable
from random import Random
from typing import Generic, NamedTuple, Protocol, TypeVar

from controller.runtime.backoff import growing_delay, jittered
from controller.runtime.urgent_line import Lines

K = TypeVar("K", bound=Hashable)

URGENT = "-urgent"
"""Suffix of a queue's name in the metrics of waiting times, for its urgent turns."""


class QueueMetrics(Protocol):
    """Metrics of a queue; times are seconds."""

    def queue_added(self, queue: str) -> None:
        """A key became ready."""
        ...

    def queue_depth(self, queue: str, ready: int) -> None:
        """The number of ready keys changed."""
        ...

    def queue_waited(self, queue: str, seconds: float) -> None:
        """A worker took a key that had been ready for `seconds`."""
        ...

    def queue_worked(self, queue: str, seconds: float) -> None:
        """A worker finished a key."""
        ...

    def queue_retried(self, queue: str) -> None:
        """A key will come back because its work failed."""
        ...


class _Turn(NamedTuple):
    """A key that is worked on."""

    started: float
    urgent: bool


class WorkQueue(Generic[K]):
    """A deduplicating, delaying queue for one event loop."""

    def __init__(
        self,
        name: str = "",
        *,
        base: float = 0.005,
        cap: float = 60.0,
        random: Random | None = None,
        metrics: QueueMetrics | None = None,
        admits: Callable[[K], bool] = lambda _: True,
    ) -> None:
        """Keys that `admits` does not name are not taken: they are not the work of this process."""
        self.name = name
        self._admits = admits
        self._quiet: list[asyncio.Future[None]] = []
        self._base, self._cap = base, cap
        self._random = random or Random()
        self._metrics = metrics
        self._ready: Lines[K] = Lines()
        self._running: dict[K, _Turn] = {}
        self._again: set[K] = set()
        self._urgent: set[K] = set()  # and not taken since
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._sequence = itertools.count()
        self._failures: dict[K, int] = {}
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._urgent_waiters: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = math.inf

    def __len__(self) -> int:
        return len(self._ready)

    @property
    def running(self) -> int:
        """How many keys are being worked on."""
        return len(self._running)

    def add(self, key: K, *, urgent: bool = False) -> None:
        """Make `key` ready now, or once more after the turn it is having; `urgent`: before the crowd."""
        self._due.pop(key, None)
        if not self._admits(key):
            return
        if urgent:
            self._urgent.add(key)
        if key in self._running:
            self._again.add(key)
        elif key not in self._ready:
            self._ready.join(key, self._now(), urgent=key in self._urgent)
            if self._metrics:
                self._metrics.queue_added(self.name)
                self._metrics.queue_depth(self.name, len(self._ready))
            self._wake_one()
        elif urgent and self._ready.hurry(key, self._now()):
            self._wake_one()

    def add_urgent(self, key: K) -> None:
        """Make `key` ready before the crowd: a person waits for it."""
        self.add(key, urgent=True)

    def add_after(self, key: K, delay: float) -> None:
        """Make `key` ready in `delay` seconds, unless it is ready or due sooner."""
        if delay <= 0:
            self.add(key)
            return
        due = self._now() + delay
        if key not in self._ready and due < self._due.get(key, math.inf):
            self._due[key] = due
            heapq.heappush(self._heap, (due, next(self._sequence), key))
            self._drop_stale()
            self._arm()

    def retry(self, key: K, at_least: float = 0.0) -> float:
        """Queue a failed key again, each time after a longer delay; returns the delay in seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = jittered(growing_delay(failures, self._base, self._cap), self._random)
        delay = max(delay, at_least)
        if self._metrics:
            self._metrics.queue_retried(self.name)
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """The key's work succeeded: its next failure starts from the shortest delay."""
        self._failures.pop(key, None)

    async def get(self, *, only_urgent: bool = False) -> K:
        """The key whose turn it is; the caller must call `done` with it."""
        while not (self._ready.urgent if only_urgent else len(self._ready)):
            await self._wait(self._urgent_waiters if only_urgent else self._waiters)
        key, since, urgent = self._ready.take_urgent() if only_urgent else self._ready.take()
        self._urgent.discard(key)
        now = self._now()
        self._running[key] = _Turn(now, urgent)
        if self._metrics:
            self._metrics.queue_waited(f"{self.name}{URGENT}" if urgent else self.name, now - since)
            self._metrics.queue_depth(self.name, len(self._ready))
        return key

    def done(self, key: K, *, answered: bool = True) -> None:
        """The worker is finished with `key`; if it did not answer an urgent request, the key stays urgent."""
        turn = self._running.pop(key)
        if turn.urgent and not answered:
            self._urgent.add(key)
        if self._metrics:
            self._metrics.queue_worked(self.name, self._now() - turn.started)
        if key in self._again:
            self._again.discard(key)
            self.add(key)
        for waiter in self._quiet:
            if not waiter.done():
                waiter.set_result(None)
        self._quiet.clear()

    async def drop(self, which: Callable[[K], bool]) -> None:
        """Forget these keys; returns when none of them is worked on. They must not be admitted any more."""
        while True:
            for key in [key for key in self._ready if which(key)]:
                self._ready.leave(key)
            for known in (self._due, self._failures):
                for key in [key for key in known if which(key)]:
                    del known[key]
            self._urgent = {key for key in self._urgent if not which(key)}
            if self._metrics:
                self._metrics.queue_depth(self.name, len(self._ready))
            if not any(which(key) for key in self._running):
                return
            waiter = asyncio.get_running_loop().create_future()
            self._quiet.append(waiter)
            await waiter

    def close(self) -> None:
        """Stop the timer; keys that are due later are dropped."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _wait(self, waiters: deque[asyncio.Future[None]]) -> None:
        """Return when a key may be there."""
        waiter = asyncio.get_running_loop().create_future()
        waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            with contextlib.suppress(ValueError):
                waiters.remove(waiter)
            # woken and cancelled in the same turn: the key is somebody else's now
            if len(self._ready) and waiter.done() and not waiter.cancelled():
                self._wake_one()
            raise

    def _wake_one(self) -> None:
        """Wake a worker that takes any key; a worker for urgent keys only if no other worker waits and the key is
        urgent."""
        lines = (self._waiters, self._urgent_waiters) if self._ready.urgent else (self._waiters,)
        for waiters in lines:
            while waiters:
                waiter = waiters.popleft()
                if not waiter.done():
                    waiter.set_result(None)
                    return

    def _arm(self) -> None:
        """Keep one timer, set to the earliest due time."""
        if not self._heap:
            return
        due = self._heap[0][0]
        if self._timer is not None:
            if self._timer_due <= due:
                return
            self._timer.cancel()
        self._timer, self._timer_due = asyncio.get_running_loop().call_at(due, self._fire), due

    def _fire(self) -> None:
        self._timer = None
        now = self._now()
        while self._heap and self._heap[0][0] <= now:
            due, _, key = heapq.heappop(self._heap)
            # an entry that was overtaken by an earlier one, or by `add`, is void
            if self._due.get(key) == due:
                self.add(key)
        self._arm()

    def _drop_stale(self) -> None:
        """Rebuild the heap when most of it is void, so that it stays in proportion to the keys."""
        if len(self._heap) > 64 and len(self._heap) > 2 * len(self._due):
            live = [entry for entry in self._heap if self._due.get(entry[2]) == entry[0]]
            heapq.heapify(live)
            self._heap = live
