"""Somebody changes a release's content: it is put back twice, then left; each time the message names the writer and
the place."""

from datetime import timedelta

import pytest
from msgspec import Raw, structs

from controller.api.meta import Condition
from controller.api.rollout import Pause, Step, StepState
from controller.domain import reasons
from controller.domain.decision import Decision, EnsureRoutes, Refusal
from controller.domain.fights import RETRY_AFTER_FIGHT
from controller.domain.observation import Observation, RoutePresent
from controller.domain.rollout.phases import decide, refused
from controller.domain.rollout.words.status import condition
from controller.domain.traffic.drift.policy import DRIFTED
from tests.unit.builders import (
    KEY,
    inner_of,
    make_deployment,
    make_rollout,
    make_world,
    release,
    status_of,
)
from tests.unit.domain.rollout.scenes import approve, reason_of, started
from tests.unit.worlds import World

PLACE = "spec.http[0].route[1].weight"


def touched(world: World, **changes: object) -> Observation:
    """The observation of a pass after argocd overwrote our weight."""
    seen = world.observe(KEY)
    assert seen is not None
    given: dict[str, object] = {
        "touched": True,
        "editor": "argocd",
        "edited_at": world.cluster.now,
        "changes": (f"{PLACE} from 20 to 99",),
        "places": (PLACE,),
    } | changes
    routes = []
    for route in seen.routes:
        assert isinstance(route.state, RoutePresent)
        routes.append(structs.replace(route, state=structs.replace(route.state, **given)))
    return structs.replace(seen, routes=tuple(routes))


def decided(world: World, seen: Observation) -> Decision:
    return decide(seen, world.cluster.now)


def condition_of(decision: Decision, kind: str) -> tuple[str, str, str]:
    found = condition(decision.status, kind)
    assert found is not None
    return found.status, found.reason, found.message


def test_a_release_that_has_ended_says_nothing_of_drift() -> None:
    world = started()
    world.touch_routes()
    world.rest()
    assert reason_of(world, DRIFTED) == reasons.ROUTE_PUT_BACK
    approve(world)
    approve(world)
    assert status_of(world).phase == "Healthy"
    assert condition(status_of(world), DRIFTED) is None


def test_the_first_change_is_put_back_and_reported() -> None:
    world = started()
    decision = decided(world, touched(world))
    (action,) = decision.actions
    assert isinstance(action, EnsureRoutes)
    assert action.at == world.cluster.now
    (note,) = decision.notes
    assert note.reason == reasons.ROUTE_PUT_BACK
    assert "argocd changed VirtualService" in note.message
    assert f"{PLACE} from 20 to 99" in note.message
    assert condition_of(decision, DRIFTED)[:2] == ("False", reasons.ROUTE_PUT_BACK)


def test_the_same_place_is_put_back_a_second_time_within_a_minute() -> None:
    world = started()
    before = world.cluster.now - timedelta(seconds=30)
    seen = touched(world, corrected=(PLACE,), corrected_at=before)
    assert any(isinstance(a, EnsureRoutes) for a in decided(world, seen).actions)


def test_the_same_place_a_third_time_within_a_minute_is_left_and_the_release_stops() -> None:
    world = started()
    last = world.cluster.now - timedelta(seconds=10)
    before = world.cluster.now - timedelta(seconds=50)
    seen = touched(world, corrected=(PLACE,), corrected_at=last, corrected_before=before)
    decision = decided(world, seen)
    assert decision.actions == ()
    assert condition_of(decision, DRIFTED)[:2] == ("True", reasons.ROUTE_HELD)
    status, reason, message = condition_of(decision, "Stalled")
    assert (status, reason) == ("True", reasons.ROUTE_HELD)
    assert "argocd" in message
    assert decision.wake_at == world.cluster.now + RETRY_AFTER_FIGHT


def test_a_held_route_is_tried_again_when_the_time_is_over() -> None:
    world = started()
    early = world.cluster.now - RETRY_AFTER_FIGHT
    seen = touched(
        world,
        corrected=(PLACE,),
        corrected_at=early - timedelta(seconds=9),
        corrected_before=early - timedelta(seconds=20),
        edited_at=early,
    )
    assert any(isinstance(a, EnsureRoutes) for a in decided(world, seen).actions)


