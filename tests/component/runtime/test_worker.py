"""Workers: the effect of a reconcile's end on its key. Times are virtual."""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import pairwise
from random import Random

import pytest

from controller.errors import Conflict, LostLease, Postponed, ServerFault, Throttled
from controller.runtime.worker import Result, Worker
from controller.runtime.workqueue import WorkQueue
from tests.component.runtime.virtual_time import now, virtual_time

Script = Callable[[str], Awaitable[Result]]


class Reconciler:
    """Raises or returns one entry of the script per call; succeeds after the last entry."""

    def __init__(self, *script: Exception | Result) -> None:
        self.script = list(script)
        self.times: list[float] = []

    async def __call__(self, key: str) -> Result:
        self.times.append(now())
        step = self.script.pop(0) if self.script else Result()
        if isinstance(step, Exception):
            raise step
        return step

    @property
    def gaps(self) -> list[float]:
        return [
            round(after - before, 3)
            for before, after in zip(self.times, self.times[1:], strict=False)
        ]


@contextlib.asynccontextmanager
async def working(
    reconcile: Script, *, deadline: float = 60.0, drain: float = 10.0, reserved: int = 0
) -> AsyncIterator[WorkQueue[str]]:
    queue: WorkQueue[str] = WorkQueue("q", random=Random(1))
    worker = Worker(
        "c", queue, reconcile, workers=4, reserved=reserved, deadline=deadline, drain=drain
    )
    task = asyncio.create_task(worker.run())
    try:
        yield queue
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@virtual_time
async def test_a_result_comes_back_exactly_when_it_asked() -> None:
    reconcile = Reconciler(Result(wake_after=30))
    async with working(reconcile) as queue:
        queue.add("a")
        await asyncio.sleep(100)
    assert reconcile.gaps == [30]


@virtual_time
async def test_a_wish_to_wake_in_the_past_means_now() -> None:
    reconcile = Reconciler(Result(wake_after=-5))
    async with working(reconcile) as queue:
        queue.add("a")
        await asyncio.sleep(1)
    assert reconcile.gaps == [0]


@virtual_time
async def test_a_conflict_is_retried_after_fifty_milliseconds_and_then_more_slowly() -> None:
    conflicts = [Conflict("changed", status=409) for _ in range(10)]
    reconcile = Reconciler(*conflicts)
    async with working(reconcile) as queue:
        queue.add("a")
        await asyncio.sleep(60)
    assert reconcile.gaps[:3] == [0.05, 0.05, 0.05]
    assert reconcile.gaps[-1] > 1


@virtual_time
async def test_a_conflict_that_lasts_is_logged_and_a_race_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # A write that could never succeed was tried for minutes without a word.
    with caplog.at_level(logging.WARNING):
        async with working(Reconciler(*[Conflict("changed", status=409)] * 3)) as queue:
            queue.add("a")
            await asyncio.sleep(60)
        assert caplog.messages == []
        async with working(Reconciler(*[Conflict("changed", status=409)] * 20)) as queue:
            queue.add("a")
            await asyncio.sleep(600)
    assert set(caplog.messages) == {"conflict"}


@virtual_time
async def test_postponed_waits_as_long_as_it_says() -> None:
    reconcile = Reconciler(Postponed(4, "cache lags"), Postponed(4, "cache lags"))
    async with working(reconcile) as queue:
        queue.add("a")
        await asyncio.sleep(60)
    assert reconcile.gaps == [4, 4]


@virtual_time
async def test_throttled_waits_as_long_as_the_server_asked() -> None:
    reconcile = Reconciler(Throttled("busy", retry_after=7))
    async with working(reconcile) as queue:
        queue.add("a")
        await asyncio.sleep(60)
    assert reconcile.gaps == [7]


@virtual_time
async def test_a_failing_world_is_one_line_and_a_bug_is_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reconcile = Reconciler(ServerFault("etcd", status=500), ZeroDivisionError("oops"))
    with caplog.at_level(logging.WARNING):
        async with working(reconcile) as queue:
            queue.add("a")
            await asyncio.sleep(60)
    world, bug = caplog.records
    assert world.exc_info is None
    assert bug.exc_info is not None
    assert len(reconcile.times) == 3


@virtual_time
async def test_success_resets_the_backoff() -> None:
    failure = ServerFault("etcd", status=500)
    reconcile = Reconciler(*[failure] * 8, Result(), failure)
    async with working(reconcile) as queue:
        queue.add("a")
        await asyncio.sleep(60)
        queue.add("a")
        await asyncio.sleep(60)
    assert reconcile.gaps[7] > 0.4
    assert reconcile.gaps[-1] <= 0.005


@virtual_time
async def test_a_lost_lease_ends_all_workers() -> None:
    async def reconcile(key: str) -> Result:
        if key == "fatal":
            raise LostLease("gone")
        await asyncio.sleep(1)
        return Result()

    queue: WorkQueue[str] = WorkQueue()
    queue.add("slow")
    queue.add("fatal")
    with pytest.raises(LostLease):
        await Worker("c", queue, reconcile).run()
    assert queue.running == 0


