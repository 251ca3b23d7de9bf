"""Several processes divide the shards: each shard has one writer at most, also while the number of shards changes."""

import asyncio
import contextlib
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.domain.shards import shard_of
from controller.errors import LostLease
from controller.runtime.leader import LeaseRecord
from controller.runtime.leadership import Namespaces
from controller.runtime.shards import HandedOver, Shards
from tests.component.runtime.candidates import MemoryLease
from tests.component.runtime.virtual_time import VirtualClock, VirtualLoop, now, virtual_time

EVENTS = ("stop", "freeze", "cut", "cut all", "mend", "start2", "start3", "lose")
FROZEN_TENTHS = 200
"""Longer than any Lease counts."""
NAMESPACES = tuple(f"team-{number}" for number in range(12))


class Leases:
    """The Leases of one cluster; a reader of a Lease knows its version."""

    def __init__(self) -> None:
        self.common = MemoryLease()
        self.shards = tuple(MemoryLease() for _ in range(4))


class Line:
    """The way of one process to a Lease, which may be cut: requests hang, and nothing is written."""

    def __init__(self, lease: MemoryLease) -> None:
        self._lease = lease
        self._whole = asyncio.Event()
        self._whole.set()

    def cut(self) -> None:
        """Requests get no answer from now on."""
        self._whole.clear()

    def mend(self) -> None:
        """Requests arrive again."""
        self._whole.set()

    async def read(self) -> LeaseRecord | None:
        await self._whole.wait()
        return await self._lease.read()

    async def create(self, record: LeaseRecord) -> LeaseRecord:
        await self._whole.wait()
        return await self._lease.create(record)

    async def update(self, record: LeaseRecord) -> LeaseRecord:
        await self._whole.wait()
        return await self._lease.update(record)


class Process:
    """One controller process, which works on the shards that it holds."""

    def __init__(self, leases: Leases, name: str, shards: int) -> None:
        self.name = name
        self.common = Line(leases.common)
        self.own = tuple(Line(one) for one in leases.shards[:shards])
        self.lines = (self.common, *self.own)
        self.clock = VirtualClock()
        self._later = 0.0
        self.shards = Shards(
            self.own, self.common, name, name="lease", clock=self.clock, random=Random(name),
            seconds=lambda: self.clock.monotonic() + self._later,
        )  # fmt: skip
        self.shards.on_changes(lambda _: None, _at_once)
        self.task = asyncio.create_task(self.shards.run(_forever))

    def writes(self, namespace: str) -> bool:
        """A write about it would be sent now."""
        try:
            self.shards.check(namespace)
        except LostLease:
            return False
        return True

    def frozen(self) -> dict[str, float]:
        """Until when this process, stopped now and continued later, would write: no timer of it runs before that."""
        until = dict[str, float]()
        for tenths in range(FROZEN_TENTHS):
            self._later = tenths / 10
            until |= {one: now() + self._later for one in NAMESPACES if self.writes(one)}
        self._later = 0.0
        return until

    def held(self) -> int:
        return sum(self.shards.holds(one) for one in ONE_OF_EACH)

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


ONE_OF_EACH = tuple(
    next(f"n{k}" for k in range(200) if shard_of(f"n{k}", 3) == shard) for shard in range(3)
)


async def _forever() -> None:
    await asyncio.Event().wait()


async def _at_once(which: Callable[[str], bool]) -> None:
    """No pass is under way."""


@virtual_time
async def test_three_processes_hold_one_of_three_shards_each() -> None:
    leases = Leases()
    processes = [Process(leases, name, 3) for name in "abc"]
    await asyncio.sleep(60)
    assert [one.held() for one in processes] == [1, 1, 1]
    await asyncio.gather(*(one.stop() for one in processes))


@virtual_time
async def test_survivors_hold_the_shards_of_a_process_that_ended() -> None:
    leases = Leases()
    processes = [Process(leases, name, 3) for name in "abc"]
    await asyncio.sleep(60)
    await processes[0].stop()
    await asyncio.sleep(60)
    assert sorted(one.held() for one in processes[1:]) == [1, 2]
    await asyncio.gather(*(one.stop() for one in processes[1:]))


@virtual_time
async def test_shards_are_handed_to_a_process_that_joins() -> None:
    leases = Leases()
    first = Process(leases, "a", 3)
    await asyncio.sleep(60)
    assert first.held() == 3
    second = Process(leases, "b", 3)
    await asyncio.sleep(60)
    assert sorted((first.held(), second.held())) == [1, 2]
    await asyncio.gather(first.stop(), second.stop())


@virtual_time
async def test_a_process_with_another_number_waits_until_the_last_of_the_old_number_has_ended() -> (
    None
):
    leases = Leases()
    old = [Process(leases, name, 2) for name in "ab"]
    await asyncio.sleep(30)
    new = Process(leases, "c", 3)
    await old[0].stop()
    await asyncio.sleep(60)
    assert new.held() == 0
    await old[1].stop()
    await asyncio.sleep(60)
    assert new.held() == 3
    await new.stop()


