"""A shared route is open for a new member only when its gateways have taken it; members that leave never wait."""

from controller.api.rollout import Phase, StepState
from controller.domain import reasons
from controller.simulation.state import resource_of_kind
from tests.unit.builders import wait
from tests.unit.domain.trafficrouting.scenes import (
    A,
    B,
    change,
    led,
    routing_of,
    shared_world,
    stalled_reason,
    state,
)
from tests.unit.worlds import API_VERSIONS, World

KIND = "VirtualService"


def report(world: World, name: str, says: object) -> None:
    """The gateway writes its status about the object as it is now."""
    found = world.raw_route(A.namespace, KIND, name)
    assert found is not None
    metadata = found["metadata"]
    assert isinstance(metadata, dict)
    resource = resource_of_kind(API_VERSIONS[KIND], KIND)
    status = {"generation": metadata.get("generation", 0), "says": says}
    key = A if name == "a" else B
    place = (resource.group, resource.plural)
    world.cluster.server.storage.put(place, key, {**found, "status": status})


def begun(*names: str) -> World:
    """A release of `a`, whose shared route is written; its gateway has not looked at it."""
    world = shared_world(*names)
    world.scripts.confirming.add(KIND)
    for name in names:
        report(world, name, True)
    world.rest()
    change(world, A)
    wait(world, 60)
    assert "a" in led(world)
    return world


def test_a_member_waits_until_the_gateway_has_taken_the_shared_route() -> None:
    world = begun("a")
    assert state(world, A) == StepState.STEP_TRAFFIC_ROUTING
    assert "is not yet taken by its gateway" in world.cluster.rollouts[A].status.message
    assert not any(member.routed for member in routing_of(world).status.members)
    report(world, "a", True)
    wait(world, 30)
    assert state(world, A) == StepState.STEP_PAUSED
    assert all(member.routed for member in routing_of(world).status.members)


def test_a_gateway_that_refuses_a_shared_route_stalls_the_member_before_its_step_is_over() -> None:
    world = begun("a")
    report(world, "a", {"refused": "no such port"})
    wait(world, 600)
    assert state(world, A) == StepState.STEP_TRAFFIC_ROUTING
    assert stalled_reason(world, A) == reasons.ROUTE_REFUSED_BY_GATEWAY
    assert "no such port" in routing_of(world).status.message


def test_a_member_that_rolls_back_never_waits_for_a_gateway() -> None:
    world = begun("a", "b")
    report(world, "a", {"refused": "no such port"})
    wait(world, 5)
    change(world, A, "v1")
    wait(world, 120)
    assert world.cluster.rollouts[A].status.phase == Phase.HEALTHY
    assert led(world) == []


def test_a_routed_member_stays_routed_while_another_waits_for_a_gateway() -> None:
    world = begun("a", "b")
    report(world, "a", True)
    wait(world, 30)
    assert state(world, A) == StepState.STEP_PAUSED
    change(world, B)
    wait(world, 60)
    routed = {member.rollout: member.routed for member in routing_of(world).status.members}
    assert routed == {"a": True, "b": False}
    change(world, A, "v1")
    wait(world, 120)
    assert world.cluster.rollouts[A].status.phase == Phase.HEALTHY
