"""No end of a release moves requests from ready pods to a Service that does not exist, or is Healthy without it."""

import pytest

from controller.api.meta import Key
from controller.api.rollout import Phase, StepState
from controller.domain import reasons
from tests.unit.builders import (
    BLUE_GREEN,
    KEY,
    NAMESPACE,
    SETS,
    make_deployment,
    make_rollout,
    make_service,
    make_set_world,
    make_steps,
    make_strategy,
    make_world,
    ours_of,
    release,
    release_set,
    status_of,
    template,
    wait,
    weight_of,
)
from tests.unit.domain.rollout.ends.test_last_endpoints import behind, problem_of, to_the_end
from tests.unit.domain.rollout.scenes import reason_of
from tests.unit.worlds import World

STYLES = pytest.mark.parametrize("style", ["partition", "canary", BLUE_GREEN])
SERVICE = Key(NAMESPACE, "web")


def at_a_step(style: str, *steps: int | str) -> World:
    """A release of v2 whose routes lead to new pods."""
    rollout = make_rollout(style=style, steps=make_steps(*(steps or ("25%", "50%"))))
    world = make_world(rollout, make_deployment(replicas=4))
    release(world)
    world.rest()
    return world


def without_its_service(world: World) -> World:
    """Somebody deletes the stable Service; all requests go to the new revision."""
    world.cluster.services.delete(SERVICE)
    world.rest()
    wait(world, 60)
    return world


def is_held_on_the_ready_side(world: World) -> None:
    """The end waits for the Service, and requests reach the pods behind its copy."""
    assert status_of(world).phase == Phase.PROGRESSING
    assert reason_of(world, "Stalled") == reasons.SERVICE_NOT_FOUND
    assert f"Service {NAMESPACE}/web does not exist" in problem_of(world)
    assert "undo" not in problem_of(world)
    assert weight_of(world) == 100
    assert behind(world, "web-canary") > 0


def is_at_the_last_step(world: World, number: int) -> bool:
    """The last step has been reached, and an only step has been approved."""
    ours = ours_of(world)
    return ours.step == number if number > 1 else ours.state == StepState.COMPLETED


def is_over(world: World, pods: int = 4) -> None:
    """With the Service, the release ends; all pods are behind it."""
    world.people.apply_service(make_service())
    world.rest()
    wait(world, 60)
    to_the_end(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert behind(world) == pods
    assert weight_of(world) is None


@STYLES
@pytest.mark.parametrize("back", ["v1", "v3"])
def test_a_rollback_keeps_the_routes_on_the_ready_side_while_the_service_is_missing(
    style: str, back: str
) -> None:
    world = without_its_service(at_a_step(style))
    world.people.edit(KEY, template=template(back))
    world.rest()
    wait(world, 1000)
    is_held_on_the_ready_side(world)
    is_over(world)


@STYLES
@pytest.mark.parametrize("steps", [("50%",), ("50%", "100%")], ids=str)
def test_a_release_does_not_succeed_while_the_service_is_missing(
    style: str, steps: tuple[str, ...]
) -> None:
    world = at_a_step(style, *steps)
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: is_at_the_last_step(world, len(steps)))
    world.cluster.services.delete(SERVICE)
    world.rest()
    wait(world, 1000)
    assert status_of(world).phase == Phase.PROGRESSING
    assert reason_of(world, "Stalled") == reasons.SERVICE_NOT_FOUND
    is_over(world)


@STYLES
@pytest.mark.parametrize("moment", range(0, 40, 3))
def test_no_end_is_reached_without_the_service_whenever_it_is_deleted(
    style: str, moment: int
) -> None:
    world = at_a_step(style, "50%")
    world.people.approve(KEY)
    for _ in range(moment):
        world.advance()
    before = status_of(world).phase
    world.cluster.services.delete(SERVICE)
    world.rest()
    wait(world, 1000)
    assert status_of(world).phase == before
    is_over(world)


@pytest.mark.parametrize("which", SETS)
@pytest.mark.parametrize("back", ["v1", "v3"])
def test_a_rollback_of_a_set_of_pods_waits_for_the_missing_service(which: str, back: str) -> None:
    world = make_set_world(which, strategy=make_strategy(steps=make_steps("25%", "50%")))
    release_set(world)
    world.rest()
    without_its_service(world)
    release_set(world, back)
    world.rest()
    wait(world, 1000)
    is_held_on_the_ready_side(world)


@STYLES
@pytest.mark.parametrize("how", ["delete", "disable"])
def test_a_rollout_that_goes_waits_ten_minutes_for_the_missing_service_and_says_so(
    style: str, how: str
) -> None:
    world = without_its_service(at_a_step(style))
    began = world.cluster.now
    if how == "disable":
        world.people.disable(KEY)
    else:
        world.cluster.rollouts.delete(KEY)
    wait(world, 300)
    assert reason_of(world, "Stalled") == reasons.SERVICE_NOT_FOUND
    assert "the Rollout goes on all the same" in problem_of(world)
    assert behind(world, "web-canary") > 0
    assert weight_of(world) == 100
    world.rest()
    assert (world.cluster.now - began).total_seconds() >= 600
    gone = world.cluster.rollouts.get(KEY) is None
    assert gone if how == "delete" else status_of(world).phase == Phase.DISABLED


@STYLES
def test_a_service_that_never_existed_holds_no_rollback(style: str) -> None:
    world = make_world(make_rollout(style=style), services=())
    release(world)
    world.rest()
    assert reason_of(world, "Stalled") == reasons.SERVICE_NOT_FOUND
    release(world, "v1")
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY


@STYLES
def test_a_missing_service_is_not_waited_for_once_the_workload_is_gone(style: str) -> None:
    world = without_its_service(at_a_step(style))
    world.cluster.deployments.delete(KEY)
    world.rest()
    assert weight_of(world) is None
    assert status_of(world).phase == Phase.INITIAL
