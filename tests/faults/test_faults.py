"""A release under every fault of the API server ends as one without, and every invariant holds on the way.

One run without a fault per style says how releases end. Each case is a fault and a style; a fault that never happened
is a failure of the test.
"""

import asyncio
from collections import Counter
from dataclasses import replace
from itertools import cycle

import pytest

from localcluster.api import JsonObject
from localcluster.errors import NotReady
from tests.cluster.work import unbounded_work
from tests.faults.proxy import Fault, FaultyProxy
from tests.faults.table import FAULTS
from tests.kill.lanes import Laboratory, Lane
from tests.kill.proxy import Moment
from tests.kill.releases import STYLES, end_of, release

Case = tuple[str, str]
SAMPLE: tuple[Case, ...] = tuple(zip(FAULTS, cycle(STYLES), strict=False))
"""Every fault on one style; the others are part of the long tests."""
ALL: tuple[Case, ...] = tuple((fault, style) for fault in FAULTS for style in STYLES)


class Trial:
    """Cases over all lanes, each compared with a release of its style without a fault."""

    def __init__(self, laboratory: Laboratory, title: str) -> None:
        self._laboratory = laboratory
        self._title = title
        self._golden: dict[str, JsonObject] = {}
        self._usual: dict[str, Counter[str]] = {}
        self._number = 0
        self.lines: list[str] = []
        self.failures: list[str] = []

    async def run(self, cases: tuple[Case, ...]) -> None:
        """The releases without faults, then all cases."""
        await self._over_lanes([("", style) for style in STYLES])
        await self._over_lanes(list(cases))

    async def _over_lanes(self, cases: list[Case]) -> None:
        waiting = list(reversed(cases))

        async def busy(lane: Lane) -> None:
            while waiting:
                await self._one(lane, *waiting.pop())

        await asyncio.gather(*map(busy, self._laboratory.lanes))

    async def _one(self, lane: Lane, name: str, style: str) -> None:
        proxy = lane.proxy
        assert isinstance(proxy, FaultyProxy)
        fault = FAULTS[name]() if name else Fault()
        self._number += 1
        app = replace(STYLES[style], name=f"{self._title}-{self._number:03}")
        proxy.fault = fault if name else None
        first = (1, Moment.UNSENT) if fault.restarts else None
        try:
            story = await release(self._laboratory, lane, app, first)
        except NotReady as stuck:
            lane.rest()
            log = lane.controller.log_tail()
            self.failures.append(f"{name}, {style}: the release does not end: {stuck}\n{log}")
            return
        finally:
            proxy.fault = None
        end, broken = end_of(story), await story.violations()
        if not name:
            self._golden[style], self._usual[style] = end, proxy.asked
        found = list(map(str, broken))
        if end != self._golden[style]:
            found.append(f"another end: {end}, not {self._golden[style]}")
        if name and fault.times < fault.least:
            found.append(f"the fault happened {fault.times} times, expected {fault.least}")
        work = unbounded_work(self._usual[style], proxy.asked, fault.injected, fault.costs)
        found += [work] if work else []
        if found:
            self.failures.append(f"{name}, {style}: " + "; ".join(found) + "\n" + story.report())
        self.lines.append(
            f"{name or 'no fault'}, {style}: {fault.times} times, "
            f"{proxy.asked.total()} requests, {self._usual[style].total()} without it"
        )
        await story.remove()


async def tried(laboratory: Laboratory, title: str, cases: tuple[Case, ...]) -> None:
    trial = Trial(laboratory, title)
    await trial.run(cases)
    assert not trial.failures, "\n".join((f"{len(trial.failures)} cases", *trial.failures))
    print("\n" + "\n".join(trial.lines))  # noqa: T201 - what was covered is part of the result


async def test_a_release_under_each_fault_ends_as_one_without(faulty: Laboratory) -> None:
    await tried(faulty, "fault", SAMPLE)


@pytest.mark.full
async def test_a_release_of_every_style_under_each_fault_ends_as_one_without(
    faulty: Laboratory,
) -> None:
    await tried(faulty, "each", ALL)
