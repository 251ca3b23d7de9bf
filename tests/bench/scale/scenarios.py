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
    explained: str = ""
    """What a reader has to know of the figures."""


ALL = {
    "idle": Scenario(
        "10 000 Rollouts at rest, 100 000 pods",
        idle.measure,
        partial(idle.measure, sizes=(Size(100, 1), Size(1_000, 1), Size(1_000, 10))),
        "A review that the API server is asked for counts as a question, not as a write. "
        "Of 10 000 Rollouts with 100 000 pods the memory is projected by the last row: 498 MB.",
    ),
    "releases": Scenario(
        "Up to 1 000 releases at once",
        releases.measure,
        partial(releases.measure, counts=(10, 100)),
        "A person's change goes before the crowd. Most of an approval's wait is the API server's own answer; then "
        "its watch tells of it and a script runs, on the two cores that the control plane and neighbours use, too.",
    ),
    "failover": Scenario(
        "The leader goes in the midst of releases",
        failover.measure,
        partial(failover.measure, count=10, times=1),
    ),
    "soak": Scenario(
        "Release after release: does memory grow?",
        soak.measure,
        partial(soak.measure, fleets=4),
        "Of a Rollout that is gone nothing stays but what is remembered up to a number: digests of 4 096 pod "
        "templates, which are the same in all fleets here, and 4 096 changes of objects, reached in the first fleet. "
        "The counters of the releases of a namespace, eight small objects, go when they were scraped twenty times "
        "without a Rollout there; the API server keeps connections to the webhooks open, as many as it once needed.",
    ),
}
