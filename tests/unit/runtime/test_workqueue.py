"""The queue against a model: every order of adding, delaying, taking and finishing."""

import asyncio
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.runtime.workqueue import WorkQueue
from tests.component.runtime.virtual_time import now, virtual_time

KEYS = st.sampled_from("abc")
DELAYS = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), KEYS, st.just(0.0)),
        st.tuples(st.just("urgent"), KEYS, st.just(0.0)),
        st.tuples(st.just("after"), KEYS, DELAYS),
        st.tuples(st.just("retry"), KEYS, st.just(0.0)),
        st.tuples(st.just("take"), st.just(""), st.just(0.0)),
        st.tuples(st.just("done"), KEYS, st.just(0.0)),
        st.tuples(st.just("unanswered"), KEYS, st.just(0.0)),
        st.tuples(st.just("wait"), st.just(""), DELAYS),
    ),
    max_size=60,
)


class Run:
    """A queue, and its invariants after every step."""

    def __init__(self) -> None:
        self.queue: WorkQueue[str] = WorkQueue(base=0.3, cap=4.0, random=Random(0))
        self.running: set[str] = set()
        self.wanted: dict[str, float] = {}  # key -> a turn must begin to be possible by then
        self.urgent: set[str] = set()  # a person waits for a turn that begins from now on
        self.answering: set[str] = set()

    async def step(self, action: str, key: str, delay: float) -> None:
        match action:
            case "add":
                self._want(key, now())
                self.queue.add(key)
            case "urgent":
                self._want(key, now())
                self.urgent.add(key)
                self.queue.add_urgent(key)
            case "after":
                self._want(key, now() + max(0.0, delay))
                self.queue.add_after(key, delay)
            case "retry":
                self._want(key, now() + self.queue.retry(key))
            case "take":
                await self._take()
            case "done" | "unanswered" if key in self.running:
                self.running.discard(key)
                self.queue.done(key, answered=action == "done")
                if action == "unanswered":
                    self.urgent |= self.answering & {key}
                self.answering.discard(key)
            case "wait":
                await asyncio.sleep(max(0.0, delay))
            case _:
                pass  # done, of a key that nobody works on
        await asyncio.sleep(0)

    def _want(self, key: str, by: float) -> None:
        self.wanted[key] = min(by, self.wanted.get(key, by))

    async def _take(self) -> None:
        if not len(self.queue):
            return
        key = await self.queue.get()
        assert key not in self.running, "a key was handed out twice"
        assert key in self.wanted, "a turn that nobody asked for"
        assert self.wanted[key] <= now() + 1e-6, "a turn before its time"
        ready = {other for other, by in self.wanted.items() if by <= now()} - self.running
        # with three keys no row is so long that the crowd's turn comes first
        assert key in self.urgent or not self.urgent & ready, "somebody urgent was passed over"
        self.answering |= self.urgent & {key}
        self.urgent.discard(key)
        self.running.add(key)
        del self.wanted[key]

    async def finish(self) -> None:
        """Every request is handled in the end, and no other."""
        for key in tuple(self.running):
            await self.step("done", key, 0)
        while self.wanted:
            by = min(self.wanted.values())
            await asyncio.sleep(max(0.0, by - now()) + 0.001)
            assert len(self.queue), "a turn was lost"
            await self._take()
            for key in tuple(self.running):
                await self.step("done", key, 0)
        await asyncio.sleep(100)
        assert len(self.queue) == 0


@given(STEPS)
@virtual_time
async def test_every_key_gets_its_turn_once_in_time_and_never_twice_at_once(
    steps: list[tuple[str, str, float]],
) -> None:
    run = Run()
    for step in steps:
        await run.step(*step)
    await run.finish()


@virtual_time
async def test_keys_are_served_in_the_order_they_became_ready() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key in "cab":
        queue.add(key)
    queue.add("c")
    assert [await queue.get() for _ in range(3)] == ["c", "a", "b"]


@virtual_time
async def test_the_earliest_of_several_due_times_wins() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 10)
    queue.add_after("a", 5)
    queue.add_after("a", 20)
    assert await queue.get() == "a"
    assert now() == 5
    queue.done("a")
    await asyncio.sleep(60)
    assert len(queue) == 0


@virtual_time
async def test_an_immediate_add_cancels_the_delayed_one() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 10)
    queue.add("a")
    queue.done(await queue.get())
    await asyncio.sleep(60)
    assert len(queue) == 0


