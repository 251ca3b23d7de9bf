"""The remedies that a message names for a missing object are those that are possible at that moment."""

from collections.abc import Callable

import pytest
from msgspec import structs

from controller.api.rollout import Phase, StepState
from controller.domain import reasons
from controller.domain.availability import NotServed
from controller.domain.decision import Refusal
from controller.domain.rollout.phases import decide, refused
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.status import condition, progressing, with_moonshift_status
from controller.domain.rollout.words.way_out import NEEDED_TO_GO_BACK, create_or
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    NOW,
    make_world,
    release,
    sizes_of,
    status_of,
    template,
    wait,
)
from tests.unit.domain.rollout.scenes import BOTH, in_state
from tests.unit.domain.trafficrouting.scenes import LANE, A, change, lane, shared_world
from tests.unit.worlds import World

BACK = "or go back (kubectl moonshift undo)"
CRD = "VirtualService (networking.istio.io/v1) is not served by this cluster: install its CRD"


def lose_the_route(world: World) -> None:
    world.remove_route(NAMESPACE, "VirtualService", KEY.name)


def lose_the_service(world: World) -> None:
    world.cluster.services.delete(KEY)


LOSSES = pytest.mark.parametrize("lose", [lose_the_route, lose_the_service])


def stall(world: World) -> str:
    found = condition(status_of(world), "Stalled")
    assert found is not None
    return found.message if found.status == "True" else ""


@LOSSES
def test_before_the_first_move_a_reference_may_be_corrected(lose: Callable[[World], None]) -> None:
    world = make_world()
    lose(world)
    release(world)
    world.rest()
    assert "does not exist: create it, or correct " in stall(world)


def without(lose: Callable[[World], None], style: str) -> World:
    """A release that waits in the middle, and has lost an object that it references."""
    world = in_state(StepState.STEP_PAUSED, style)
    lose(world)
    world.rest()
    return world


@BOTH
@LOSSES
def test_in_the_middle_of_a_release_an_object_can_only_be_created_again(
    lose: Callable[[World], None], style: str
) -> None:
    world = without(lose, style)
    goes_back = lose is lose_the_route
    way_out = BACK if goes_back else NEEDED_TO_GO_BACK
    assert f"does not exist: create it again, {way_out}" in stall(world)
    assert "correct" not in stall(world)
    assert ("undo" in stall(world)) == goes_back


@BOTH
def test_a_release_goes_back_without_the_missing_route(style: str) -> None:
    world = without(lose_the_route, style)
    world.people.edit(KEY, template=template("v1"))
    world.rest()
    wait(world, 60)
    assert (status_of(world).phase, sizes_of(world)) == (Phase.HEALTHY, {"v1": 10})
    assert stall(world) == ""


def test_the_crd_of_a_gateway_object_is_the_only_remedy_once_a_release_has_moved() -> None:
    world = make_world()
    world.cannot_be_read("VirtualService", NotServed(CRD))
    release(world)
    world.rest()
    assert stall(world).endswith(f"{CRD}, or correct apiVersion and kind")
    world = in_state(StepState.STEP_PAUSED, "canary")
    world.cannot_be_read("VirtualService", NotServed(CRD))
    world.rest()
    assert stall(world).endswith(CRD)


def lanes_stall(world: World) -> str:
    found = condition(world.cluster.rollouts[A].status, "Stalled")
    assert found is not None
    return found.message


def test_a_missing_trafficrouting_is_created_again_once_a_release_has_moved() -> None:
    world = shared_world("a")
    world.cluster.traffic_routings.remove(LANE)
    change(world, A)
    world.rest()
    assert "does not exist: create it, or correct trafficRoutingRef" in lanes_stall(world)
    world.cluster.traffic_routings.put(lane("a"))
    world.rest()
    world.cluster.traffic_routings.delete(LANE)
    world.rest()
    assert f"does not exist: create it again, {BACK}" in lanes_stall(world)


IN_THE_WAY = Refusal(
    reasons.OBJECT_NOT_OURS, "it exists: rename it, or use another", once_moved="it exists: rename"
)


@pytest.mark.parametrize(
    ("progress", "goal", "message"),
    [
        (reasons.INITIALIZING, "", IN_THE_WAY.message),
        (reasons.INITIALIZING, Goal.CONTINUOUS, IN_THE_WAY.once_moved),
        (reasons.IN_ROLLING, "", IN_THE_WAY.once_moved),
        (reasons.FINALISING, Goal.SUCCESS, IN_THE_WAY.once_moved),
    ],
    ids=["before the first move", "third revision", "in the middle", "at the end"],
)
def test_a_refused_write_asks_for_another_reference_only_while_admission_accepts_one(
    progress: str, goal: str, message: str
) -> None:
    world = in_state(StepState.STEP_PAUSED, "canary")
    seen = world.passes.see(KEY)
    assert seen is not None
    status = progressing(seen.rollout.status, progress, "", world.cluster.now)
    status = with_moonshift_status(status, goal=goal)
    decided = structs.replace(decide(seen, world.cluster.now), status=status)
    found = condition(refused(seen, decided, IN_THE_WAY, world.cluster.now).status, "Stalled")
    assert found is not None
    assert found.message == message


def test_a_reference_of_a_third_revision_is_not_called_correctable_while_it_is_frozen() -> None:
    status = status_of(in_state(StepState.STEP_PAUSED, "canary"))
    begun = progressing(status, reasons.INITIALIZING, "", NOW)
    assert create_or("the reference", begun) == "create it, or correct the reference"
    third = with_moonshift_status(begun, goal=Goal.CONTINUOUS)
    assert create_or("the reference", third) == f"create it again, {BACK}"