def test_another_place_or_a_later_change_is_no_fight() -> None:
    world = started()
    before = world.cluster.now - timedelta(seconds=30)
    elsewhere = touched(
        world, corrected=("spec.hosts",), corrected_at=before, corrected_before=before
    )
    assert any(isinstance(a, EnsureRoutes) for a in decided(world, elsewhere).actions)
    long_ago = world.cluster.now - timedelta(minutes=2)
    later = touched(world, corrected=(PLACE,), corrected_at=before, corrected_before=long_ago)
    assert any(isinstance(a, EnsureRoutes) for a in decided(world, later).actions)


def test_an_owners_hold_annotation_stops_the_release_at_once() -> None:
    world = started()
    decision = decided(world, touched(world, held=True, editor="", changes=()))
    assert decision.actions == ()
    assert "somebody changed" in condition_of(decision, "Stalled")[2]
    assert decision.wake_at is None


def test_a_timed_pause_still_ends_while_a_change_is_held() -> None:
    steps = (Step(replicas=2, traffic="20%", pause=Pause(30)), Step(replicas="50%"))
    world = make_world(make_rollout(steps=steps), make_deployment())
    release(world)
    world.run_until(lambda: inner_of(world).current_step_state == StepState.STEP_PAUSED)
    before = world.cluster.now - timedelta(seconds=1)
    seen = touched(world, corrected=(PLACE,), corrected_at=before, corrected_before=before)
    decision = decided(world, seen)
    assert decision.wake_at is not None
    assert decision.wake_at <= world.cluster.now + timedelta(seconds=30)


def test_the_next_step_does_not_overwrite_a_held_change() -> None:
    world = started(
        steps=(
            Step(replicas=2, traffic="20%", pause=Pause(0)),
            Step(replicas=4, traffic="40%"),
            Step(replicas=5, traffic="50%"),
        )
    )
    status = world.cluster.rollouts[KEY].status
    assert inner_of(world).current_step_index == 2
    position = status.moonshift
    routing = structs.replace(position, state=StepState.STEP_TRAFFIC_ROUTING)  # type: ignore[type-var]
    world.cluster.rollouts.put(
        structs.replace(
            world.cluster.rollouts[KEY], status=structs.replace(status, moonshift=routing)
        )
    )
    decision = decided(world, touched(world, held=True))
    assert not any(isinstance(action, EnsureRoutes) for action in decision.actions)
    assert condition_of(decision, "Stalled")[1] == reasons.ROUTE_HELD


def test_the_condition_reports_a_reverted_change() -> None:
    world = started()
    held = decided(world, touched(world, held=True))
    world.cluster.rollouts.put(structs.replace(world.cluster.rollouts[KEY], status=held.status))
    seen = world.observe(KEY)
    assert seen is not None
    again = decided(world, seen)
    assert condition_of(again, DRIFTED)[:2] == ("False", reasons.ROUTES_AS_WRITTEN)
    assert condition_of(again, "Stalled")[0] == "False"


def replaced(world: World, *before: Condition) -> Observation:
    """The observation of a pass after somebody replaced the object by its owner's manifest."""
    seen = world.observe(KEY)
    assert seen is not None
    raw = Raw(b'{"metadata":{"managedFields":[{"manager":"kubectl-replace","time":"2026-01-01"}]}}')
    routes = tuple(structs.replace(route, state=RoutePresent(raw=raw)) for route in seen.routes)
    status = seen.rollout.status
    others = tuple(one for one in status.conditions if one.type != DRIFTED)
    status = structs.replace(status, conditions=(*others, *before))
    rollout = structs.replace(seen.rollout, status=status)
    return structs.replace(seen, routes=routes, rollout=rollout)


def drifted(world: World, reason: str, seconds: float, value: str = "False") -> Condition:
    """The condition as it was set so many seconds ago."""
    at = world.cluster.now - timedelta(seconds=seconds)
    return Condition(DRIFTED, value, reason, "x", last_update_time=at, last_transition_time=at)


def test_a_replaced_object_is_written_again_and_its_editor_is_named() -> None:
    world = started()
    decision = decided(world, replaced(world))
    assert any(isinstance(action, EnsureRoutes) for action in decision.actions)
    (note,) = decision.notes
    assert note.reason == reasons.ROUTE_PUT_BACK
    assert "kubectl-replace replaced VirtualService" in note.message
    assert condition_of(decision, DRIFTED)[:2] == ("False", reasons.ROUTE_REPLACED)


