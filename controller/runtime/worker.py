"""Workers: take a key, reconcile it, decide when it comes back.

Invariants: nothing a reconcile raises ends the worker, but `LostLease` (this process must stop writing) and
cancellation; every key is returned to the queue; after a request to stop, a worker takes no new key and lets the
running ones finish for a while. Reconcilers say *what* failed by the exception's class; *when to come back* is decided
here only.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, Protocol, TypeVar

import msgspec

from controller.errors import Conflict, LostLease, MoonshiftError, Postponed, Throttled
from controller.runtime.turns import Turns
from controller.runtime.workqueue import WorkQueue

K = TypeVar("K", bound=Hashable)

CONFLICT_DELAY = 0.05  # seconds: the watch needs about that long to show the winner's write
LASTING_CONFLICT = 2.0
"""Seconds between two tries from which on a conflict is no race of two writers, and is reported to people."""

_log = logging.getLogger(__name__)


class Result(msgspec.Struct, frozen=True):
    """A finished reconcile; `wake_after` seconds from now it wants to look again."""

    wake_after: float | None = None
    answered: bool = True
    """Whether the pass could answer a request of a person; if not, an urgent key stays urgent."""


class ReconcileMetrics(Protocol):
    """Metrics of workers."""

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        """One reconcile ended: success, requeue_after, requeue or error."""
        ...

    def workers(self, controller: str, active: int, most: int) -> None:
        """So many of `most` workers are busy."""
        ...


class Worker(Generic[K]):
    """`run` serves a queue with `workers` concurrent reconciles until it is cancelled.

    `reserved` more take urgent keys only: all others may be waiting for an API server that is slow under a crowd.
    """

    def __init__(
        self,
        name: str,
        queue: WorkQueue[K],
        reconcile: Callable[[K], Awaitable[Result]],
        *,
        workers: int = 8,
        reserved: int = 0,
        deadline: float = 60.0,
        drain: float = 10.0,
        metrics: ReconcileMetrics | None = None,
    ) -> None:
        self._name = name
        self._queue = queue
        self._reconcile = reconcile
        self._workers, self._reserved = workers, reserved
        self._deadline = deadline
        self._drain = drain
        self._metrics = metrics
        self._busy: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._turns = Turns()

    async def run(self) -> None:
        """Work until cancelled; raise `LostLease` when a reconcile meets it."""
        loops = [
            asyncio.create_task(
                self._serve(only_urgent=number >= self._workers), name=f"{self._name}-{number}"
            )
            for number in range(self._workers + self._reserved)
        ]
        try:
            await asyncio.wait(loops, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await self._stop(loops)
        for loop in loops:
            if not loop.cancelled() and (failure := loop.exception()):
                raise failure

    async def _stop(self, loops: list[asyncio.Task[None]]) -> None:
        self._stopping = True
        for loop in loops:
            if loop not in self._busy:
                loop.cancel()
        try:
            await asyncio.wait(loops, timeout=self._drain)
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            self._stopping = False

    async def _serve(self, *, only_urgent: bool) -> None:
        task = asyncio.current_task()
        assert task is not None
        while not self._stopping:
            key = await self._queue.get(only_urgent=only_urgent)
            self._busy.add(task)
            self._report_busy()
            answered = False
            try:
                await self._turns.next()
                answered = await self._handle(key)
            finally:
                self._busy.discard(task)
                self._report_busy()
                self._queue.done(key, answered=answered)

    async def _handle(self, key: K) -> bool:
        """One reconcile; return whether it answered the request of a person."""
        loop = asyncio.get_running_loop()
        started, answered = loop.time(), False
        try:
            async with asyncio.timeout(self._deadline):
                result = await self._reconcile(key)
        except LostLease:
            raise
        except Exception as failure:
            outcome = self._retry_later(key, failure)
        else:
            self._queue.forget(key)
            outcome, answered = "success", result.answered
            if result.wake_after is not None:
                self._queue.add_after(key, result.wake_after)
                outcome = "requeue_after"
        if self._metrics:
            self._metrics.reconciled(self._name, outcome, loop.time() - started)
        return answered

    def _retry_later(self, key: K, failure: Exception) -> str:
        """Choose the delay for a failed key; returns the outcome for the metrics."""
        match failure:
            case Postponed():
                self._queue.forget(key)
                self._queue.add_after(key, failure.delay)
                _log.debug("postponed", extra={"key": str(key), "reason": failure.reason})
                return "requeue_after"
            case Conflict():
                # the first few in quick succession; a conflict that stays must not become a hot loop
                delay = self._queue.retry(key, at_least=CONFLICT_DELAY)
                level = logging.WARNING if delay >= LASTING_CONFLICT else logging.DEBUG
                _log.log(level, "conflict", extra={"key": str(key), "error": str(failure)})
                return "requeue"
            case Throttled():
                self._queue.retry(key, at_least=failure.retry_after)
            case MoonshiftError():
                self._queue.retry(key)
            case _:
                self._queue.retry(key)
                _log.error(
                    "reconcile crashed",
                    exc_info=failure,
                    extra={"controller": self._name, "key": str(key)},
                )
                return "error"
        # the world failed, not the code: one line, no traceback
        _log.warning(
            "reconcile failed",
            extra={
                "controller": self._name,
                "key": str(key),
                "error": f"{type(failure).__name__}: {failure}",
            },
        )
        return "error"

    def _report_busy(self) -> None:
        if self._metrics:
            self._metrics.workers(self._name, len(self._busy), self._workers + self._reserved)
