"""Shared routes of partition style wait for stable pods, as a Rollout's own routes do."""

import pytest

from tests.unit.builders import make_steps, template, wait
from tests.unit.domain.trafficrouting.scenes import (
    TWENTY,
    A,
    approve,
    change,
    lane,
    led,
    shared_world,
)
from tests.unit.worlds import World


def at_step_2(*steps: str) -> World:
    world = shared_world(
        "a",
        routing=lane("a", strategy=TWENTY),
        style="partition",
        replicas=10,
        steps=make_steps(*steps, traffic=False),
    )
    change(world, A)
    world.rest()
    approve(world, A)
    assert led(world) == ["a"]
    return world


def ready(world: World) -> tuple[int, int]:
    """Ready pods of v1, and of all revisions."""
    pods = [p for p in world.cluster.pods if p.ready_since and not p.metadata.deleting]
    stable = world.cluster.revision_of(template("v1", {"app": "a"}))
    return sum(pod.revision == stable for pod in pods), len(pods)


@pytest.mark.parametrize("version", ["v1", "v3"], ids=["rollback", "third revision"])
def test_a_shared_route_stays_open_until_two_thirds_of_the_stable_pods_are_ready(
    version: str,
) -> None:
    world = at_step_2("20%", "80%", "90%")
    change(world, A, version)
    world.run_until(lambda: not led(world))
    assert ready(world)[0] >= 7


@pytest.mark.parametrize("version", ["v1", "v3"], ids=["rollback", "third revision"])
def test_pods_that_a_shared_route_led_to_go_within_the_owners_limits(version: str) -> None:
    world = at_step_2("20%", "80%", "90%")
    fewest: list[int] = []
    world.watchers.append(lambda: fewest.append(ready(world)[1]))
    change(world, A, version)
    world.rest()
    # The owner's maxUnavailable is 25 %.
    assert min(fewest) >= 8


def test_a_rollback_without_a_stable_pod_does_not_close_the_shared_route_at_once() -> None:
    world = at_step_2("20%", "100%", "100%")
    assert ready(world) == (0, 10)
    change(world, A, "v1")
    world.run_until(lambda: not led(world))
    assert ready(world)[0] >= 7
    wait(world, 30)
    world.rest()
    assert ready(world) == (10, 10)
