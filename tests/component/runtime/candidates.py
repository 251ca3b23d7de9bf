"""Candidates for a lease in memory, with clocks that jump. Times are virtual."""

import asyncio
import contextlib
from random import Random

import msgspec

from controller.errors import AlreadyExists, Conflict, LostLease, Unreachable
from controller.runtime.fence import Fence
from controller.runtime.leader import Leader, LeaseRecord
from tests.component.runtime.virtual_time import VirtualClock, now


class MemoryLease:
    """A lease that behaves as the API server's: versions, conflicts, and outages on demand."""

    def __init__(self) -> None:
        self.record: LeaseRecord | None = None
        self.version = 0
        self.away = False
        self.lose_answers = False
        self.hang = False

    async def read(self) -> LeaseRecord | None:
        await self._reach()
        return self.record

    async def create(self, record: LeaseRecord) -> LeaseRecord:
        await self._reach()
        if self.record is not None:
            raise AlreadyExists("exists", status=409)
        return self._store(record)

    async def update(self, record: LeaseRecord) -> LeaseRecord:
        await self._reach()
        if self.record is None or record.version != self.record.version:
            raise Conflict("changed", status=409)
        stored = self._store(record)
        if self.lose_answers:
            raise Unreachable("the answer was lost")
        return stored

    def steal(self, holder: str) -> None:
        """Somebody writes without asking."""
        self._store(LeaseRecord(holder=holder))

    def _store(self, record: LeaseRecord) -> LeaseRecord:
        self.version += 1
        self.record = msgspec.structs.replace(record, version=str(self.version))
        return self.record

    async def _reach(self) -> None:
        await asyncio.sleep(0.01)
        if self.hang:
            await asyncio.Event().wait()
        if self.away:
            raise Unreachable("refused")

    @property
    def holder(self) -> str:
        return self.record.holder if self.record else ""


class Candidate:
    """A leader and the spans of time in which its work ran."""

    def __init__(self, lease: MemoryLease, name: str, *, finishing: float = 0.0) -> None:
        self.spans: list[tuple[float, float]] = []
        self.clock = VirtualClock()
        self.started: float | None = None
        self._finishing = finishing
        self.fence = Fence(self.clock.monotonic)
        self.leader = Leader(lease, name, clock=self.clock, random=Random(name), fence=self.fence)
        self.task = asyncio.create_task(self.leader.run(self._lead))

    async def _lead(self) -> None:
        self.started = now()
        try:
            await asyncio.Event().wait()
        finally:
            if self._finishing:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(self._finishing)
            self.spans.append((self.started, now()))

    @property
    def leads(self) -> bool:
        return self.leader.is_leader

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def passes(fence: Fence) -> bool:
    try:
        fence.check()
    except LostLease:
        return False
    return True
