"""How a step ends: approvals in the mailbox, exact approvals, timers; and which approvals are reset, and why."""

import pytest
from msgspec import structs

from controller.api.rollout import Approval, MoonshiftStatus, Phase, StepState
from controller.domain import reasons
from controller.domain.decision import Decision, Refusal, Severity
from controller.domain.rollout.approvals.pause import a_person_ends_the_step
from controller.domain.rollout.phases import decide
from controller.domain.rollout.words.release_value import as_stored
from controller.domain.rollout.words.status import condition, with_moonshift_status
from tests.unit.builders import (
    KEY,
    inner_of,
    lose_kept,
    make_rollout,
    make_step,
    make_steps,
    make_world,
    ours_of,
    release,
    revision_of,
    status_of,
    template,
    wait,
    weight_of,
)
from tests.unit.domain.rollout.scenes import history, seconds, started
from tests.unit.domain.rollout.tracking import paused_at_first, says, tracking
from tests.unit.worlds import World


def look(world: World) -> Decision:
    """The decision of a pass at this moment."""
    seen = world.observe(KEY)
    assert seen is not None
    return decide(seen, world.cluster.now)


def messages(decision: Decision, reason: str) -> list[str]:
    return [note.message for note in decision.notes if note.reason == reason]


def test_an_approval_in_step_paused_is_honoured_and_reported() -> None:
    world = started()
    world.people.approve(KEY)
    decision = look(world)
    assert messages(decision, reasons.APPROVED) == ["step(1) was approved"]
    world.rest()
    assert inner_of(world).current_step_index == 2
    assert ours_of(world).approved_at is not None


def test_a_way_back_has_a_reason_of_its_own_and_shares_no_event_with_steps() -> None:
    world = started()
    world.people.undo(KEY, template("v1"))
    lines = messages(look(world), reasons.RELEASE_CANCELING)
    assert lines == ["The workload has been rolled back and the rollout process will be canceled"]
    assert reasons.RELEASE_CANCELING not in reasons.OF_EVERY_STEP


def test_the_reason_of_an_approval_is_reported() -> None:
    world = started()
    seen = world.observe(KEY)
    assert seen is not None
    approval = Approval(step=1, by="ann", message="it is the load test")
    status = with_moonshift_status(seen.rollout.status, approval=approval, approvals=(approval,))
    approved = structs.replace(seen, rollout=structs.replace(seen.rollout, status=status))
    assert messages(decide(approved, world.cluster.now), reasons.APPROVED) == [
        "step(1) was approved by ann: it is the load test"
    ]


@pytest.mark.parametrize("state", [StepState.STEP_UPGRADE, StepState.STEP_TRAFFIC_ROUTING])
def test_an_approval_in_an_earlier_state_is_reset(state: StepState) -> None:
    world = make_world()
    release(world)
    world.run_until(lambda: inner_of(world).current_step_state == state)
    world.people.approve(KEY)
    decision = look(world)
    assert messages(decision, reasons.APPROVAL_IGNORED) == [
        f"an approval was reset: step(1) is in {state}, nothing waits for an approval"
    ]
    assert decision.notes[0].severity is Severity.WARNING
    assert decision.status.current_step_state == state
    world.rest()
    assert inner_of(world).current_step_index == 1
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED


QUICK = make_steps(2, 2, 2, 3, traffic=False)
"""Steps 2 and 3 have nothing to do: each is done in the pass that begins it."""


