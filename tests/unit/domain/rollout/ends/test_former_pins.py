"""A pin of a former Rollout, lost in the middle of its release, leaves no Service without a pod."""

import pytest
from msgspec import structs

from controller.api.meta import Key
from controller.api.names import PINNED, ROLLOUT_FINALIZER
from controller.api.rollout import Phase, Rollout
from controller.domain import reasons
from tests.unit.builders import (
    BLUE_GREEN,
    KEY,
    NAMESPACE,
    SETS,
    make_deployment,
    make_rollout,
    make_set_world,
    make_steps,
    make_strategy,
    make_world,
    release,
    release_set,
    status_of,
)
from tests.unit.domain.rollout.ends.test_last_endpoints import behind, lowest, to_the_end
from tests.unit.domain.rollout.scenes import pin_of
from tests.unit.worlds import World

STYLES = pytest.mark.parametrize("style", ["partition", "canary", BLUE_GREEN])
SERVICE = Key(NAMESPACE, "web")


def is_made_again(world: World, rollout: Rollout, **changes: object) -> None:
    """Its finalizer is removed by hand while it is deleted; then a Rollout of the same name is made."""
    world.cluster.rollouts.remove(KEY)
    meta = structs.replace(rollout.metadata, uid="second-uid", finalizers=(ROLLOUT_FINALIZER,))
    spec = structs.replace(rollout.spec, **changes)
    world.cluster.rollouts.put(structs.replace(rollout, metadata=meta, spec=spec))


def in_the_middle(style: str) -> tuple[World, list[int]]:
    rollout = make_rollout(style=style, steps=make_steps("25%", "50%"))
    world = make_world(rollout, make_deployment(replicas=4))
    release(world)
    world.rest()
    assert pin_of(world)
    return world, lowest(world)


def is_free(world: World, numbers: list[int]) -> None:
    """The Service is its owner's, and never lost its last pod."""
    assert pin_of(world) == ""
    assert PINNED not in world.cluster.services[SERVICE].metadata.labels
    assert behind(world) > 0
    assert min(numbers, default=1) > 0


@STYLES
def test_a_rollout_made_again_disabled_frees_the_service(style: str) -> None:
    world, numbers = in_the_middle(style)
    is_made_again(world, make_rollout(style=style), disabled=True)
    world.rest()
    assert status_of(world).phase == Phase.DISABLED
    is_free(world, numbers)


@STYLES
def test_a_rollout_made_again_and_deleted_at_once_frees_the_service(style: str) -> None:
    world, numbers = in_the_middle(style)
    is_made_again(world, make_rollout(style=style))
    world.cluster.rollouts.delete(KEY)
    world.rest()
    assert world.cluster.rollouts.get(KEY) is None
    is_free(world, numbers)


@STYLES
@pytest.mark.parametrize("disabled", [False, True], ids=["released", "disabled"])
def test_a_rollout_made_again_without_its_routes_frees_the_service(
    style: str, disabled: bool
) -> None:
    world, numbers = in_the_middle(style)
    is_made_again(world, make_rollout(style=style, traffic=False), disabled=disabled)
    world.rest()
    to_the_end(world)
    is_free(world, numbers)
    (text,) = (n.message for n in world.passes.notes if n.reason == reasons.PIN_TAKEN_OFF)
    assert f"Service {NAMESPACE}/web, Service {NAMESPACE}/web-canary: the pin" in text
    assert behind(world, "web-canary") > 0


@pytest.mark.parametrize("which", SETS)
@pytest.mark.parametrize("traffic", [True, False])
def test_a_rollout_of_a_set_of_pods_made_again_frees_the_service(which: str, traffic: bool) -> None:
    strategy = make_strategy(steps=make_steps("25%", "50%"))
    world = make_set_world(which, strategy=strategy)
    release_set(world)
    world.rest()
    assert pin_of(world)
    numbers = lowest(world)
    found = world.cluster.rollouts[KEY]
    plain = structs.replace(found, status=make_rollout().status)
    if traffic:
        is_made_again(world, plain, disabled=True)
    else:
        without = make_strategy(steps=make_steps("25%", "50%"), traffic=False)
        is_made_again(world, plain, strategy=without)
    world.rest()
    to_the_end(world)
    is_free(world, numbers)


@pytest.mark.parametrize("disabled", [False, True], ids=["at rest", "disabled"])
@pytest.mark.parametrize("traffic", [False, True], ids=["unnamed", "named"])
def test_a_pin_to_a_revision_that_has_no_pod_is_taken_off(disabled: bool, traffic: bool) -> None:
    """The workload went on by itself, so nobody is behind the Service, when the Rollout is made again."""
    world = make_world()
    world.rest()
    service = world.cluster.services[SERVICE]
    spec = structs.replace(service.spec, selector={"app": "web", "pod-template-hash": "gone"})
    meta = structs.replace(service.metadata, labels={PINNED: "true"})
    world.cluster.services.put(structs.replace(service, metadata=meta, spec=spec))
    world.rest()
    is_made_again(world, make_rollout(traffic=traffic), disabled=disabled)
    world.rest()
    assert status_of(world).phase == (Phase.DISABLED if disabled else Phase.HEALTHY)
    is_free(world, [])


def test_a_pin_is_left_alone_while_its_workload_is_gone() -> None:
    world, _ = in_the_middle("canary")
    pinned = pin_of(world)
    world.cluster.deployments.remove(KEY)
    for traffic in (True, False):
        is_made_again(world, make_rollout(style="canary", traffic=traffic), disabled=True)
        world.rest()
        assert status_of(world).phase == Phase.DISABLED
        assert pin_of(world) == pinned


def test_the_pin_of_another_rollout_is_left_alone() -> None:
    """It lives, and names the Service: a Rollout without routes takes nothing from it."""
    world, _ = in_the_middle("canary")
    pinned = pin_of(world)
    beside = make_rollout(style="canary", traffic=False)
    meta = structs.replace(beside.metadata, name="beside", uid="beside")
    world.cluster.rollouts.put(structs.replace(beside, metadata=meta))
    world.rest()
    assert pin_of(world) == pinned
    world.cluster.rollouts.delete(Key(NAMESPACE, "beside"))
    world.rest()
    assert pin_of(world) == pinned


def test_the_pin_of_pods_of_another_workload_is_left_alone() -> None:
    world, _ = in_the_middle("canary")
    world.cluster.rollouts.remove(KEY)
    pinned = pin_of(world)
    selector = {**world.cluster.services[SERVICE].spec.selector, "app": "other"}
    service = world.cluster.services[SERVICE]
    spec = structs.replace(service.spec, selector=selector)
    world.cluster.services.put(structs.replace(service, spec=spec))
    is_made = make_rollout(style="canary", traffic=False)
    world.cluster.rollouts.put(is_made)
    world.rest()
    assert pin_of(world) == pinned