@settings(settings(), max_examples=max(12, settings().max_examples // 8), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(EVENTS),
                          st.integers(0, 9), st.integers(0, 300)), max_size=25))  # fmt: skip
def test_no_namespace_ever_has_two_writers(story: list[tuple[str, int, int]]) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(_played(story))


async def _played(story: list[tuple[str, int, int]]) -> None:
    crew = Crew()
    for event, which, tenths in story:
        await crew.let_happen(event, which)
        for _ in range(tenths):
            await asyncio.sleep(0.1)
            crew.look()
    await asyncio.gather(*(one.stop() for one in crew.alive))


class Crew:
    """Processes that start and end, and processes that were frozen during their work."""

    def __init__(self) -> None:
        self._leases = Leases()
        self.alive = [
            Process(self._leases, name, shards) for name, shards in (("a", 2), ("b", 2), ("c", 3))
        ]
        self._started = 0
        self._frozen = list[tuple[str, dict[str, float]]]()

    async def let_happen(self, event: str, which: int) -> None:
        """One of `EVENTS`; the number says to which process or Lease."""
        one = self.alive[which % len(self.alive)] if self.alive else None
        match event:
            case "start2" | "start3" if len(self.alive) < 5:
                self._started += 1
                self.alive.append(Process(self._leases, f"p{self._started}", int(event[-1])))
            case "lose":
                lease = (self._leases.common, *self._leases.shards)[which % 5]
                lease.lose_answers = not lease.lose_answers
            case "freeze" if one:
                self._frozen.append((one.name, one.frozen()))
            case "stop" if one:
                self.alive.remove(one)
                await one.stop()
            case "cut" if one:
                one.lines[which % len(one.lines)].cut()
            case "cut all" | "mend" if one:
                for line in one.lines:
                    line.cut() if event == "cut all" else line.mend()
            case _:
                pass

    def look(self) -> None:
        """Each namespace has at most one writer, even if the frozen processes continue now."""
        for namespace in NAMESPACES:
            writers = {process.name for process in self.alive if process.writes(namespace)}
            writers |= {name for name, until in self._frozen if now() <= until.get(namespace, -1)}
            assert len(writers) <= 1


@virtual_time
async def test_a_write_needs_the_lease_of_its_shard_and_the_common_one() -> None:
    """Only requests for one of the Leases get no answer, and the process is stopped before its timers notice."""
    leases = Leases()
    alone = Process(leases, "a", 2)
    await asyncio.sleep(60)
    alone.own[0].cut()
    await asyncio.sleep(7)
    ends = alone.frozen()
    of_first = {end for one, end in ends.items() if shard_of(one, 2) == 0}
    of_second = {end for one, end in ends.items() if shard_of(one, 2) == 1}
    assert max(of_first) < now() + 4 < min(of_second)
    alone.own[0].mend()
    await asyncio.sleep(7)
    alone.common.cut()
    await asyncio.sleep(7)
    assert max(alone.frozen().values()) < now() + 4
    await alone.stop()


@virtual_time
async def test_a_shard_is_handed_over_after_its_passes_have_ended() -> None:
    shards = Shards((MemoryLease(),), MemoryLease(), "a", name="lease", clock=VirtualClock())
    over: list[bool] = []

    async def last_pass_ends(of: Namespaces) -> None:
        await asyncio.sleep(3)
        over.append(of(NAMESPACES[0]))

    shards.on_changes(lambda _: None, last_pass_ends)
    serving = asyncio.create_task(shards._serve(0))
    await asyncio.sleep(0)
    assert shards.holds(NAMESPACES[0])
    shards._asked[0].set()
    with pytest.raises(HandedOver):
        await serving
    assert over == [True]
    assert not shards.holds(NAMESPACES[0])


@virtual_time
async def test_a_duty_that_is_done_is_begun_again_only_when_its_shard_has_come_back() -> None:
    alone = Process(Leases(), "a", 1)
    begun: list[float] = []

    async def duty() -> None:
        begun.append(now())
        if len(begun) > 9:
            await asyncio.Event().wait()  # a loop without a pause would never end

    doing = asyncio.create_task(alone.shards.during(NAMESPACES[0], duty))
    await asyncio.sleep(60)
    assert len(begun) == 1
    alone.shards._asked[0].set()
    await asyncio.sleep(60)
    assert len(begun) == 2
    doing.cancel()
    await alone.stop()


@virtual_time
async def test_a_lost_shard_is_reported_although_the_work_does_not_end() -> None:
    leases, over = Leases(), asyncio.Event()

    async def stubborn() -> None:
        while not over.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await over.wait()

    shards = Shards(leases.shards[:1], leases.common, "a", name="lease", clock=VirtualClock())
    holding = asyncio.create_task(shards.run(stubborn))
    await asyncio.sleep(30)
    leases.shards[0].steal("thief")
    done, _ = await asyncio.wait((holding,), timeout=60)
    over.set()
    assert done
    assert isinstance(holding.exception(), LostLease)
