"""The controller is killed at every write of a release; the release ends as if nothing had been.

One golden run per style says which writes there are. Each is then interrupted at three moments; the controller starts
again, the end is compared with the golden one, and every invariant is judged over the whole history.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from localcluster.api import JsonObject
from localcluster.errors import NotReady
from tests.cluster.manifests import Application
from tests.kill.lanes import Laboratory, Lane
from tests.kill.proxy import Moment
from tests.kill.releases import STYLES, end_of, release

SAMPLED = 7
"""Every so manieth case is part of every test run; it shares no factor with the three moments."""

Case = tuple[int, Moment]


class Campaign:
    """All cases of one style, over all lanes."""

    def __init__(self, laboratory: Laboratory, style: str, title: str) -> None:
        self._laboratory = laboratory
        self._style = style
        self._title = title
        self._golden: JsonObject = {}
        self._number = 0
        self.writes: list[str] = []
        self.failures: list[str] = []
        self.kills = 0

    async def learn(self) -> list[Case]:
        """The golden run; answers all cases it gives."""
        lane = self._laboratory.lanes[0]
        story = await release(self._laboratory, lane, self._app(), None)
        self.writes = list(lane.proxy.writes)
        found = await story.violations()
        assert not found, "\n".join(map(str, found))
        self._golden = end_of(story)
        await story.remove()
        return [(n, moment) for n in range(1, len(self.writes) + 1) for moment in Moment]

    async def run(self, cases: Sequence[Case]) -> None:
        """Interrupt, on all lanes at a time."""
        waiting = list(reversed(cases))

        async def work(lane: Lane) -> None:
            while waiting:
                await self._one(lane, waiting.pop())

        await asyncio.gather(*map(work, self._laboratory.lanes))

    async def _one(self, lane: Lane, case: Case) -> None:
        number, moment = case
        before = lane.kills
        named = f"{moment} {number} ({self.writes[number - 1]})"
        try:
            story = await release(self._laboratory, lane, self._app(), case)
        except NotReady as stuck:
            self.failures.append(f"{named}: the release does not end: {stuck}")
            return
        self.kills += lane.kills - before
        told = [str(violation) for violation in await story.violations()]
        end = end_of(story)
        if end != self._golden:
            told.append(f"another end: {end}, not {self._golden}")
        if told:
            self.failures.append(f"{named}: " + "; ".join(told) + "\n" + story.report())
        await story.remove()

    def _app(self) -> Application:
        self._number += 1
        name = f"{self._title}{self._number}"
        return replace(STYLES[self._style], name=name)


async def interrupted(laboratory: Laboratory, style: str, title: str, every: int) -> None:
    campaign = Campaign(laboratory, style, title)
    cases = await campaign.learn()
    chosen = cases[::every]
    await campaign.run(chosen)
    assert not campaign.failures, f"{len(campaign.failures)} cases\n" + "\n".join(campaign.failures)
    assert campaign.kills >= len(chosen) * 9 // 10
    print(  # noqa: T201 - what was covered is part of the result
        f"\n{style}: {len(campaign.writes)} writes, {len(chosen)} of {len(cases)} cases, "
        f"{campaign.kills} kills"
    )


@pytest.mark.timeout(240)
@pytest.mark.parametrize("style", STYLES)
async def test_a_sample_of_interrupted_releases_ends_as_if_nothing_had_been(
    laboratory: Laboratory, style: str
) -> None:
    await interrupted(laboratory, style, f"sample-{style[0]}", SAMPLED)


@pytest.mark.full
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("style", STYLES)
async def test_a_release_interrupted_at_any_write_ends_as_if_nothing_had_been(
    laboratory: Laboratory, style: str
) -> None:
    await interrupted(laboratory, style, f"full-{style[0]}", 1)
