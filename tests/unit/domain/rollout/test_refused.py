"""A refusal is recorded once: a status with the same content is not written again."""

import re
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.api.rollout import RolloutStatus, StepState
from controller.domain.decision import Action, Refusal
from controller.domain.rollout.words.status import condition
from tests.unit.builders import KEY, release, status_of, template, wait
from tests.unit.domain.rollout.scenes import STATES, in_state, started
from tests.unit.worlds import World

ACTIONS = sorted(kind.__name__ for kind in get_args(Action))
REASONS = ("Forbidden", "Invalid", "KindNotServed", "ScriptFailed", "WorkerUnavailable")
MOMENT = timedelta(milliseconds=10)


def _lose_pods(world: World) -> None:
    world.people.fail_pods(frozenset({world.cluster.revision_of(template("v2"))}))


DISTURBANCES: dict[str, Callable[[World], None]] = {
    "nothing": lambda world: None,
    "an approval": lambda world: world.people.approve_step(KEY, 1),
    "a way back": lambda world: world.people.edit(KEY, template=template("v1")),
    "another revision": lambda world: release(world, "v3"),
    "disabled": lambda world: world.people.disable(KEY),
    "deleted": lambda world: world.cluster.rollouts.delete(KEY),
    "scaled to zero": lambda world: world.people.edit(KEY, replicas=0),
    "pods lost": _lose_pods,
    "a route touched": lambda world: world.touch_routes(),
}
INSTANT = re.compile(rb'"\d{4}-\d\d-\d\dT[^"]*"')


def what_it_says(status: RolloutStatus) -> bytes:
    """The status without any instant."""
    return INSTANT.sub(b'""', msgspec.json.encode(status))


def statuses_of(world: World) -> list[RolloutStatus]:
    """Every status that is written from now on, and the present one."""
    written = [status_of(world)]

    def note() -> None:
        found = world.cluster.rollouts.get(KEY)
        if found is not None and found.status != written[-1]:
            written.append(found.status)

    world.watchers.append(note)
    return written


def pass_over_again_and_again(world: World, times: int = 5) -> None:
    """Events of others wake us, a moment later each time."""
    for _ in range(times):
        world.cluster.set_clock(world.cluster.now + MOMENT)
        world.pass_over(KEY)


@settings(max_examples=120, deadline=None)
@given(
    style=st.sampled_from(("partition", "canary")),
    state=st.sampled_from(STATES),
    action=st.sampled_from(ACTIONS),
    reason=st.sampled_from(REASONS),
    disturbance=st.sampled_from(sorted(DISTURBANCES)),
)
def test_each_kind_of_refusal_is_written_once(
    style: str, state: StepState, action: str, reason: str, disturbance: str
) -> None:
    world = in_state(state, style)
    world.people.forbid(action, Refusal(reason, f"{action} is refused"))
    DISTURBANCES[disturbance](world)
    written = statuses_of(world)
    for _ in range(8):
        pass_over_again_and_again(world)
        world.tick()
    assert not [
        left for left, right in pairwise(written) if what_it_says(left) == what_it_says(right)
    ]
    world.rest()
    at_rest = len(written)
    pass_over_again_and_again(world)
    assert len(written) == at_rest


@pytest.mark.parametrize("action", ["EnsureRoutes", "MoveWorkload"])
def test_a_repeated_problem_keeps_the_time_of_its_first_occurrence(action: str) -> None:
    world = started()
    world.people.forbid(action, Refusal("Forbidden", "may not be written"))
    world.people.approve_step(KEY, 1)
    world.rest()
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert (stalled.status, stalled.reason) == ("True", "Forbidden")
    wait(world, 60)
    pass_over_again_and_again(world)
    assert condition(status_of(world), "Stalled") == stalled


def test_another_reason_is_written_and_keeps_the_instant_the_release_stalled_at() -> None:
    world = started()
    world.people.forbid("EnsureRoutes", Refusal("Forbidden", "may not be written"))
    world.people.approve_step(KEY, 1)
    world.rest()
    first = condition(status_of(world), "Stalled")
    wait(world, 60)
    world.people.forbid("EnsureRoutes", Refusal("ScriptFailed", "line 3"))
    written = statuses_of(world)
    pass_over_again_and_again(world)
    second = condition(status_of(world), "Stalled")
    assert first is not None
    assert second is not None
    assert (second.reason, second.message) == ("ScriptFailed", "line 3")
    assert second.last_transition_time == first.last_transition_time
    assert len(written) == 2
