"""The scenarios by name, in the order in which they run."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from tests.bench.registry import Row
from tests.bench.scale import failover, idle, releases, soak
from tests.bench.scale.idle import Size

Measure = Callable[..., Awaitable[list[Row]]]
"""Of a folder for logs and a reporter."""


class Scenario(NamedTuple):
    """One measurement, in full and a tenth of it."""

    about: str
    measure: Measure
    small: Measure


ALL = {
    "idle": Scenario(
        "10 000 Rollouts at rest, 100 000 pods",
        idle.measure,
        partial(idle.measure, sizes=(Size(100, 1), Size(1_000, 1), Size(1_000, 10))),
    ),
    "releases": Scenario(
        "Up to 1 000 releases at once",
        releases.measure,
        partial(releases.measure, counts=(10, 100)),
    ),
    "failover": Scenario(
        "The leader goes in the midst of releases",
        failover.measure,
        partial(failover.measure, count=10, times=1),
    ),
    "soak": Scenario(
        "Release after release",
        soak.measure,
        partial(soak.measure, fleets=4),
    ),
}