@virtual_time
async def test_a_key_that_was_pressed_during_its_turn_has_an_urgent_one_next() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    key = await queue.get()
    queue.add("b")
    queue.add_urgent(key)
    queue.done(key)
    assert await queue.get() == "a"


@virtual_time
async def test_urgency_is_for_one_turn_that_answers() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_urgent("a")
    key = await queue.get()
    queue.add_after(key, 5)
    queue.done(key, answered=False)  # the caches do not show our last write yet
    await asyncio.sleep(4)
    queue.add("b")
    await asyncio.sleep(2)
    assert await queue.get() == "a"
    queue.add("a")
    queue.done("a")
    assert await queue.get() == "b"


@virtual_time
async def test_a_worker_for_urgent_keys_is_not_woken_by_other_keys() -> None:
    queue: WorkQueue[str] = WorkQueue()
    reserved = asyncio.create_task(queue.get(only_urgent=True))
    await asyncio.sleep(0)
    for number in range(1_000):
        queue.add(f"key-{number}")
    await asyncio.sleep(1)
    assert not reserved.done()
    queue.add_urgent("key-999")
    assert await asyncio.wait_for(reserved, 1) == "key-999"


@virtual_time
async def test_keys_of_namespaces_that_others_work_on_are_not_urgent_either() -> None:
    queue: WorkQueue[str] = WorkQueue(admits=lambda key: key == "ours")
    queue.add_urgent("theirs")
    assert len(queue) == 0
    queue.add_urgent("ours")
    await queue.drop(lambda key: True)
    assert len(queue) == 0


@virtual_time
async def test_a_change_during_a_turn_leads_to_exactly_one_more_turn() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    key = await queue.get()
    for _ in range(5):
        queue.add(key)
    assert len(queue) == 0
    queue.done(key)
    assert len(queue) == 1


@virtual_time
async def test_retries_grow_to_the_cap_and_start_again_after_success() -> None:
    queue: WorkQueue[str] = WorkQueue(base=0.005, cap=10, random=Random(1))
    delays = [queue.retry("a") for _ in range(2000)]
    assert 0.00375 <= delays[0] <= 0.005
    assert 7.5 <= delays[-1] <= 10
    queue.forget("a")
    assert queue.retry("a") <= 0.005


@virtual_time
async def test_a_cancelled_waiter_does_not_swallow_a_wake_up() -> None:
    queue: WorkQueue[str] = WorkQueue()
    first = asyncio.create_task(queue.get())
    second = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")  # wakes the first
    first.cancel()
    assert await asyncio.wait_for(second, 1) == "a"


@virtual_time
async def test_void_entries_do_not_pile_up() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for number in range(10_000):
        queue.add_after("a", 10_000 - number / 10)
    assert len(queue._heap) < 200


@virtual_time
async def test_closing_stops_the_timer() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 5)
    queue.close()
    await asyncio.sleep(10)
    assert len(queue) == 0


class Recorder:
    def __init__(self) -> None:
        self.figures: list[tuple[str, float]] = []

    def queue_added(self, queue: str) -> None:
        self.figures.append((f"{queue} added", 1))

    def queue_depth(self, queue: str, ready: int) -> None:
        self.figures.append(("depth", ready))

    def queue_waited(self, queue: str, seconds: float) -> None:
        self.figures.append((f"{queue} waited", seconds))

    def queue_worked(self, queue: str, seconds: float) -> None:
        self.figures.append(("worked", seconds))

    def queue_retried(self, queue: str) -> None:
        self.figures.append(("retried", 1))


@virtual_time
async def test_the_queue_measures_how_long_keys_waited_and_were_worked_on() -> None:
    metrics = Recorder()
    queue: WorkQueue[str] = WorkQueue("q", metrics=metrics)
    queue.add("a")
    await asyncio.sleep(2)
    key = await queue.get()
    await asyncio.sleep(3)
    queue.done(key)
    assert metrics.figures == [
        ("q added", 1),
        ("depth", 1),
        ("q waited", pytest.approx(2)),
        ("depth", 0),
        ("worked", pytest.approx(3)),
    ]


@virtual_time
async def test_urgent_turns_have_a_histogram_of_their_own() -> None:
    metrics = Recorder()
    queue: WorkQueue[str] = WorkQueue("q", metrics=metrics)
    queue.add_urgent("a")
    queue.done(await queue.get())
    assert [item for item, _ in metrics.figures] == [
        "q added",
        "depth",
        "q-urgent waited",
        "depth",
        "worked",
    ]
