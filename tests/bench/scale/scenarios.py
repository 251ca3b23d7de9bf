"""The scenarios by name, in the order in which they run."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from tests.bench.registry import Row
from tests.bench.scale import failover, idle, releases, soak
from tests.bench.scale.idle import Size

Measure = Callable[..., Awaitable[list[Row]]]
"""Its arguments are a folder for logs and a reporter."""


class Scenario(NamedTuple):
    """One measurement, in full size and in a tenth of it."""

    about: str
    measure: Measure
    small: Measure
    explained: str = ""
    """A note for readers of the figures."""


ALL = {
    "idle": Scenario(
        "10 000 Rollouts at rest, 100 000 pods",
        idle.measure,
        partial(idle.measure, sizes=(Size(100, 1), Size(1_000, 1), Size(1_000, 10))),
        "A SelfSubjectAccessReview or similar review counts as a read, not as a write. "
        "With the last row, the projected memory for 10 000 Rollouts with 100 000 pods is 498 MB.",
    ),
    "releases": Scenario(
        "Up to 1 000 releases at once",
        releases.measure,
        partial(releases.measure, counts=(10, 100)),
        "A person's change goes before all others. Most of the time after an approval is spent in the API server, "
        "before it answers the approval. Then its watch sends the change and a script runs, on the same two cores "
        "that the control plane and other programs use.",
    ),
    "failover": Scenario(
        "The leader ends during releases",
        failover.measure,
        partial(failover.measure, count=10, times=1),
    ),
    "soak": Scenario(
        "Release after release: does memory grow?",
        soak.measure,
        partial(soak.measure, fleets=4),
        "When a Rollout is deleted, the controller keeps only bounded caches for it: digests of 4 096 pod templates "
        "(all fleets of this test have the same templates) and 4 096 changes of objects (full after the first fleet). "
        "A namespace without Rollouts keeps its counters of releases, eight small objects, until they have been "
        "scraped twenty times. The API server keeps as many connections to the webhooks open as it once needed.",
    ),
}
