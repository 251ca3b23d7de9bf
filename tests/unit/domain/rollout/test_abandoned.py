"""Stable pods replace the pods of an abandoned revision before those go, where nothing divides the traffic.

Why: a person rolls a step with all pods back, and applies the next version before the old pods are ready. All pods of
the abandoned revision were removed at once: no ready pod was left until the old ones had started.
"""

from itertools import product

import pytest

from controller.api.quantity import IntOrPercent
from controller.api.rollout import StepState
from tests.unit.builders import (
    inner_of,
    make_deployment,
    make_rollout,
    make_step,
    make_world,
    release,
    revision_of,
    wait,
)
from tests.unit.domain.rollout.scenes import approve
from tests.unit.simulation.invariants import Watch
from tests.unit.worlds import World

SHARES = (("50%", "75%"), ("25%", "75%"), ("25%", "100%"))
"""Shares of the two steps before the last; the release waits at the second."""


def at_the_second_step(
    shares: tuple[str, str],
    surge: IntOrPercent = "25%",
    unavailable: IntOrPercent = "25%",
    *,
    replicas: int = 8,
    watched: bool = True,
) -> World:
    """A release without routes; `watched`: the owner's maxUnavailable is checked after each change."""
    steps = tuple(make_step(share) for share in (*shares, "100%"))
    rollout = make_rollout(style="partition", steps=steps, traffic=False)
    deployment = make_deployment(replicas=replicas, max_surge=surge, max_unavailable=unavailable)
    world = make_world(rollout, deployment)
    if watched:
        Watch(world)
    release(world)
    world.rest()
    approve(world)
    return world


def pods_of(world: World, version: str) -> int:
    revision = revision_of(world, version)
    sets = [rs for rs in world.cluster.replica_sets if rs.revision == revision]
    return sum(rs.spec.replicas for rs in sets)


@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize(("surge", "unavailable"), [("25%", "25%"), (1, 0), (0, 1)])
@pytest.mark.parametrize("replicas", [4, 5])
def test_a_third_revision_leaves_as_many_ready_pods_as_the_owner_wants(
    shares: tuple[str, str], surge: IntOrPercent, unavailable: IntOrPercent, replicas: int
) -> None:
    for between, after in product((("v3",), ("v1", "v3"), ("v3", "v4")), (0.2, 3)):
        world = at_the_second_step(shares, surge, unavailable, replicas=replicas)
        for version in between:
            release(world, version)
            wait(world, after)
        world.rest()
        assert inner_of(world).current_step_state == StepState.STEP_PAUSED
        assert inner_of(world).current_step_index == 1
        assert pods_of(world, "v2") in (0, replicas - pods_of(world, between[-1]))


def test_abandoned_pods_go_after_the_deadline_if_stable_ones_do_not_become_ready() -> None:
    world = at_the_second_step(("25%", "100%"), watched=False)
    world.people.fail_pods(frozenset({revision_of(world, "v1")}))
    release(world, "v1")
    wait(world, 1)
    release(world, "v3")
    wait(world, 599)
    assert pods_of(world, "v2") > 0
    wait(world, 3)
    assert pods_of(world, "v2") == 0
