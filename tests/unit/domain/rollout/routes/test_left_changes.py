"""A change that is left in an object which others name: these others lead everything to the stable revision."""

import pytest
from msgspec import structs

from controller.api.jsontree import changed, child
from controller.api.meta import Key
from controller.api.names import DRIFT
from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.rollout.routes.restoring import lead_away_from_a_left_change
from controller.domain.rollout.words.release_value import as_stored
from controller.domain.rollout.words.status import condition
from controller.domain.traffic.drift.policy import Drift
from controller.simulation.state import resource_of_kind
from tests.unit.builders import KEY, NAMESPACE, NOW, status_of, wait, weight_of
from tests.unit.domain.rollout.routes.test_restoring import (
    ISTIO,
    POINTED_AT,
    POINTS,
    underway,
)
from tests.unit.worlds import World

STYLES = pytest.mark.parametrize("style", ["partition", "canary", "blue-green"])
FIGHT, HOLD = "fight", "hold"
WAYS = pytest.mark.parametrize("way", [FIGHT, HOLD])


def edit(world: World, kind: str, *path: str, value: object) -> None:
    """Somebody writes one field of a gateway object."""
    found = world.raw_route(NAMESPACE, kind, "web")
    assert found is not None
    resource = resource_of_kind(ISTIO, kind)
    place = (resource.group, resource.plural)
    world.cluster.server.storage.put(place, Key(NAMESPACE, "web"), changed(found, path, value))


def takes_what_others_name(world: World, kind: str, way: str) -> None:
    """Another writer changes our part of an object until the change is left."""
    if way == HOLD:
        edit(world, kind, "metadata", "annotations", DRIFT, value="hold")
    field, value = ("canaryService", "elsewhere") if kind == POINTED_AT else ("canaryWeight", 21)
    for _ in range(1 if way == HOLD else 3):
        edit(world, kind, "spec", "plan", field, value=value)
        world.tick()
        wait(world, 5)
    assert stall(world)[0] == reasons.ROUTE_HELD


def puts_it_right(world: World, kind: str) -> None:
    edit(world, kind, "spec", "plan", "canaryService", value="web-canary")
    world.rest()
    wait(world, 30)


def stall(world: World) -> tuple[str, str]:
    found = condition(status_of(world), "Stalled")
    is_true = found is not None and found.status == "True"
    return (found.reason, found.message) if found is not None and is_true else ("", "")


def is_led(world: World, kind: str) -> bool:
    found = world.raw_route(NAMESPACE, kind, "web")
    return "plan" in child(found or {}, "spec")


@STYLES
@WAYS
def test_objects_that_name_it_lead_to_stable_until_it_is_right_again(style: str, way: str) -> None:
    world = underway(style)
    weight = weight_of(world)
    assert weight
    takes_what_others_name(world, POINTED_AT, way)
    wait(world, 30)
    assert not is_led(world, POINTS)
    assert "until then all requests go to the stable revision" in stall(world)[1]
    puts_it_right(world, POINTED_AT)
    assert stall(world) == ("", "")
    assert is_led(world, POINTS)
    assert weight_of(world) == weight
    assert not [note for note in world.passes.notes if " replaced " in note.message]


def test_after_a_fight_both_follow_the_step_again_by_themselves() -> None:
    world = underway()
    takes_what_others_name(world, POINTED_AT, FIGHT)
    wait(world, 400)
    world.rest()
    assert stall(world) == ("", "")
    assert is_led(world, POINTS)


@WAYS
def test_a_change_of_the_object_that_names_others_is_left_as_it_is(way: str) -> None:
    world = underway()
    takes_what_others_name(world, POINTS, way)
    wait(world, 30)
    assert is_led(world, POINTS)
    assert "until then" not in stall(world)[1]


def test_the_share_stays_where_no_stable_pod_could_take_it() -> None:
    seen = underway().observe(KEY)
    assert seen is not None
    assert seen.workload is not None
    drift = Drift(held=Refusal(reasons.ROUTE_HELD, "left"), names_nothing=True)
    actions, problem = lead_away_from_a_left_change(as_stored(seen, NOW), drift)
    assert actions
    assert problem != drift.held
    new = as_stored(seen, NOW).new_pods
    without = structs.replace(seen, workload=structs.replace(seen.workload, pods=new))
    found = lead_away_from_a_left_change(as_stored(without, NOW), drift)
    assert found == ((), drift.held)
