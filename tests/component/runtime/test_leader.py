"""Leader election with several candidates, lost answers, stolen leases and clocks that jump. Times are virtual."""

import asyncio
import contextlib
from collections.abc import Coroutine
from datetime import timedelta
from random import Random

import msgspec
import pytest

from controller.errors import AlreadyExists, Conflict, LostLease, Unreachable
from controller.runtime.fence import Fence
from controller.runtime.leader import Leader, LeaseRecord, LeaseTiming
from tests.component.runtime.virtual_time import VirtualClock, now, virtual_time


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


@virtual_time
async def test_the_first_candidate_leads_at_once_and_renews() -> None:
    lease = MemoryLease()
    first = Candidate(lease, "a")
    await asyncio.sleep(0.1)
    assert first.leads
    await asyncio.sleep(60)
    assert first.leads
    assert lease.version > 20
    await first.stop()


@virtual_time
async def test_a_second_candidate_waits_for_the_whole_lease_of_a_dead_leader() -> None:
    lease = MemoryLease()
    lease.steal("dead")
    second = Candidate(lease, "b")
    await asyncio.sleep(14.9)
    assert not second.leads
    await asyncio.sleep(3)
    assert second.leads
    assert lease.record is not None
    assert lease.record.transitions == 1
    await second.stop()


@virtual_time
async def test_a_graceful_stop_hands_over_within_two_periods_and_never_overlaps() -> None:
    lease = MemoryLease()
    first = Candidate(lease, "a", finishing=3)
    await asyncio.sleep(0.5)
    second = Candidate(lease, "b")
    await asyncio.sleep(10)
    stopped = now()
    await first.stop()
    assert now() - stopped == pytest.approx(3, abs=0.5)
    await asyncio.sleep(3)
    assert second.leads
    assert second.started is not None
    assert first.spans[0][1] <= second.started
    await second.stop()


@virtual_time
async def test_exactly_one_of_ten_candidates_leads_at_any_time() -> None:
    lease = MemoryLease()
    candidates = [Candidate(lease, f"c{n}") for n in range(10)]
    for _ in range(5):
        await asyncio.sleep(20)
        (leader,) = [c for c in candidates if c.leads]
        await leader.stop()
        candidates.remove(leader)
    await asyncio.gather(*(candidate.stop() for candidate in candidates))


@virtual_time
async def test_a_leader_cut_off_stops_before_anybody_may_take_over() -> None:
    lease = MemoryLease()
    first = Candidate(lease, "a")
    await asyncio.sleep(5)
    lease.away = True
    cut_off = now()
    with pytest.raises(LostLease):
        await first.task
    assert now() - cut_off <= 10.5
    assert first.spans


@virtual_time
async def test_a_request_that_hangs_does_not_outlast_the_renew_deadline() -> None:
    lease = MemoryLease()
    first = Candidate(lease, "a")
    await asyncio.sleep(5)
    lease.hang = True
    cut_off = now()
    with pytest.raises(LostLease):
        await first.task
    assert now() - cut_off <= 10.5


@virtual_time
async def test_a_short_outage_is_survived() -> None:
    lease = MemoryLease()
    first = Candidate(lease, "a")
    await asyncio.sleep(5)
    lease.away = True
    await asyncio.sleep(5)
    lease.away = False
    await asyncio.sleep(30)
    assert first.leads
    await first.stop()


@virtual_time
async def test_a_candidate_that_starts_during_an_outage_leads_after_it() -> None:
    lease = MemoryLease()
    lease.away = True
    first = Candidate(lease, "a")
    await asyncio.sleep(30)
    assert not first.leads
    lease.away = False
    await asyncio.sleep(3)
    assert first.leads
    await first.stop()


@virtual_time
async def test_a_lease_that_cannot_be_released_does_not_hold_up_the_stop() -> None:
    lease = MemoryLease()
    first = Candidate(lease, "a")
    await asyncio.sleep(5)
    lease.hang = True
    before = now()
    await first.stop()
    assert now() - before <= 2.1


@virtual_time
async def test_a_stolen_lease_ends_leading_at_the_next_renewal() -> None:
    lease = MemoryLease()
    first = Candidate(lease, "a")
    await asyncio.sleep(5)
    lease.steal("thief")
    with pytest.raises(LostLease, match="thief"):
        await first.task
    assert now() <= 8
    assert lease.holder == "thief"


@virtual_time
async def test_renewals_whose_answers_are_lost_are_recognised_as_our_own() -> None:
    lease = MemoryLease()
    first = Candidate(lease, "a")
    await asyncio.sleep(5)
    lease.lose_answers = True
    await asyncio.sleep(4)
    lease.lose_answers = False
    await asyncio.sleep(30)
    assert first.leads
    await first.stop()