def test_a_put_back_that_is_refused_does_not_count_and_is_no_event() -> None:
    world = started()
    world.people.forbid("EnsureRoutes", Refusal("Forbidden", "may not be written"))
    world.replace_routes()
    said = set()
    for _ in range(40):
        world.cluster.now += timedelta(seconds=20)
        world.pass_over(KEY)
        said.add(reason_of(world, "Stalled"))
    assert said == {"Forbidden"}
    assert condition(status_of(world), DRIFTED) is None
    seen = world.observe(KEY)
    assert seen is not None
    decision = decide(seen, world.cluster.now)
    no = refused(seen, decision, Refusal("Forbidden", "no"), world.cluster.now, decision.actions)
    assert [note.reason for note in no.notes] == ["Forbidden"]


def test_a_refusal_after_a_put_back_leaves_it_in_the_memory() -> None:
    world = started()
    seen = replaced(world)
    decision = decided(world, seen)
    later = refused(seen, decision, Refusal("Forbidden", "no"), world.cluster.now)
    assert condition_of(later, DRIFTED)[:2] == ("False", reasons.ROUTE_REPLACED)
    assert [note.reason for note in later.notes] == [reasons.ROUTE_PUT_BACK, "Forbidden"]


HELD, UNCHANGED = "held", "x"
REPLACEMENTS = {
    "the first for a long time": (reasons.ROUTE_REPLACED, 70, "False", reasons.ROUTE_REPLACED),
    "the second in a minute": (reasons.ROUTE_REPLACED, 50, "False", reasons.ROUTE_REPLACED_AGAIN),
    "the third in a minute": (reasons.ROUTE_REPLACED_AGAIN, 50, "False", HELD),
    "the third, much later": (reasons.ROUTE_REPLACED_AGAIN, 70, "False", reasons.ROUTE_REPLACED),
    "by the same command": (reasons.ROUTE_REPLACED_AGAIN, 4, "False", UNCHANGED),
    "after another change": (reasons.ROUTE_PUT_BACK, 10, "False", reasons.ROUTE_REPLACED),
    "while it is left": (reasons.ROUTE_HELD, 200, "True", HELD),
    "when five minutes are over": (reasons.ROUTE_HELD, 300, "True", reasons.ROUTE_REPLACED_AGAIN),
}


@pytest.mark.parametrize("name", REPLACEMENTS)
def test_an_object_that_is_replaced_again_and_again_is_left(name: str) -> None:
    reason, seconds, value, expected = REPLACEMENTS[name]
    world = started()
    decision = decided(world, replaced(world, drifted(world, reason, seconds, value)))
    writes = any(isinstance(action, EnsureRoutes) for action in decision.actions)
    if expected == HELD:
        assert not writes
        assert condition_of(decision, DRIFTED)[:2] == ("True", reasons.ROUTE_HELD)
        assert condition_of(decision, "Stalled")[:2] == ("True", reasons.ROUTE_HELD)
        assert decision.wake_at is not None
        left = (decision.wake_at - world.cluster.now).total_seconds()
        assert left == (100 if value == "True" else RETRY_AFTER_FIGHT.total_seconds())
    elif expected == UNCHANGED:
        assert writes
        assert condition_of(decision, DRIFTED) == (value, reason, "x")
    else:
        assert writes
        assert condition_of(decision, DRIFTED)[:2] == ("False", expected)


def test_a_repeated_put_back_of_a_replaced_object_has_its_own_time() -> None:
    world = started()
    first = condition_of(decided(world, replaced(world)), DRIFTED)
    world.cluster.now += timedelta(minutes=9)
    later = decided(world, replaced(world, drifted(world, reasons.ROUTE_REPLACED, 540)))
    assert condition_of(later, DRIFTED)[:2] == first[:2]
    assert condition_of(later, DRIFTED)[2] != first[2]


def test_a_writer_that_replaces_the_object_every_ten_seconds_is_left_alone_after_two_put_backs() -> (
    None
):
    world = started()
    led = [route.plan for route in world.routes]
    said = []
    for _ in range(4):
        world.cluster.now += timedelta(seconds=10)
        world.replace_routes()
        for _ in range(3):
            world.pass_over(KEY)
        said.append((reason_of(world, DRIFTED), [route.plan for route in world.routes] == led))
    assert said == [
        (reasons.ROUTE_REPLACED, True),
        (reasons.ROUTE_REPLACED_AGAIN, True),
        (reasons.ROUTE_HELD, False),
        (reasons.ROUTE_HELD, False),
    ]
    left = world.cluster.now
    world.rest()
    assert [route.plan for route in world.routes] == led
    assert world.cluster.now >= left + RETRY_AFTER_FIGHT - timedelta(seconds=20)
    assert reason_of(world, DRIFTED) == reasons.ROUTE_REPLACED_AGAIN
