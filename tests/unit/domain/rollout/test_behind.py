"""The Deployment's own controller is behind: it has not yet filled the stable revision up when we look.

Why: the room for new pods is what the other ReplicaSets leave of `replicas` and maxSurge. An abandoned ReplicaSet is
emptied by us; until its share is stable's again, every limit leaves room for too many new pods.
"""

from collections.abc import Callable

import pytest

from controller.api.rollout import BlueGreenStrategy, Strategy
from controller.api.workload_kinds import WorkloadKind
from tests.unit.builders import (
    KEY,
    make_rollout,
    make_routing,
    make_steps,
    make_world,
    release,
    revision_of,
    sizes_of,
    with_spec,
)
from tests.unit.domain.rollout.scenes import started
from tests.unit.simulation.invariants import Watch
from tests.unit.worlds import World

ROUNDS = 12
"""Enough for every pass of ours that comes before its turn."""


def at_step_1(style: str) -> World:
    """Two pods of v2, in partition style instead of two old ones, in blue-green beside all of them."""
    if style == "partition":
        return started(watched=False)
    plan = BlueGreenStrategy(steps=make_steps("20%", "50%"), traffic_routings=(make_routing(),))
    world = make_world(with_spec(make_rollout(), strategy=Strategy(blue_green=plan)))
    release(world)
    world.rest()
    return world


def size(world: World, version: str) -> int:
    """How many pods the ReplicaSet of a version wants."""
    revision = revision_of(world, version)
    return sum(r.spec.replicas for r in world.cluster.replica_sets if r.revision == revision)


def is_behind(world: World) -> None:
    """All other controllers continue without the Deployment's controller, which continues in the end."""
    world.cluster.behind.add(WorkloadKind.DEPLOYMENT)
    for _ in range(ROUNDS):
        world.advance()
    world.cluster.behind.clear()


def most(world: World, version: str) -> Callable[[], int]:
    """Return a function: the largest number of pods of a version that was wanted at any instant since this call."""
    seen = [0]
    world.watchers.append(lambda: seen.append(size(world, version)))
    return lambda: max(seen)


def test_a_third_revision_gets_no_more_than_its_step_where_stable_is_filled_up_late() -> None:
    world = at_step_1("partition")
    Watch(world)
    release(world, "v3")
    world.run_until(lambda: size(world, "v2") == 0)
    assert size(world, "v1") == 8
    new = most(world, "v3")
    is_behind(world)
    world.rest()
    assert new() == 2
    assert sizes_of(world) == {"v1": 8, "v3": 2}


@pytest.mark.parametrize("style", ["partition", "blue-green"])
def test_from_zero_the_step_alone_returns_where_stable_is_filled_up_late(style: str) -> None:
    """Its own controller had given everything to the new revision; stable has half when the new pods are gone."""
    world = at_step_1(style)
    for replicas in (0, 10):
        world.people.edit(KEY, replicas=replicas)
        for _ in range(8):
            world.tick()
    assert sizes_of(world) == {"v2": 10}
    world.run_until(lambda: size(world, "v2") == 0)
    assert size(world, "v1") < 10
    new = most(world, "v2")
    is_behind(world)
    world.rest()
    assert new() == 2
    assert sizes_of(world) == {"v1": 8 if style == "partition" else 10, "v2": 2}
