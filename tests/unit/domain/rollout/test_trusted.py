"""A status that somebody wrote while nobody watched: nothing in it releases a step, and it is mended and reported."""

from datetime import UTC, datetime

import pytest
from msgspec import structs

from controller.api.rollout import (
    EmptySide,
    MoonshiftStatus,
    Phase,
    Rollout,
    RolloutStatus,
    StepState,
)
from controller.domain import reasons
from controller.domain.rollout.phases import decide
from controller.domain.rollout.trusted import trusted
from controller.domain.rollout.words.release_value import as_stored
from controller.domain.rollout.words.status import with_canary, with_moonshift_status
from tests.unit.builders import KEY, inner_of, make_steps, ours_of, status_of
from tests.unit.domain.rollout.scenes import BOTH, approve, pin_of, started
from tests.unit.worlds import World

FOUR = make_steps("10%", "20%", "50%", "100%")
FUTURE = datetime(9999, 12, 31, tzinfo=UTC)
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


def write(world: World, status: RolloutStatus, **more: object) -> None:
    """Write a status past admission."""
    rollout = world.cluster.rollouts[KEY]
    world.cluster.rollouts.put(structs.replace(rollout, status=status, **more))


def forge(world: World, **ours: object) -> None:
    write(world, with_moonshift_status(status_of(world), **ours))


def mended(world: World) -> list[str]:
    """The Events about a mended status that a pass would write now."""
    seen = world.observe(KEY)
    assert seen is not None
    notes = decide(seen, world.cluster.now).notes
    return [note.message for note in notes if note.reason == reasons.STATUS_MENDED]


def new_pods(world: World) -> int:
    return inner_of(world).canary_replicas


def waits_at_the_first_step(world: World) -> bool:
    inner, ours = inner_of(world), ours_of(world)
    assert new_pods(world) == 1
    assert ours.stable_revision != ""
    return (ours.step, inner.current_step_index, ours.state, inner.current_step_state) == (
        1,
        1,
        StepState.STEP_PAUSED,
        StepState.STEP_PAUSED,
    )


FORGED: dict[str, dict[str, object]] = {
    "a state that is approved already": {"state": StepState.STEP_READY},
    "a release that is over": {"state": StepState.COMPLETED},
    "a state that is none": {"state": "Anything"},
    "a later step": {"step": 3},
    "the last step": {"step": 4},
    "a step beyond the plan": {"step": 99},
    "a negative step": {"step": -1},
    "an end with success": {"goal": "Success"},
    "an end with success at the last step": {"goal": "Success", "step": 4},
    "an end that is none": {"goal": "Anything"},
    "an exchange that is none": {"template_exchange": "anything"},
    "an exchange of another kind": {"template_exchange": "stable"},
    "a side that was led away by nothing": {
        "empty_sides": {"stable/web": EmptySide(led_away="anything")}
    },
    "a time that lies ahead": {"pause_not_before": FUTURE},
    "a time in a list that lies ahead": {"autoscalers_held_at": (FUTURE,)},
    "a time of a Service that lies ahead": {"endpoints_ready_since": {"web": FUTURE}},
    "a time in the year 1": {"state_since": LONG_AGO},
}


@BOTH
@pytest.mark.parametrize("name", FORGED)
def test_a_forged_status_releases_nothing_and_is_mended(style: str, name: str) -> None:
    world = started(style, FOUR)
    assert waits_at_the_first_step(world)
    stable = ours_of(world).stable_revision
    forge(world, **FORGED[name])
    (text,) = mended(world)
    assert text.startswith("the status said what cannot be (")
    world.rest()
    assert waits_at_the_first_step(world)
    assert ours_of(world).stable_revision == stable
    assert mended(world) == []
    approve(world)
    assert ours_of(world).step == 2


@BOTH
def test_the_new_revision_is_never_taken_for_the_stable_one(style: str) -> None:
    world = started(style, FOUR)
    ours, pinned = ours_of(world), pin_of(world)
    inner = inner_of(world)
    for forged in (
        {"stable_revision": inner.pod_template_hash},
        {"stable_template": ours.template},
        {"stable_revision": inner.pod_template_hash, "stable_template": ours.template},
    ):
        forge(world, **forged)
        assert len(mended(world)) == 1, forged
        world.rest()
        assert waits_at_the_first_step(world)
        assert ours_of(world).stable_revision == ours.stable_revision
        assert ours_of(world).stable_template == ours.stable_template
        assert pin_of(world) == pinned


@BOTH
@pytest.mark.parametrize("phase", [Phase.DISABLING, "Anything"])
def test_a_forged_phase_ends_no_release(style: str, phase: str) -> None:
    world = started(style, FOUR, watched=False)
    write(world, structs.replace(status_of(world), phase=phase))
    assert len(mended(world)) == 1
    world.rest()
    assert waits_at_the_first_step(world)
    assert status_of(world).phase == Phase.PROGRESSING


def test_an_approval_in_a_mended_status_does_not_count() -> None:
    world = started("partition", FOUR)
    forge(world, step=9, approval=None, jump=0)
    write(world, with_canary(status_of(world), current_step_state=StepState.STEP_READY))
    world.rest()
    assert waits_at_the_first_step(world)


def test_a_status_of_which_parts_cannot_be_read_is_mended_and_asks_again() -> None:
    world = started("partition", FOUR)
    ready = with_canary(status_of(world), current_step_state=StepState.STEP_READY)
    write(world, ready, unreadable=("status.moonshift.stateSince",))
    (text,) = mended(world)
    assert "status.moonshift.stateSince" in text
    write(world, ready, unreadable=("status.moonshift.stateSince",))
    seen = world.observe(KEY)
    assert seen is not None
    decision = decide(seen, world.cluster.now)
    assert decision.status.current_step_state != StepState.STEP_READY


@BOTH
def test_every_status_of_a_whole_release_is_believed(style: str) -> None:
    world = started(style, FOUR, watched=False)
    doubted: list[str] = []

    def note() -> None:
        seen = world.observe(KEY)
        if seen is not None:
            context = as_stored(seen, world.cluster.now)
            doubted.extend(one.message for one in trusted(context)[1])

    world.watchers.append(note)
    for _ in range(3):
        approve(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert doubted == []


def test_a_rollout_without_a_status_is_believed() -> None:
    world = started("partition", FOUR)
    write(world, RolloutStatus())
    assert mended(world) == []


def test_at_rest_impossible_times_are_dropped_and_nothing_is_asked() -> None:
    world = started("partition", FOUR)
    for _ in range(3):
        approve(world)
    forge(world, started_at=FUTURE)
    assert len(mended(world)) == 1
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert isinstance(status_of(world).moonshift, MoonshiftStatus)
    assert Rollout().unreadable == ()
