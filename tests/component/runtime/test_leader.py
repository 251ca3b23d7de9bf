"""Leader election with several candidates, lost answers, stolen leases and clocks that jump. Times are virtual."""

import asyncio
from datetime import timedelta

import pytest

from controller.errors import LostLease, Unreachable
from controller.runtime.leader import Leader, LeaseRecord, LeaseTiming
from tests.component.runtime.candidates import Candidate, MemoryLease, passes
from tests.component.runtime.virtual_time import VirtualClock, now, virtual_time


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
        leaders = [candidate for candidate in candidates if candidate.leads]
        assert len(leaders) == 1
        await leaders[0].stop()
        candidates.remove(leaders[0])
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
