"""Before the first pod of a release that shares routes, the API server is asked whether it accepts them."""

import pytest
from msgspec import structs

from controller.api.meta import Key
from controller.api.rollout import StepState
from controller.domain.conditions import find_condition
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.trafficrouting.seen import joined
from controller.simulation.cluster import RETRY
from tests.unit.builders import NAMESPACE, wait
from tests.unit.domain.trafficrouting.scenes import (
    A,
    change,
    lane,
    led,
    routing_of,
    shared_world,
    stalled_reason,
    state,
)
from tests.unit.worlds import World

WRITES = ("update", "virtualservices")


def versions(world: World, key: Key) -> set[str]:
    """The revisions of a workload's pods."""
    return {
        pod.revision for pod in world.cluster.pods if pod.metadata.labels.get("app") == key.name
    }


def refused(*names: str) -> World:
    """A release of `a`, while the API server refuses every write of a VirtualService."""
    world = shared_world(*(names or ("a",)))
    world.cluster.server.forbidden.add(WRITES)
    change(world, A)
    world.rest()
    return world


def test_a_refused_shared_route_stops_a_release_before_its_first_pod() -> None:
    world = refused()
    assert len(versions(world, A)) == 1
    assert len(list(world.cluster.deployments)) == 1
    assert (state(world, A), stalled_reason(world, A)) == ("BeforeStepUpgrade", "Forbidden")
    found = find_condition(routing_of(world).status.conditions, "Stalled")
    assert found is not None
    assert (found.status, found.reason) == ("True", "Forbidden")
    assert "VirtualService shop/a" in found.message
    assert routing_of(world).status.members == ()


def test_the_release_begins_when_the_shared_route_is_accepted() -> None:
    world = refused()
    world.cluster.server.forbidden.clear()
    wait(world, RETRY.total_seconds() + 60)
    assert (state(world, A), stalled_reason(world, A)) == (StepState.STEP_PAUSED, "")
    assert led(world) == ["a"]


def test_a_route_that_is_refused_after_its_rehearsal_stops_the_step_that_waits_for_it() -> None:
    world = shared_world("a")
    change(world, A)
    world.run_until(lambda: bool(routing_of(world).status.members))
    world.cluster.server.forbidden.add(WRITES)
    world.rest()
    assert (state(world, A), stalled_reason(world, A)) == (
        StepState.STEP_TRAFFIC_ROUTING,
        "Forbidden",
    )
    world.cluster.server.forbidden.clear()
    wait(world, RETRY.total_seconds() + 60)
    assert (state(world, A), stalled_reason(world, A)) == (StepState.STEP_PAUSED, "")


def test_a_rehearsal_writes_nothing() -> None:
    world = shared_world("a")
    before = world.raw_route(NAMESPACE, "VirtualService", "a")
    change(world, A)
    world.run_until(lambda: bool(routing_of(world).status.members))
    assert [member.routed for member in routing_of(world).status.members] == [False]
    assert world.raw_route(NAMESPACE, "VirtualService", "a") == before
    assert len(versions(world, A)) == 1


def test_a_refused_release_can_be_taken_back() -> None:
    world = refused()
    change(world, A, "v1")
    world.rest()
    assert (state(world, A), stalled_reason(world, A)) == (StepState.COMPLETED, "")
    assert routing_of(world).status.phase == "Healthy"
    found = find_condition(routing_of(world).status.conditions, "Stalled")
    assert found is not None
    assert found.status == "False"


def test_an_object_of_a_service_without_pods_of_the_release_stops_nothing() -> None:
    world = shared_world("a", routing=lane("a", "b"))
    change(world, A)
    world.run_until(lambda: bool(routing_of(world).status.members))
    assert stalled_reason(world, A) == ""


def restored_for_a_third_revision(style: str) -> World:
    """A release of `a` at its first pause gets a third revision; its shared route has just been closed."""
    world = shared_world("a", style=style)
    change(world, A)
    world.rest()
    change(world, A, "v3")
    world.run_until(lambda: not joined(routing_of(world)) and led(world) == [])
    return world


@pytest.mark.parametrize("style", ["canary", "partition"])
def test_the_routes_of_a_third_revision_are_tried_before_its_first_pod(style: str) -> None:
    world = restored_for_a_third_revision(style)
    world.cluster.server.forbidden.add(WRITES)
    world.rest()
    assert (state(world, A), stalled_reason(world, A)) == ("BeforeStepUpgrade", "Forbidden")
    assert len(versions(world, A)) == 1
    world.cluster.server.forbidden.clear()
    wait(world, RETRY.total_seconds() + 60)
    assert (state(world, A), stalled_reason(world, A)) == (StepState.STEP_PAUSED, "")
    assert led(world) == ["a"]


@pytest.mark.parametrize("style", ["canary", "partition"])
def test_a_third_revision_whose_routes_are_accepted_begins(style: str) -> None:
    world = restored_for_a_third_revision(style)
    world.rest()
    assert (state(world, A), stalled_reason(world, A)) == (StepState.STEP_PAUSED, "")
    begun = moonshift_status(world.cluster.rollouts[A].status).started_at
    assert [member.release_started_at for member in routing_of(world).status.members] == [begun]


def test_a_member_that_an_earlier_version_admitted_is_not_asked_again() -> None:
    world = shared_world("a")
    change(world, A)
    world.run_until(lambda: bool(routing_of(world).status.members))
    status = routing_of(world).status
    known = tuple(structs.replace(m, release_started_at=None) for m in status.members)
    world.cluster.traffic_routings.put(
        structs.replace(routing_of(world), status=structs.replace(status, members=known))
    )
    world.rest()
    assert (state(world, A), stalled_reason(world, A)) == (StepState.STEP_PAUSED, "")
