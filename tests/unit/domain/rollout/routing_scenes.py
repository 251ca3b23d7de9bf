"""Observations of releases with routes, changed in one place."""

from controller.domain.decision import (
    Decision,
)
from controller.domain.observation import (
    Observation,
)
from controller.domain.rollout.phases import decide
from tests.unit.builders import (
    KEY,
)
from tests.unit.worlds import World


def observed(world: World) -> Observation:
    seen = world.observe(KEY)
    assert seen is not None
    return seen


def decided(world: World, seen: Observation | None = None) -> Decision:
    return decide(seen or observed(world), world.cluster.now)