@pytest.mark.parametrize("every", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("late", [0.0, 0.4, 1.5])
def test_a_client_that_repeats_until_it_sees_another_state_approves_one_step(
    every: float, late: float
) -> None:
    world = started(steps=QUICK)
    for _ in range(20):
        shown = inner_of(world).current_step_state
        wait(world, late)  # what it read is so old when its patch arrives
        if shown != StepState.STEP_PAUSED:
            break
        world.people.approve(KEY)
        wait(world, every)
    world.rest()
    assert inner_of(world).current_step_index == 2
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED


def test_the_next_pause_begins_three_seconds_after_an_approval_and_the_work_at_once() -> None:
    world = started(steps=make_steps("20%", "20%", "50%"))
    world.people.approve(KEY)
    honoured = world.cluster.now
    world.run_until(lambda: inner_of(world).current_step_state == StepState.STEP_METRICS_ANALYSIS)
    assert world.cluster.now < honoured + seconds(3)
    assert weight_of(world) == 20
    assert look(world).wake_at == honoured + seconds(3)
    world.run_until(lambda: inner_of(world).current_step_state == StepState.STEP_PAUSED)
    assert world.cluster.now == honoured + seconds(3)
    assert ours_of(world).pause_not_before is None


def test_the_results_of_a_step_are_kept_while_its_pause_is_put_off() -> None:
    world = started(steps=make_steps("20%", "20%", "50%"))
    world.people.approve(KEY)
    world.run_until(lambda: inner_of(world).current_step_state == StepState.STEP_METRICS_ANALYSIS)
    world.touch_routes()
    world.pass_over(KEY)
    assert not world.routes[0].touched
    assert inner_of(world).current_step_state == StepState.STEP_METRICS_ANALYSIS


def test_another_process_keeps_to_the_instant_of_the_one_before() -> None:
    world = started(steps=QUICK)
    world.people.approve(KEY)
    honoured = world.cluster.now
    world.pass_over(KEY)
    world.restart()
    world.run_until(lambda: inner_of(world).current_step_state == StepState.STEP_PAUSED)
    assert world.cluster.now == honoured + seconds(3)


def test_an_approval_before_the_pause_that_is_put_off_is_reset_with_the_reason() -> None:
    world = started(steps=QUICK)
    world.people.approve(KEY)
    world.pass_over(KEY)
    world.people.approve(KEY)
    text = (
        "an approval was reset: it came less than 3 s after another, or after a jump, and may repeat it; approve "
        "step(2) when it is in StepPaused, or name it"
    )
    assert messages(look(world), reasons.APPROVAL_IGNORED) == [text]
    world.rest()
    assert inner_of(world).current_step_index == 2


def test_after_an_approval_that_names_its_step_nothing_is_put_off() -> None:
    world = started(steps=QUICK)
    approved = world.cluster.now
    for step in (1, 2):
        world.people.approve_step(KEY, step)
        world.pass_over(KEY)
        assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    assert (inner_of(world).current_step_index, world.cluster.now) == (3, approved)


def test_an_approval_that_names_its_step_counts_though_its_pause_is_put_off() -> None:
    world = started(steps=QUICK)
    world.people.approve(KEY)
    approved = world.cluster.now
    world.pass_over(KEY)
    world.people.approve_step(KEY, 2)
    world.pass_over(KEY)
    assert inner_of(world).current_step_index == 3
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    assert world.cluster.now == approved


def test_a_step_without_a_pause_is_not_put_off() -> None:
    steps = (*make_steps(2, traffic=False), *make_steps(2, traffic=False, pause=0), make_step(3))
    world = started(steps=steps)
    world.people.approve(KEY)
    world.pass_over(KEY)
    assert inner_of(world).current_step_index == 3


def test_an_exact_approval_names_its_step() -> None:
    world = started()
    world.people.approve_step(KEY, 1)
    world.rest()
    assert inner_of(world).current_step_index == 2
    assert ours_of(world).approval is None


def test_an_exact_approval_is_never_a_repeat() -> None:
    world = started(steps=make_steps(2, 2, 3, traffic=False))
    world.people.approve(KEY)
    world.run_until(
        lambda: (
            inner_of(world).current_step_index == 2
            and inner_of(world).current_step_state == StepState.STEP_PAUSED
        )
    )
    world.people.approve_step(KEY, 2)
    world.rest()
    assert inner_of(world).current_step_index == 3


def test_an_exact_approval_of_another_step_is_reset() -> None:
    world = started()
    world.people.approve_step(KEY, 2)
    decision = look(world)
    assert messages(decision, reasons.APPROVAL_IGNORED) == [
        "an approval was reset: step(2) is not the present step(1)"
    ]
    world.rest()
    assert inner_of(world).current_step_index == 1
    assert ours_of(world).approval is None


def test_an_exact_approval_before_the_pause_is_reset() -> None:
    world = make_world()
    release(world)
    world.run_until(lambda: inner_of(world).current_step_state == StepState.STEP_UPGRADE)
    world.people.approve_step(KEY, 1)
    assert messages(look(world), reasons.APPROVAL_IGNORED)
    world.rest()
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED


def test_an_approval_while_the_spec_is_paused_is_kept() -> None:
    world = started()
    world.people.pause(KEY)
    world.people.approve(KEY)
    world.rest()
    progressing = condition(status_of(world), "Progressing")
    assert progressing is not None
    assert progressing.reason == reasons.PAUSED
    assert inner_of(world).current_step_index == 1
    assert ours_of(world).state == StepState.STEP_PAUSED
    assert ours_of(world).approved_at is None
    world.people.pause(KEY, paused=False)
    world.rest()
    assert inner_of(world).current_step_index == 2


def test_an_approval_that_meets_our_status_write_is_not_lost() -> None:
    world = started()
    world.people.change(KEY, lambda spec: spec)
    status = status_of(world)
    rollout = world.cluster.rollouts[KEY]
    stale = structs.replace(status, message="something that makes us write")
    world.cluster.rollouts.put(structs.replace(rollout, status=stale))
    world.pass_over(KEY, meanwhile=lambda: world.people.approve(KEY))
    world.rest()
    assert inner_of(world).current_step_index == 2


def test_a_pause_with_a_duration_ends_by_itself_at_that_instant() -> None:
    world = make_world(make_rollout(steps=(make_step("20%", "20%", pause=60), make_step("50%"))))
    release(world)
    world.run_until(lambda: inner_of(world).current_step_state == StepState.STEP_PAUSED)
    paused = world.cluster.now
    assert status_of(world).message == (
        "Rollout is in step(1/2), and wait duration(60 seconds) to enter the next step"
    )
    assert look(world).wake_at == paused + seconds(60)
    world.run_until(lambda: inner_of(world).current_step_index == 2)
    assert world.cluster.now == paused + seconds(60)


def test_a_timed_pause_can_be_ended_early() -> None:
    world = make_world(make_rollout(steps=(make_step("20%", pause=60), make_step("50%"))))
    release(world)
    world.run_until(lambda: inner_of(world).current_step_state == StepState.STEP_PAUSED)
    paused = world.cluster.now
    world.people.approve(KEY)
    world.run_until(lambda: inner_of(world).current_step_index == 2)
    assert world.cluster.now == paused


def test_a_pause_of_zero_seconds_passes_at_once() -> None:
    world = make_world(make_rollout(steps=make_steps("20%", "40%", pause=0)))
    release(world)
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY


def test_a_pause_whose_start_is_lost_waits_longer_not_shorter() -> None:
    world = make_world(make_rollout(steps=(make_step("20%", pause=60), make_step("50%"))))
    release(world)
    world.run_until(lambda: inner_of(world).current_step_state == StepState.STEP_PAUSED)
    rollout = world.cluster.rollouts[KEY]
    status = rollout.status
    assert isinstance(status.moonshift, MoonshiftStatus)
    lost = structs.replace(status, moonshift=structs.replace(status.moonshift, state_since=None))
    world.cluster.rollouts.put(structs.replace(rollout, status=lost))
    assert look(world).wake_at == world.cluster.now + seconds(60)


def test_the_clock_of_a_pause_runs_on_while_the_spec_is_paused() -> None:
    world = make_world(make_rollout(steps=(make_step("20%", pause=60), make_step("50%"))))
    release(world)
    world.run_until(lambda: inner_of(world).current_step_state == StepState.STEP_PAUSED)
    world.people.pause(KEY)
    wait(world, 90)
    assert inner_of(world).current_step_index == 1
    world.people.pause(KEY, paused=False)
    world.rest()
    assert inner_of(world).current_step_index == 2


def test_a_paused_rollout_moves_nothing() -> None:
    world = make_world(make_rollout(paused=True))
    release(world)
    seen = history(world, lambda: (weight_of(world), world.cluster.services[KEY].spec.selector))
    world.rest()
    assert seen == [(None, {"app": "web"})]
    assert look(world).wake_at is None


def test_an_approval_names_its_author_and_is_removed_after_use() -> None:
    world = started()
    world.people.approve_step(KEY, 1)
    assert ours_of(world).approval == Approval(step=1, by="ann")
    world.pass_over(KEY)
    assert ours_of(world).approval is None


@pytest.mark.parametrize("exact", [True, False])
def test_an_approval_of_a_stalled_release_is_reset_with_the_reason(exact: bool) -> None:
    world = started()
    world.people.forbid("EnsureRoutes", Refusal("Forbidden", "VirtualService web: no right"))
    world.touch_routes()
    world.rest()
    if exact:
        world.people.approve_step(KEY, 1)
    else:
        world.people.approve(KEY)
    assert messages(look(world), reasons.APPROVAL_IGNORED) == [
        "an approval was reset: the release is stalled by Forbidden: VirtualService web: no right"
    ]
    world.rest()
    assert inner_of(world).current_step_index == 1
    world.people.heal()
    world.rest()
    world.people.approve_step(KEY, 1)
    world.rest()
    assert inner_of(world).current_step_index == 2


def test_an_approval_of_a_stuck_step_names_the_obstacle() -> None:
    world = make_world()
    world.people.forbid_pods("exceeded quota")
    release(world)
    wait(world, 90)
    world.people.approve(KEY)
    (text,) = messages(look(world), reasons.APPROVAL_IGNORED)
    assert text.startswith("an approval was reset: the release is stalled by FailedCreate: step(1)")


def test_a_release_of_content_that_is_stalled_by_its_routes_is_not_approved() -> None:
    world = tracking()
    says(world, "two")
    world.rest()
    world.people.forbid("EnsureRoutes", Refusal("Forbidden", "VirtualService web: no right"))
    world.touch_routes()
    world.rest()
    world.people.approve(KEY)
    assert messages(look(world), reasons.APPROVAL_IGNORED) == [
        "an approval was reset: the release is stalled by Forbidden: VirtualService web: no right"
    ]
    world.rest()
    assert paused_at_first(world)


def test_a_release_whose_stable_pods_are_gone_for_good_can_still_be_approved() -> None:
    world = started("canary", watched=False)
    for replica_set in tuple(world.cluster.replica_sets):
        if replica_set.metadata.name.startswith("web-") and replica_set.revision == revision_of(
            world, "v1"
        ):
            world.cluster.replica_sets.remove(replica_set.metadata.key)
    lose_kept(world)
    world.rest()
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert stalled.reason == reasons.SIDE_WITHOUT_ENDPOINTS
    world.people.approve_step(KEY, inner_of(world).current_step_index)
    world.rest()
    assert inner_of(world).current_step_index == 2


@pytest.mark.parametrize(("pause", "waits"), [(None, True), (60, False)])
def test_only_a_step_without_a_timer_waits_for_a_person(pause: int | None, waits: bool) -> None:
    world = make_world(make_rollout(steps=(make_step("20%", pause=pause), make_step("50%"))))
    seen = world.observe(KEY)
    assert seen is not None
    assert not a_person_ends_the_step(as_stored(seen, world.cluster.now))
    release(world)
    world.run_until(lambda: inner_of(world).current_step_state == StepState.STEP_PAUSED)
    seen = world.observe(KEY)
    assert seen is not None
    context = as_stored(seen, world.cluster.now)
    assert a_person_ends_the_step(context) is waits
