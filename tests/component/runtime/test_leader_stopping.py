"""A candidate that is stopped, or that loses its lease, holds none afterwards. Times are virtual."""

import asyncio
import contextlib
from collections.abc import Coroutine

import pytest

from controller.errors import LostLease
from controller.runtime.leader import Leader, LeaseRecord
from tests.component.runtime.candidates import Candidate, MemoryLease, passes
from tests.component.runtime.virtual_time import VirtualClock, now, virtual_time


class CarriedOutLater(MemoryLease):
    """Carries out each write a second later, whether or not somebody waits for the answer."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Event()
        self._under_way = set[asyncio.Task[LeaseRecord]]()

    async def create(self, record: LeaseRecord) -> LeaseRecord:
        return await self._later(super().create(record))

    async def update(self, record: LeaseRecord) -> LeaseRecord:
        return await self._later(super().update(record))

    async def _later(self, write: Coroutine[object, object, LeaseRecord]) -> LeaseRecord:
        async def carry_out() -> LeaseRecord:
            await asyncio.sleep(1)
            return await write

        task = asyncio.create_task(carry_out())
        self._under_way.add(task)
        self.begun.set()
        return await asyncio.shield(task)


@pytest.mark.parametrize("before", ["", "dead"], ids=["a first lease", "one that has run out"])
@virtual_time
async def test_a_candidate_that_is_stopped_while_it_takes_the_lease_leaves_it_free(
    before: str,
) -> None:
    lease = CarriedOutLater()
    if before:
        lease.steal(before)
    first = Candidate(lease, "a")
    await lease.begun.wait()
    await first.stop()
    await asyncio.sleep(5)
    assert lease.record is not None
    assert (lease.holder, first.spans) == ("", [])
    assert not passes(first.fence)


@virtual_time
async def test_a_waiting_candidate_stops_at_once_and_leaves_the_lease_alone() -> None:
    lease = MemoryLease()
    first = Candidate(lease, "a")
    await asyncio.sleep(1)
    second = Candidate(lease, "b")
    await asyncio.sleep(4)
    stopped, version = now(), lease.version
    lease.hang = True
    await second.stop()
    assert (now(), lease.version, lease.holder) == (stopped, version, "a")
    lease.hang = False
    await first.stop()


class WrittenInBetween(MemoryLease):
    """A renewal that was under way is carried out after the look at the lease that is to be given back."""

    overtaken = False

    async def read(self) -> LeaseRecord | None:
        seen = await super().read()
        if self.overtaken and seen is not None:
            self.overtaken = False
            self._store(seen)
        return seen


@virtual_time
async def test_a_renewal_that_is_carried_out_late_does_not_keep_the_lease() -> None:
    lease = WrittenInBetween()
    first = Candidate(lease, "a")
    await asyncio.sleep(5)
    lease.overtaken = True
    await first.stop()
    assert lease.holder == ""


@virtual_time
async def test_a_lost_lease_is_reported_although_the_work_does_not_end() -> None:
    lease, over = MemoryLease(), asyncio.Event()

    async def stubborn() -> None:
        while not over.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await over.wait()

    leading = asyncio.create_task(Leader(lease, "a", clock=VirtualClock()).run(stubborn))
    await asyncio.sleep(5)
    lease.steal("thief")
    done, _ = await asyncio.wait((leading,), timeout=60)
    over.set()
    assert done
    assert isinstance(leading.exception(), LostLease)
