"""The controller is killed at every write of a release; the release ends as if nothing had been.

One golden run per style and tale says which writes there are. Each is then interrupted at three moments; the controller
starts again, the end is compared with the golden one, and every invariant is judged over the whole history.
"""

from collections.abc import Callable, Iterable
from itertools import cycle

import pytest

from tests.kill.campaign import Campaign, Case, Cell
from tests.kill.lanes import Laboratory
from tests.kill.proxy import Moment
from tests.kill.releases import STYLES
from tests.kill.tales import STRAIGHT, TALES

SAMPLED = 19
"""Every so manieth case of a straight release is part of every test run; it shares no factor with the three moments."""
STRAIGHT_ONES = tuple(Cell(style, STRAIGHT) for style in STYLES)
TURNED = tuple(
    Cell(style, tale) for tale, style in zip(list(TALES)[1:], cycle(STYLES), strict=False)
)
"""Every other tale once, in one style or another."""

Choice = Callable[[Cell, list[Case]], Iterable[Case]]


def sampled(cell: Cell, cases: list[Case]) -> Iterable[Case]:
    """A straight release now and then; another tale early, halfway and late, at a moment each."""
    if cell.tale == STRAIGHT:
        return cases[::SAMPLED]
    at = [len(cases) * part // 6 for part in (1, 3, 5)]
    return [
        next(case for case in cases[place - place % len(Moment) :] if case.moment is moment)
        for place, moment in zip(at, Moment, strict=True)
    ]


async def interrupted(
    laboratory: Laboratory, title: str, cells: tuple[Cell, ...], choice: Choice
) -> None:
    campaign = Campaign(laboratory, title)
    await campaign.learn(cells)
    chosen = [case for cell in cells for case in choice(cell, campaign.golden[cell].cases(cell))]
    await campaign.run(chosen)
    report = campaign.report()
    assert not campaign.failures, "\n".join(
        (f"{len(campaign.failures)} cases", *campaign.failures, report)
    )
    kills = sum(tally.kills for tally in campaign.tallies.values())
    # A run in which passes meet does with a few writes less than the golden one, and ends before the last of them.
    assert kills >= len(chosen) * 2 // 3, report
    print(f"\n{report}")  # noqa: T201 - what was covered is part of the result


@pytest.mark.timeout(900)
async def test_a_sample_of_interrupted_releases_ends_as_if_nothing_had_been(
    laboratory: Laboratory,
) -> None:
    await interrupted(laboratory, "sample", (*STRAIGHT_ONES, *TURNED), sampled)


@pytest.mark.full
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("tale", TALES)
@pytest.mark.parametrize("style", STYLES)
async def test_a_release_interrupted_at_any_write_ends_as_if_nothing_had_been(
    laboratory: Laboratory, style: str, tale: str
) -> None:
    await interrupted(laboratory, "full", (Cell(style, tale),), lambda _, cases: cases)
