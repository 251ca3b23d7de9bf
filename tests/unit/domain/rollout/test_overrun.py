"""A small workload: a step that asks for a part of the requests makes every pod new, and says so."""

import pytest

from controller.domain import reasons
from controller.domain.decision import Severity
from controller.domain.rollout.routes.routing import all_goes_to_new_because, routed_note
from controller.domain.rollout.words import messages
from controller.domain.rollout.words.release_value import Release, as_stored
from tests.unit.builders import (
    KEY,
    make_deployment,
    make_rollout,
    make_step,
    make_world,
    release,
    status_of,
    weight_of,
)
from tests.unit.worlds import World


def paused(style: str, replicas: int, *traffic: str) -> World:
    """A release whose first step waits: 5 % of the pods."""
    steps = tuple(make_step("5%", share) for share in traffic)
    world = make_world(make_rollout(steps=steps, style=style), make_deployment(replicas=replicas))
    release(world)
    world.rest()
    assert status_of(world).current_step_state == "StepPaused"
    return world


def context_of(world: World) -> Release:
    seen = world.observe(KEY)
    assert seen is not None
    return as_stored(seen, world.cluster.now)


def test_the_only_pod_of_a_workload_takes_all_requests_and_the_event_says_so() -> None:
    world = paused("partition", 1, "5%", "5%")
    note = routed_note(context_of(world), 1)
    assert (note.reason, note.severity) == (reasons.ROUTED, Severity.WARNING)
    assert note.message == (
        "step(1) asks for 5% of the traffic, but the only pod is new by its replicas: 5%; all of the traffic goes to "
        "the new version"
    )
    assert weight_of(world) is None


@pytest.mark.parametrize(
    ("style", "replicas", "traffic"),
    [("partition", 2, "5%"), ("canary", 1, "5%"), ("partition", 1, "100%")],
)
def test_the_note_states_the_planned_share_only_if_the_share_is_true(
    style: str, replicas: int, traffic: str
) -> None:
    context = context_of(paused(style, replicas, traffic, "100%"))
    assert all_goes_to_new_because(context, 1) == ""
    assert (
        routed_note(context, 1).message
        == f"step(1): {traffic} of the traffic goes to the new version"
    )


def test_a_template_that_changes_at_zero_replicas_is_named_as_that() -> None:
    world = make_world(deployment=make_deployment(replicas=0))
    release(world)
    world.rest()
    found = [note.message for note in world.passes.notes if note.reason == reasons.NOT_HELD]
    assert found == [messages.CHANGED_AT_ZERO]
