"""The work queue: which key is worked on next.

Invariants, for every key: it is ready at most once; it is never handed to two workers at once; changes that
arrive while it is worked on lead to exactly one more turn; of several due times the earliest wins, and an immediate
`add` beats them all. Keys are levels, not events: the queue never says why. It holds no payload and forgets
nothing but failures.
"""

import asyncio
import contextlib
import heapq
import itertools
import math
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from random import Random
from typing import Generic, Protocol, TypeVar

from controller.runtime.backoff import growing_delay, jittered

K = TypeVar("K", bound=Hashable)


class QueueMetrics(Protocol):
    """Metrics of a queue; times are seconds."""

    def queue_added(self, queue: str) -> None:
        """A key became ready."""
        ...

    def queue_depth(self, queue: str, ready: int) -> None:
        """The number of ready keys changed."""
        ...

    def queue_waited(self, queue: str, seconds: float) -> None:
        """A worker took a key that had been ready for so long."""
        ...

    def queue_worked(self, queue: str, seconds: float) -> None:
        """A worker finished a key."""
        ...

    def queue_retried(self, queue: str) -> None:
        """A key will come back because its work failed."""
        ...


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
        """Keys that `admits` does not name are nobody's work here, and are not taken."""
        self.name = name
        self._admits = admits
        self._quiet: list[asyncio.Future[None]] = []
        self._base, self._cap = base, cap
        self._random = random or Random()
        self._metrics = metrics
        self._ready: OrderedDict[K, float] = OrderedDict()  # key -> ready since
        self._running: dict[K, float] = {}  # key -> started at
        self._again: set[K] = set()
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._sequence = itertools.count()
        self._failures: dict[K, int] = {}
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._ready)

    @property
    def running(self) -> int:
        """How many keys are being worked on."""
        return len(self._running)

    def add(self, key: K) -> None:
        """Make `key` ready now, or once more after the turn it is having."""
        self._due.pop(key, None)
        if not self._admits(key):
            return
        if key in self._running:
            self._again.add(key)
        elif key not in self._ready:
            self._ready[key] = self._now()
            if self._metrics:
                self._metrics.queue_added(self.name)
                self._metrics.queue_depth(self.name, len(self._ready))
            self._wake_one()

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
        """Bring a failed key back later each time; returns the delay in seconds."""
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

    async def get(self) -> K:
        """The key that has been ready longest; the caller must call `done` with it."""
        while not self._ready:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                with contextlib.suppress(ValueError):
                    self._waiters.remove(waiter)
                # woken and cancelled in the same turn: the key is somebody else's now
                if self._ready and waiter.done() and not waiter.cancelled():
                    self._wake_one()
                raise
        key, since = self._ready.popitem(last=False)
        now = self._now()
        self._running[key] = now
        if self._metrics:
            self._metrics.queue_waited(self.name, now - since)
            self._metrics.queue_depth(self.name, len(self._ready))
        return key

    def done(self, key: K) -> None:
        """The worker is finished with `key`, well or badly."""
        started = self._running.pop(key)
        if self._metrics:
            self._metrics.queue_worked(self.name, self._now() - started)
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
            for known in (self._ready, self._due, self._failures):
                for key in [key for key in known if which(key)]:
                    del known[key]
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

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _arm(self) -> None:
        """Keep one timer, set to the earliest due time."""
        if not self._heap:
            return
        due = self._heap[0][0]
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(due, self._fire)

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
