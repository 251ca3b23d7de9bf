"""The controller is killed at every write of a release; the release ends as if nothing had happened.

One golden run per style and course says which writes there are. Each is then interrupted at three moments; the
controller starts again, the end is compared with the golden one, and every invariant is judged over the whole history.
"""

from collections.abc import Callable, Iterable

import pytest

from tests.kill.campaign import Campaign, Case, Cell
from tests.kill.courses import COURSES
from tests.kill.lanes import Laboratory
from tests.kill.releases import STYLES

SAMPLED = 31
"""Every n-th case of each cell is part of every test run; it shares no factor with the three moments."""
CELLS = tuple(Cell(style, course) for course in COURSES for style in STYLES)

Choice = Callable[[Cell, list[Case]], Iterable[Case]]


def sampled(cell: Cell, cases: list[Case]) -> Iterable[Case]:
    """The same cases in every run; each cell begins at another case."""
    return cases[CELLS.index(cell) % SAMPLED :: SAMPLED]


async def assert_ends_as_if_uninterrupted(
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
    assert sum(tally.kills for tally in campaign.tallies.values()) == len(chosen), report
    print(f"\n{report}")  # noqa: T201 - what was covered is part of the result


async def test_a_sample_of_interrupted_releases_ends_as_if_nothing_had_been(
    laboratory: Laboratory,
) -> None:
    await assert_ends_as_if_uninterrupted(laboratory, "sample", CELLS, sampled)


@pytest.mark.full
@pytest.mark.parametrize("course", COURSES)
@pytest.mark.parametrize("style", STYLES)
async def test_a_release_interrupted_at_any_write_ends_as_if_nothing_had_been(
    laboratory: Laboratory, style: str, course: str
) -> None:
    await assert_ends_as_if_uninterrupted(
        laboratory, "full", (Cell(style, course),), lambda _, cases: cases
    )
