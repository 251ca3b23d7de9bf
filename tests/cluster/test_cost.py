"""The cost of a release does not grow unnoticed: requests of one release, counted by the API server.

Why counts: on a shared machine, seconds are not comparable; a count is the same everywhere. The limits are a little
above the measured counts; a change that adds a request to every step exceeds them.
"""

from collections.abc import AsyncIterator

import pytest

from localcluster.progress import SilentReporter
from tests.bench.fleet import fleet, quiet, release
from tests.bench.ground import Ground, ground
from tests.bench.objects import Style
from tests.bench.requests import breakdown, ours_since

MOST = {Style.CANARY: 51, Style.PARTITION: 63}
"""Requests of one release alone, of five automatic steps: those of the simulation, and two for pods that come one by
one."""


@pytest.fixture(scope="module")
async def measured(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Ground]:
    """Give the product and a recorder for measurements, on a plane of its own."""
    async with ground(tmp_path_factory.mktemp("cost"), SilentReporter()) as made:
        yield made


@pytest.mark.parametrize("style", Style)
async def test_a_release_makes_at_most_the_recorded_number_of_requests(
    measured: Ground, style: Style
) -> None:
    async with fleet(measured, f"cost-{style}", style, 1) as made:
        mark = measured.plane.audit.mark()
        await release(measured, made)
        await quiet(measured, made.namespace)
        # The Events of an earlier release may be written when its namespace is going already.
        about = ("", made.namespace)
        ours = ours_since(measured.plane.audit, mark)
        counted = breakdown((one for one in ours if one.namespace in about), 1)
    assert sum(counted.values()) <= MOST[style], counted
    refused = [label for label in counted if " -> 403" in label]
    assert not refused
