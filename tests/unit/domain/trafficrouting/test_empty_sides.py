"""No share of a shared route stays with a version without ready pods."""

import pytest

from controller.api.quantity import IntOrPercent
from controller.api.rollout import Phase
from controller.domain import reasons
from controller.domain.rollout.words.release_value import as_stored
from tests.unit.builders import make_steps, wait
from tests.unit.domain.trafficrouting.scenes import (
    TWENTY,
    A,
    change,
    lane,
    routing_of,
    shared_world,
    stalled_reason,
)
from tests.unit.worlds import World

LANE_GRACE = 2


def at_its_step(style: str) -> World:
    world = shared_world("a", routing=lane("a", strategy=TWENTY), style=style)
    change(world, A)
    world.rest()
    assert weights(world) == {20}
    return world


def weights(world: World) -> set[float | None]:
    return {route.plan.weight if route.plan is not None else None for route in world.routes}


def lose(world: World, *, new: bool) -> None:
    """No pod of one revision is ready any more."""
    found = world.observe(A)
    assert found is not None
    pods = as_stored(found, world.cluster.now).new_pods
    uids = {pod.metadata.uid for pod in pods}
    others = {pod.metadata.uid for pod in world.cluster.pods} - uids
    world.people.fail_pods(frozenset(uids if new else others))


def test_a_shared_route_gives_everything_to_the_side_that_lives() -> None:
    world = at_its_step("canary")
    lose(world, new=False)
    wait(world, LANE_GRACE - 0.5)
    assert weights(world) == {20}
    wait(world, 1)
    assert weights(world) == {100}
    assert stalled_reason(world, A) == reasons.SIDE_WITHOUT_ENDPOINTS
    world.people.heal()
    wait(world, LANE_GRACE - 0.5)
    assert weights(world) == {100}
    wait(world, 1)
    assert weights(world) == {20}
    assert stalled_reason(world, A) == ""


def test_a_shared_route_is_shut_after_the_grace_period_and_no_sooner() -> None:
    world = at_its_step("canary")
    lose(world, new=True)
    wait(world, LANE_GRACE - 0.5)
    assert weights(world) == {20}
    wait(world, 1)
    assert weights(world) == {None}
    assert stalled_reason(world, A) == reasons.SIDE_WITHOUT_ENDPOINTS
    world.people.heal()
    wait(world, LANE_GRACE - 0.5)
    assert weights(world) == {None}
    wait(world, 1)
    assert weights(world) == {20}


def test_a_shared_route_does_not_move_for_a_moment_without_ready_pods() -> None:
    world = at_its_step("canary")
    seen_weights: list[set[float | None]] = []
    world.watchers.append(lambda: seen_weights.append(weights(world)))
    for new in (True, False):
        lose(world, new=new)
        wait(world, LANE_GRACE - 1)
        world.people.heal()
        wait(world, 2 * LANE_GRACE)
    assert all(found == {20} for found in seen_weights)


def test_a_member_that_leaves_shuts_its_shared_route_at_once_though_its_pods_were_lost() -> None:
    world = at_its_step("canary")
    lose(world, new=True)
    wait(world, LANE_GRACE / 2)
    world.cluster.rollouts.delete(A)
    world.tick()
    world.pass_over(A)
    wait(world, 0.1)
    assert weights(world) == {None}


@pytest.mark.parametrize("last", ["100%", 3, "99%"], ids=str)
def test_a_step_that_replaces_every_pod_is_no_trouble_of_the_trafficrouting(
    last: IntOrPercent,
) -> None:
    world = shared_world(
        "a",
        routing=lane("a", strategy=TWENTY),
        style="partition",
        steps=make_steps(1, last, traffic=False),
    )
    reasons_seen: set[str] = set()
    world.watchers.append(lambda: reasons_seen.add(stalled_of_lane(world)))
    change(world, A)
    world.rest()
    world.people.approve(A)
    world.rest()
    found = world.observe(A)
    assert found is not None
    assert len(as_stored(found, world.cluster.now).new_pods) == 3
    wait(world, 10)
    assert reasons_seen == {""}


@pytest.mark.parametrize("style", ["canary", "partition"])
def test_a_release_that_succeeds_is_no_trouble_of_the_trafficrouting(style: str) -> None:
    world = shared_world("a", routing=lane("a", strategy=TWENTY), style=style)
    reasons_seen: set[str] = set()
    world.watchers.append(lambda: reasons_seen.add(stalled_of_lane(world)))
    change(world, A)
    for _ in range(4):
        world.rest()
        world.people.approve(A)
    wait(world, 30)
    assert world.cluster.rollouts[A].status.phase == Phase.HEALTHY
    assert reasons_seen == {""}


def stalled_of_lane(world: World) -> str:
    conditions = routing_of(world).status.conditions
    return next((each.reason for each in conditions if each.status == "True"), "")
