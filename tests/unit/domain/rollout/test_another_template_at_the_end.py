"""A Rollout is deleted or disabled, and another template comes at once, before any pass has seen either.

Why: the step's partition stayed in force for the other template. An Advanced DaemonSet replaced its last two stable
pods, while half of the requests were still sent to them.
"""

from collections.abc import Callable

import pytest

from tests.unit.builders import (
    KEY,
    make_rollout,
    make_set_world,
    make_step,
    make_strategy,
    make_world,
    release,
    release_set,
    sizes_of,
    versions_of,
    wait,
    weight_of,
)
from tests.unit.domain.rollout.scenes import approve, history
from tests.unit.worlds import World

STEPS = (make_step("20%", "20%"), make_step("50%", "50%"))


def delete(world: World) -> None:
    world.cluster.rollouts.delete(KEY)


def disable(world: World) -> None:
    world.people.disable(KEY)


GIVEN_UP = pytest.mark.parametrize("give_up", [delete, disable])


def is_answered(world: World) -> bool:
    """Every Service that gets requests has a ready pod."""
    ready = {
        pod.metadata.labels.get(label)
        for pod in world.cluster.pods
        if pod.ready_since is not None and not pod.metadata.deleting
        for label in ("pod-template-hash", "controller-revision-hash")
    }
    pins = {
        value
        for service in world.cluster.services
        for label, value in service.spec.selector.items()
        if label.endswith("-hash")
    }
    return weight_of(world) is None or pins <= ready


@GIVEN_UP
@pytest.mark.parametrize("which", ["StatefulSet", "CloneSet", "DaemonSet", "Advanced DaemonSet"])
def test_a_set_replaces_no_pod_before_the_routes_have_left(
    which: str, give_up: Callable[[World], None]
) -> None:
    world = make_set_world(which, strategy=make_strategy(steps=STEPS))
    release_set(world)
    world.rest()
    approve(world)
    assert weight_of(world) == 50
    seen = history(world, lambda: is_answered(world))
    give_up(world)
    release_set(world, "v3")
    before = versions_of(world)
    for _ in range(3):
        world.tick()
    assert versions_of(world) == before
    world.rest()
    wait(world, 60)
    assert set(versions_of(world)) == {"v3"}
    assert seen == [True]


@GIVEN_UP
@pytest.mark.parametrize("style", ["partition", "canary"])
def test_a_deployment_keeps_a_stable_pod_until_the_routes_have_left(
    style: str, give_up: Callable[[World], None]
) -> None:
    world = make_world(make_rollout(style=style, steps=STEPS))
    release(world)
    world.rest()
    approve(world)
    seen = history(world, lambda: is_answered(world))
    give_up(world)
    release(world, "v3")
    for _ in range(3):
        world.tick()
    world.rest()
    wait(world, 60)
    assert sizes_of(world) == {"v3": 10}
    assert not world.cluster.deployments[KEY].spec.paused
    assert seen == [True]
