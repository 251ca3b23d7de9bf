"""A problem of a TrafficRouting stalls the releases that share its routes, and no others."""

from datetime import timedelta

from msgspec import structs

from controller.api.rollout import StepState
from controller.domain import reasons
from controller.domain.rollout.words.status import condition
from controller.simulation.cluster import RETRY
from tests.unit.builders import wait
from tests.unit.domain.trafficrouting.scenes import (
    TWENTY,
    A,
    B,
    change,
    led,
    routing_of,
    shared_world,
    stalled_reason,
    state,
)
from tests.unit.worlds import World

WRITES = ("update", "virtualservices")


def begun(*names: str) -> World:
    """A release of `a` that waits for an approval; its shared route is open."""
    world = shared_world(*(names or ("a",)))
    change(world, A)
    world.rest()
    assert state(world, A) == StepState.STEP_PAUSED
    return world


def fight(world: World, times: int = 3) -> None:
    """Another writer replaces the shared objects every ten seconds; the third time they are left to it."""
    for _ in range(times):
        world.run_to(world.cluster.now + timedelta(seconds=8))
        world.replace_routes()
        world.run_to(world.cluster.now + timedelta(seconds=2))


def test_another_writers_shared_route_stalls_a_release_that_waits_for_an_approval() -> None:
    world = begun()
    fight(world)
    assert stalled_reason(world, A) == reasons.ROUTE_HELD
    found = condition(world.cluster.rollouts[A].status, "Stalled")
    assert found is not None
    assert "two writers must not fight" in found.message


def test_an_approval_does_not_pass_a_held_shared_route() -> None:
    world = begun()
    fight(world)
    world.people.approve(A)
    world.run_to(world.cluster.now + timedelta(seconds=5))
    assert world.cluster.rollouts[A].status.current_step_index == 1
    assert stalled_reason(world, A) == reasons.ROUTE_HELD


def test_a_step_that_has_begun_waits_for_a_held_shared_route() -> None:
    world = begun()
    fight(world, 2)
    world.run_to(world.cluster.now + timedelta(seconds=8))
    world.people.approve(A)
    world.run_until(lambda: state(world, A) == StepState.STEP_UPGRADE)
    world.replace_routes()
    world.run_to(world.cluster.now + timedelta(seconds=20))
    assert (state(world, A), stalled_reason(world, A)) == (
        StepState.STEP_TRAFFIC_ROUTING,
        reasons.ROUTE_HELD,
    )


def test_the_release_waits_for_its_approval_again_when_the_fight_is_over() -> None:
    world = begun()
    fight(world)
    wait(world, 6 * 60)
    assert (stalled_reason(world, A), led(world)) == ("", ["a"])
    assert state(world, A) == StepState.STEP_PAUSED


def test_a_refused_write_of_a_shared_route_stalls_a_release_that_waits_for_an_approval() -> None:
    world = begun()
    world.cluster.server.forbidden.add(WRITES)
    changed = structs.replace(routing_of(world).spec, strategy=TWENTY)
    world.cluster.traffic_routings.put(structs.replace(routing_of(world), spec=changed))
    world.rest()
    assert stalled_reason(world, A) == "Forbidden"
    world.cluster.server.forbidden.clear()
    wait(world, RETRY.total_seconds() + 60)
    assert stalled_reason(world, A) == ""


def test_a_route_that_is_refused_to_a_newcomer_stalls_no_other_release() -> None:
    world = begun("a", "b")
    world.cluster.server.forbidden.add(WRITES)
    change(world, B)
    world.rest()
    assert [member.rollout for member in routing_of(world).status.members] == ["a"]
    assert (stalled_reason(world, B), state(world, B)) == ("Forbidden", "BeforeStepUpgrade")
    assert (stalled_reason(world, A), state(world, A)) == ("", StepState.STEP_PAUSED)