@virtual_time
async def test_wall_clocks_that_jump_change_nothing() -> None:
    lease = MemoryLease()
    first = Candidate(lease, "a")
    await asyncio.sleep(0.5)
    second = Candidate(lease, "b")
    for skew in (timedelta(days=365), timedelta(days=-365), timedelta(hours=5)):
        first.clock.skew = skew
        second.clock.skew = -skew
        await asyncio.sleep(20)
        assert first.leads
        assert not second.leads
    await first.stop()
    await second.stop()


@virtual_time
async def test_a_leader_that_was_suspended_writes_nothing_more() -> None:
    lease = MemoryLease()
    first = Candidate(lease, "a")
    await asyncio.sleep(5)
    version = lease.version
    first.clock.leap = 60.0
    with pytest.raises(LostLease, match="not renewed"):
        await first.task
    assert lease.version <= version + 1  # a renewal that was already on its way


def passes(fence: Fence) -> bool:
    try:
        fence.check()
    except LostLease:
        return False
    return True


@virtual_time
async def test_the_fence_is_open_while_the_lease_counts_and_shut_at_once_after_a_freeze() -> None:
    lease = MemoryLease()
    first = Candidate(lease, "a")
    assert not passes(first.fence)
    await asyncio.sleep(60)
    assert passes(first.fence)
    first.clock.leap = 10.5  # no timer of this loop has run since
    assert first.leads
    assert not passes(first.fence)
    with pytest.raises(LostLease):
        await first.task


@virtual_time
async def test_the_fence_is_open_until_work_in_flight_has_ended_and_shut_before_the_lease_is_free() -> (
    None
):
    lease = MemoryLease()
    first = Candidate(lease, "a", finishing=3)
    await asyncio.sleep(5)
    first.task.cancel()
    await asyncio.sleep(2.9)
    assert passes(first.fence)
    await asyncio.gather(first.task, return_exceptions=True)
    assert lease.holder == ""
    assert not passes(first.fence)


@virtual_time
async def test_work_that_ends_by_itself_is_an_error_and_frees_the_lease() -> None:
    lease = MemoryLease()

    async def nothing() -> None:
        return

    with pytest.raises(RuntimeError, match="ended by itself"):
        await Leader(lease, "a", clock=VirtualClock()).run(nothing)
    assert lease.holder == ""


@virtual_time
async def test_a_failure_of_the_work_reaches_the_caller_and_frees_the_lease() -> None:
    lease = MemoryLease()

    async def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Leader(lease, "a", clock=VirtualClock()).run(broken)
    assert lease.holder == ""


def test_timings_that_could_let_two_lead_are_refused() -> None:
    with pytest.raises(ValueError, match="renew deadline < lease duration"):
        LeaseTiming(duration=10, renew_deadline=10, retry_period=2)


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


class LateAnswer(MemoryLease):
    """One renewal is stored at once, and its answer is lost some seconds later."""

    lose_next = False
    written_at = 0.0

    async def update(self, record: LeaseRecord) -> LeaseRecord:
        stored = await super().update(record)
        self.written_at = now()
        if self.lose_next:
            self.lose_next = False
            await asyncio.sleep(5.5)
            raise Unreachable("the answer was lost")
        return stored


@virtual_time
async def test_a_renewal_whose_answer_was_lost_does_not_count_from_the_time_of_its_recognition() -> (
    None
):
    """Others count from the write; a fence that was opened from the later look would be open when they lead."""
    lease = LateAnswer()
    first = Candidate(lease, "a")
    await asyncio.sleep(5)
    lease.lose_next = True
    for _ in range(400):
        await asyncio.sleep(0.05)
        first.clock.leap = lease.written_at + 15.0 - now()  # frozen until others may lead
        with pytest.raises(LostLease):
            first.fence.check()
        first.clock.leap = 0.0
    assert first.leads
    await first.stop()


class SlowAnswer(MemoryLease):
    """Writes at once, and answers four seconds later."""

    def __init__(self) -> None:
        super().__init__()
        self.written_at = 0.0
        self.written = asyncio.Event()

    async def update(self, record: LeaseRecord) -> LeaseRecord:
        stored = await super().update(record)
        self.written_at = now()
        self.written.set()
        await asyncio.sleep(4)
        return stored


@virtual_time
async def test_a_renewal_counts_from_the_time_at_which_it_was_sent() -> None:
    """Others count from the write, which may be as old as the request."""
    lease = SlowAnswer()
    first = Candidate(lease, "a")
    await lease.written.wait()
    written = lease.written_at
    await asyncio.sleep(written + 4.1 - now())
    for age, open_still in ((9.5, True), (10.5, False)):
        first.clock.leap = written + age - now()
        assert passes(first.fence) is open_still
    first.clock.leap = 0.0
    await first.stop()


@virtual_time
async def test_a_waiting_candidate_names_the_leader_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    lease = MemoryLease()
    first = Candidate(lease, "a")
    await asyncio.sleep(10)
    second = Candidate(lease, "b")
    await asyncio.sleep(60)
    found = [vars(one)["holder"] for one in caplog.records if one.msg == "waits for the lease"]
    assert found == ["a"]
    await asyncio.gather(first.stop(), second.stop())
