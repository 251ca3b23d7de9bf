"""Old pods go only after the gateways have taken the routes, where their kinds say so."""

import pytest
from msgspec import structs

from controller.api.rollout import StepState
from controller.domain import reasons
from controller.domain.rollout.words.status import condition
from controller.simulation.state import resource_of_kind
from tests.unit.builders import (
    GRACE,
    KEY,
    NAMESPACE,
    make_rollout,
    make_strategy,
    make_world,
    ours_of,
    release,
    sizes_of,
    status_of,
    wait,
    weight_of,
)
from tests.unit.worlds import API_VERSIONS, World

KIND = "VirtualService"
STYLES = ("partition", "canary")


def report(world: World, says: object, *, generation: int | None = None) -> None:
    """The gateway writes its status about the object as it is now, or as it was at a generation."""
    found = world.raw_route(NAMESPACE, KIND, "web")
    assert found is not None
    metadata = found["metadata"]
    assert isinstance(metadata, dict)
    about = metadata.get("generation", 0) if generation is None else generation
    resource = resource_of_kind(API_VERSIONS[KIND], KIND)
    changed = {**found, "status": {"generation": about, "says": says}}
    world.cluster.server.storage.put((resource.group, resource.plural), KEY, changed)


def reported_world(style: str) -> World:
    """A gateway has taken the owner's own object."""
    strategy = make_strategy(style=style)
    world = make_world(make_rollout(strategy=strategy))
    world.scripts.confirming.add(KIND)
    report(world, True)
    world.rest()
    return world


def routed(style: str) -> World:
    """The routes of the first step are written, and the gateway has not looked at them."""
    world = reported_world(style)
    release(world)
    wait(world, 5 * GRACE)
    assert weight_of(world) == 20
    return world


def old_pods(world: World) -> int:
    return sizes_of(world).get("v1", 0)


@pytest.mark.parametrize("style", STYLES)
def test_a_step_waits_until_the_gateway_has_taken_its_routes(style: str) -> None:
    world = routed(style)
    before = old_pods(world)
    assert ours_of(world).state == StepState.STEP_TRAFFIC_ROUTING
    message = status_of(world).message
    assert f"VirtualService {NAMESPACE}/web" in message
    assert "is not yet taken by its gateway" in message
    wait(world, 1000)
    assert old_pods(world) == before
    report(world, True)
    wait(world, 5 * GRACE)
    assert ours_of(world).state == StepState.STEP_PAUSED


@pytest.mark.parametrize("style", STYLES)
def test_a_gateway_that_refuses_its_object_stalls_the_release_before_old_pods_go(
    style: str,
) -> None:
    world = routed(style)
    before = old_pods(world)
    report(world, {"refused": "Service web-canary has no port 81"})
    wait(world, 1000)
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert (stalled.status, stalled.reason) == ("True", reasons.ROUTE_REFUSED_BY_GATEWAY)
    assert "Service web-canary has no port 81" in stalled.message
    assert old_pods(world) == before
    report(world, True)
    wait(world, 5 * GRACE)
    assert ours_of(world).state == StepState.STEP_PAUSED


@pytest.mark.parametrize("answer", [{"wait": "busy"}, {"refused": "no"}])
@pytest.mark.parametrize("style", STYLES)
def test_a_rollback_never_waits_for_a_gateway(style: str, answer: object) -> None:
    world = routed(style)
    report(world, answer)
    wait(world, 5)
    release(world, "v1")
    wait(world, 20 * GRACE)
    assert status_of(world).phase == "Healthy"
    assert weight_of(world) is None
    assert old_pods(world) == 10


@pytest.mark.parametrize("style", STYLES)
def test_an_object_on_which_nobody_reports_is_not_waited_for(style: str) -> None:
    strategy = make_strategy(style=style)
    world = make_world(make_rollout(strategy=strategy))
    world.scripts.confirming.add(KIND)
    release(world)
    wait(world, 10 * GRACE)
    assert ours_of(world).state == StepState.STEP_PAUSED
    assert world.scripts.questions == 0


@pytest.mark.parametrize("style", STYLES)
def test_the_deadline_counts_while_a_gateway_does_not_answer(style: str) -> None:
    strategy = structs.replace(make_strategy(style=style), progress_deadline_seconds=120)
    world = make_world(make_rollout(strategy=strategy))
    world.scripts.confirming.add(KIND)
    report(world, True)
    release(world)
    wait(world, 600)
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert (stalled.status, stalled.reason) == ("True", reasons.DEADLINE_EXCEEDED)
    assert "is not yet taken by its gateway" in stalled.message
    report(world, True)
    wait(world, 5 * GRACE)
    assert ours_of(world).state == StepState.STEP_PAUSED


@pytest.mark.parametrize("style", STYLES)
def test_a_gateway_that_refuses_during_the_removal_of_old_pods_stops_it(style: str) -> None:
    world = routed(style)
    report(world, True)
    wait(world, 1)
    before = old_pods(world)
    report(world, {"refused": "no"})
    wait(world, 1000)
    assert old_pods(world) == before
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert (ours_of(world).state == StepState.STEP_PAUSED) or stalled.status == "True"