@virtual_time
async def test_stopping_lets_running_reconciles_finish_and_takes_no_new_key() -> None:
    finished: list[str] = []

    async def reconcile(key: str) -> Result:
        await asyncio.sleep(3)
        finished.append(key)
        return Result()

    async with working(reconcile) as queue:
        for number in range(8):
            queue.add(f"k{number}")
        await asyncio.sleep(1)
    assert len(finished) == 4
    assert now() == pytest.approx(3, abs=0.1)


@virtual_time
async def test_a_reconcile_that_does_not_finish_is_cut_off_after_the_drain() -> None:
    async def reconcile(key: str) -> Result:
        await asyncio.Event().wait()
        return Result()

    async with working(reconcile, drain=5.0, deadline=1000.0) as queue:
        queue.add("a")
        await asyncio.sleep(1)
    assert now() == pytest.approx(6, abs=0.1)


@virtual_time
async def test_a_reconcile_that_hangs_is_ended_by_the_deadline_and_retried() -> None:
    calls = 0

    async def reconcile(key: str) -> Result:
        nonlocal calls
        calls += 1
        if calls == 1:
            await asyncio.Event().wait()
        return Result()

    async with working(reconcile, deadline=30.0) as queue:
        queue.add("a")
        await asyncio.sleep(31)
    assert calls == 2


@virtual_time
async def test_one_key_is_never_worked_on_twice_at_once() -> None:
    running: Counter[str] = Counter()
    overlaps = 0
    turns: Counter[str] = Counter()
    random = Random(7)

    async def reconcile(key: str) -> Result:
        nonlocal overlaps
        running[key] += 1
        overlaps += running[key] > 1
        await asyncio.sleep(random.uniform(0, 0.01))
        running[key] -= 1
        turns[key] += 1
        return Result()

    async with working(reconcile) as queue:
        for _ in range(1200):
            queue.add(f"k{random.randrange(20)}")
            await asyncio.sleep(random.uniform(0, 0.002))
        await asyncio.sleep(1)
    assert overlaps == 0
    assert set(turns) == {f"k{n}" for n in range(20)}


@virtual_time
async def test_passes_that_never_wait_leave_turns_to_others() -> None:
    reconcile = Reconciler()
    turns: list[int] = []
    async with working(reconcile) as queue:
        for number in range(1_000):
            queue.add(f"key-{number}")
        while len(reconcile.times) < 1_000:
            await asyncio.sleep(0)
            turns.append(len(reconcile.times))
    between = [after - before for before, after in pairwise(turns)]
    assert max(between) <= 1, "of all workers, one has a key a turn"


@virtual_time
async def test_a_reserved_worker_serves_an_urgent_key_while_all_others_wait_for_the_api_server() -> (
    None
):
    ended: list[str] = []

    async def reconcile(key: str) -> Result:
        if key != "approved":
            await asyncio.Event().wait()
        ended.append(key)
        return Result()

    async with working(reconcile, deadline=1_000.0, drain=1.0, reserved=1) as queue:
        for number in range(1_000):
            queue.add(f"key-{number}")
        await asyncio.sleep(1)
        queue.add_urgent("approved")
        await asyncio.sleep(1)
        assert ended == ["approved"]


@virtual_time
async def test_a_thousand_urgent_keys_leave_the_crowd_its_turns() -> None:
    order: list[str] = []

    async def reconcile(key: str) -> Result:
        order.append(key)
        return Result()

    async with working(reconcile, reserved=1) as queue:
        for number in range(1_000):
            queue.add_urgent(f"urgent-{number}")
        for number in range(100):
            queue.add(f"key-{number}")
        await asyncio.sleep(1)
    crowd = [place for place, key in enumerate(order) if key.startswith("key")]
    assert len(crowd) == 100
    assert max(after - before for before, after in pairwise(crowd)) <= 10


@pytest.mark.parametrize(
    "first",
    [
        Result(wake_after=2, answered=False),
        Postponed(2, "cache lags"),
        ServerFault("etcd", status=500),
        Conflict("changed", status=409),
    ],
)
@virtual_time
async def test_a_turn_that_could_not_answer_leaves_the_next_one_urgent(
    first: Exception | Result,
) -> None:
    queue: WorkQueue[str] = WorkQueue(random=Random(1))
    script = Reconciler(first)
    order: list[str] = []

    async def reconcile(key: str) -> Result:
        order.append(key)
        if key != "approved":
            await asyncio.sleep(0.01)
            return Result()
        return await script(key)

    queue.add_urgent("approved")
    for number in range(2_000):
        queue.add(f"key-{number}")
    task = asyncio.create_task(Worker("c", queue, reconcile, workers=4, reserved=0).run())
    await asyncio.sleep(3)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert order.count("approved") == 2
