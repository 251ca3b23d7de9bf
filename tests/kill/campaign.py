"""Many interrupted releases at a time, each compared with the golden one of its kind.

A *cell* is a style of release and a course of people's actions. One golden run per cell says which writes there are;
a case is one of these writes, and a moment at it. Invariant: the end that all runs must have is learned from a run that
nobody interrupted, and every invariant is judged over the whole history of every run.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from localcluster.api import JsonObject
from localcluster.errors import NotReady
from tests.cluster.manifests import Application
from tests.cluster.work import START_COSTS, unbounded_work
from tests.kill.courses import COURSES, STRAIGHT
from tests.kill.lanes import Laboratory, Lane
from tests.kill.proxy import Moment
from tests.kill.releases import STYLES, end_of, release

T = TypeVar("T")
ATTEMPTS = 5
"""Runs of a case until its controller is killed: where passes meet, a run has fewer writes than the golden one."""


class Cell(NamedTuple):
    """A style of release, and a course of people's actions."""

    style: str
    course: str

    @property
    def short(self) -> str:
        """Part of the names of its applications; none is the beginning of another."""
        return f"{self.style[0]}{list(COURSES).index(self.course)}"


class Case(NamedTuple):
    """The write (1-based) at which the controller is killed, and the moment of that write."""

    cell: Cell
    number: int
    moment: Moment


@dataclass
class Golden:
    """A cell's run that nobody interrupts; `turn` writes were made before people turned the release round."""

    end: JsonObject
    writes: list[str]
    turn: int
    asked: Counter[str]

    def cases(self, cell: Cell) -> list[Case]:
        """Every write at every moment; the writes before the turn are cases of the straight release."""
        first = 1 if cell.course == STRAIGHT else max(1, self.turn)
        numbers = range(first, len(self.writes) + 1)
        return [Case(cell, number, moment) for number in numbers for moment in Moment]


@dataclass
class Tally:
    """The numbers of a cell's tried cases, of kills, and of requests in addition to those of a run without a kill."""

    tried: int = 0
    kills: int = 0
    more: int = 0
    """The most of any case."""


@dataclass
class Campaign:
    """Cases of some cells, over all lanes; the `title` is in the name of every application."""

    laboratory: Laboratory
    title: str
    golden: dict[Cell, Golden] = field(default_factory=dict)
    tallies: dict[Cell, Tally] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    _number: int = 0

    async def learn(self, cells: Iterable[Cell]) -> None:
        """The golden runs."""
        self.tallies = {cell: Tally() for cell in cells}

        async def golden(lane: Lane, cell: Cell) -> None:
            self.golden[cell] = await self._golden(lane, cell)

        await self._over_lanes(list(self.tallies), golden)

    async def run(self, cases: Sequence[Case]) -> None:
        """The interrupted runs."""
        await self._over_lanes(cases, self._interrupted)

    def report(self) -> str:
        """The covered cases, a line for each cell."""
        return "\n".join(
            f"{cell.style}, {cell.course}: {len(self.golden[cell].writes)} writes, "
            f"{tally.tried} of {len(self.golden[cell].cases(cell))} cases, {tally.kills} kills, "
            f"{self.golden[cell].asked.total()} requests and {tally.more} more at most"
            for cell, tally in self.tallies.items()
        )

    async def _over_lanes(
        self, work: Sequence[T], do: Callable[[Lane, T], Awaitable[None]]
    ) -> None:
        waiting = list(reversed(work))

        async def busy(lane: Lane) -> None:
            while waiting:
                await do(lane, waiting.pop())

        await asyncio.gather(*map(busy, self.laboratory.lanes))

    async def _golden(self, lane: Lane, cell: Cell) -> Golden:
        turns: list[int] = []
        story = await release(
            self.laboratory,
            lane,
            self._app(cell),
            course=COURSES[cell.course],
            turned=lambda: turns.append(len(lane.proxy.writes)),
        )
        found = await story.violations()
        assert not found, f"{cell}: " + "\n".join(map(str, found)) + "\n" + story.report()
        proxy = lane.proxy
        golden = Golden(end_of(story), list(proxy.writes), turns[0], Counter(proxy.asked))
        await story.remove()
        return golden

    async def _interrupted(self, lane: Lane, case: Case) -> None:
        cell, number, moment = case
        golden, tally = self.golden[cell], self.tallies[cell]
        named = f"{cell.style}, {cell.course}: {moment} {number} ({golden.writes[number - 1]})"
        tally.tried += 1
        for _ in range(ATTEMPTS):
            before = lane.kills
            ended = await self._once(lane, Case(cell, number, moment), named)
            tally.kills += lane.kills - before
            if lane.kills > before or not ended:
                return
            # the last write that this run had
            number = min(number, len(lane.proxy.writes))
        self.failures.append(f"{named}: nobody was killed in {ATTEMPTS} releases")

    async def _once(self, lane: Lane, case: Case, named: str) -> bool:
        """One run of a case, judged; False if it did not end."""
        cell, number, moment = case
        golden, app = self.golden[cell], self._app(cell)
        try:
            story = await release(
                self.laboratory, lane, app, (number, moment), course=COURSES[cell.course]
            )
        except NotReady as stuck:
            log = lane.controller.log_tail()
            self.failures.append(f"{named}: the release does not end: {stuck}\n{log}")
            return False
        found = [str(violation) for violation in await story.violations()]
        end = end_of(story)
        if end != golden.end:
            found.append(f"another end: {end}, not {golden.end}")
        asked = lane.proxy.asked
        self.tallies[cell].more = max(self.tallies[cell].more, asked.total() - golden.asked.total())
        work = unbounded_work(golden.asked, asked, faults=1, each=START_COSTS)
        found += [work] if work else []
        if found:
            log = lane.controller.log_tail()
            self.failures.append(f"{named}: {'; '.join(found)}\n{story.report()}\n{log}")
        await story.remove()
        return True

    def _app(self, cell: Cell) -> Application:
        self._number += 1
        return replace(STYLES[cell.style], name=f"{self.title}-{cell.short}-{self._number}")
