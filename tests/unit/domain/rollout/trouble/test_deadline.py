"""A stuck release reports the missing pods in time, and continues when it can."""

import pytest
from msgspec import structs

from controller.api.meta import Condition, Key
from controller.api.rollout import BlueGreenStrategy, RolloutSpec, Strategy
from controller.domain.decision import Refusal
from controller.domain.rollout.phases import decide
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.status import condition, with_moonshift_status
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    inner_of,
    make_rollout,
    make_steps,
    make_strategy,
    make_world,
    ours_of,
    release,
    sizes_of,
    status_of,
    template,
    wait,
    with_spec,
)
from tests.unit.domain.rollout.scenes import BOTH, approve, seconds
from tests.unit.worlds import World


def limited(style: str = "partition") -> World:
    """A world at rest whose plan allows 60 seconds for each step."""
    strategy = structs.replace(
        make_strategy(steps=make_steps("20%", "50%"), style=style),
        progress_deadline_seconds=60,
    )
    return make_world(make_rollout(strategy=strategy))


def break_v2(world: World) -> None:
    """Pods of v2 never become ready."""
    world.people.fail_pods(frozenset({world.cluster.revision_of(template("v2"))}))


def stalled(world: World) -> Condition:
    found = condition(status_of(world), "Stalled")
    assert found is not None
    return found


@BOTH
def test_pods_that_do_not_become_ready_stall_the_release_in_time(style: str) -> None:
    world = limited(style)
    break_v2(world)
    release(world)
    wait(world, 55)
    assert stalled(world).status == "False"
    wait(world, 10)
    found = stalled(world)
    assert (found.status, found.reason) == ("True", "ProgressDeadlineExceeded")
    assert found.message.startswith(
        "step(1) has taken more than 60 s: 0 of 2 new pods are ready; not ready: web-"
    )
    assert status_of(world).message == found.message


@BOTH
def test_a_release_that_gets_through_after_all_is_no_longer_stalled(style: str) -> None:
    world = limited(style)
    break_v2(world)
    release(world)
    wait(world, 70)
    assert stalled(world).status == "True"
    world.people.heal()
    world.rest()
    assert stalled(world).status == "False"
    assert inner_of(world).current_step_state == "StepPaused"


def test_waiting_for_a_person_is_no_work() -> None:
    world = limited()
    release(world)
    world.rest()
    wait(world, 10_000)
    assert stalled(world).status == "False"
    approve(world)
    assert inner_of(world).current_step_index == 2


def test_the_deadline_itself_wakes_the_release() -> None:
    world = limited()
    break_v2(world)
    release(world)
    world.run_until(lambda: inner_of(world).current_step_state == "StepUpgrade")
    seen = world.observe(KEY)
    assert seen is not None
    began = ours_of(world).visits[-1].started_at
    assert began is not None
    assert decide(seen, world.cluster.now).wake_at == began + seconds(60)
    world.rest()
    assert stalled(world).status == "True"


def test_many_unready_pods_are_not_all_named() -> None:
    strategy = structs.replace(make_strategy(steps=make_steps("50%")), progress_deadline_seconds=10)
    world = make_world(make_rollout(strategy=strategy))
    break_v2(world)
    release(world)
    wait(world, 20)
    assert stalled(world).message.count("web-") <= 3


def test_an_end_that_takes_too_long_names_its_present_part() -> None:
    world = limited()
    release(world)
    world.rest()
    approve(world)
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: ours_of(world).goal == "Success")
    break_v2(world)
    wait(world, 90)
    found = stalled(world)
    assert found.status == "True"
    assert found.message.startswith(
        "the end of the release (Success) has taken more than 60 s, it is at ResumeWorkload; pod web-"
    )
    assert "its readiness probe fails (since " in found.message


def test_a_step_that_loses_its_pods_after_a_long_wait_has_its_time_again() -> None:
    world = limited()
    release(world)
    world.rest()
    wait(world, 10_000)
    break_v2(world)
    wait(world, 50)
    assert inner_of(world).current_step_state == "StepUpgrade"
    assert stalled(world).reason == "SideWithoutEndpoints"
    assert "has taken more than" not in stalled(world).message
    wait(world, 20)
    assert "has taken more than 60 s" in stalled(world).message


def test_a_problem_with_a_name_of_its_own_keeps_it() -> None:
    world = limited()
    world.cluster.services.delete(Key(NAMESPACE, "web"))
    release(world)
    wait(world, 90)
    assert stalled(world).reason == "ServiceNotFound"


# --- the end has a clock of its own, and waiting for people never counts ------------------------------


@BOTH
def test_a_rollback_after_a_long_wait_is_not_stalled_from_its_first_moment(style: str) -> None:
    world = limited(style)
    release(world)
    world.rest()
    wait(world, 10_000)
    began = world.cluster.now
    release(world, "v1")
    seen: list[str] = []
    world.watchers.append(lambda: seen.append(stalled(world).status))
    world.rest()
    assert set(seen) == {"False"}
    assert status_of(world).phase == "Healthy"
    assert ours_of(world).goal_since is None
    assert world.cluster.now > began


def test_the_end_of_a_release_counts_from_the_instant_its_goal_was_set() -> None:
    world = limited()
    release(world)
    world.rest()
    wait(world, 10_000)
    world.people.forbid("RestoreRoutes", Refusal("Forbidden", "may not be written"))
    release(world, "v1")
    world.pass_over(KEY)
    began = world.cluster.now
    assert ours_of(world).goal_since == began
    wait(world, 59)
    world.restart()
    world.pass_over(KEY)
    assert stalled(world).reason == "Forbidden"
    world.people.heal()
    world.rest()
    assert stalled(world).status == "False"


def test_an_end_begun_by_an_older_version_has_its_whole_time() -> None:
    world = limited()
    release(world)
    world.rest()
    wait(world, 10_000)
    release(world, "v1")
    world.pass_over(KEY)
    rollout = world.cluster.rollouts[KEY]
    older = structs.replace(ours_of(world), goal_since=None)
    status = structs.replace(rollout.status, moonshift=older)
    world.cluster.rollouts.put(structs.replace(rollout, status=status))
    world.pass_over(KEY)
    assert ours_of(world).goal_since == world.cluster.now
    assert stalled(world).status == "False"


@pytest.mark.parametrize("on_deadline", ["", "Rollback"])
def test_time_under_a_paused_spec_is_no_work(on_deadline: str) -> None:
    world = limited()
    world.people.change(KEY, lambda spec: with_rule(spec, on_deadline))
    break_v2(world)
    release(world)
    wait(world, 50)
    world.people.pause(KEY)
    wait(world, 10_000)
    assert stalled(world).status == "False"
    world.people.pause(KEY, paused=False)
    wait(world, 9)
    assert stalled(world).status == "False"
    assert ours_of(world).goal == ""
    assert ours_of(world).held_up_since is None
    wait(world, 3)
    if on_deadline:
        assert ours_of(world).failed_template
    else:
        assert stalled(world).reason == "ProgressDeadlineExceeded"


def test_time_in_which_the_owner_keeps_the_workload_paused_is_no_work() -> None:
    world = limited()
    release(world)
    world.rest()
    world.people.edit(KEY, paused=True)
    approve(world)
    assert stalled(world).reason == "PausedByOwner"
    wait(world, 10_000)
    break_v2(world)
    world.people.edit(KEY, paused=False)
    wait(world, 30)
    assert stalled(world).reason == "SideWithoutEndpoints"
    assert "has taken more than" not in stalled(world).message
    wait(world, 40)
    assert "has taken more than" in stalled(world).message


def test_without_a_deadline_a_paused_spec_writes_no_clock() -> None:
    world = make_world()
    break_v2(world)
    release(world)
    world.run_until(lambda: inner_of(world).current_step_state == "StepUpgrade")
    world.people.pause(KEY)
    world.rest()
    assert ours_of(world).held_up_since is None


def test_a_rollback_out_of_a_long_pause_of_the_spec_has_its_whole_time() -> None:
    world = limited()
    break_v2(world)
    release(world)
    wait(world, 50)
    world.people.pause(KEY)
    wait(world, 10_000)
    world.people.forbid("ReleaseWorkload", Refusal("NotYet", "later"))
    release(world, "v1")
    world.pass_over(KEY)
    began = world.cluster.now
    assert ours_of(world).goal_since == began
    assert stalled(world).reason != "ProgressDeadlineExceeded"
    world.people.heal()
    world.rest()
    assert stalled(world).status == "False"


def with_rule(spec: RolloutSpec, rule: str) -> RolloutSpec:
    canary = spec.strategy.canary
    assert canary is not None
    strategy = structs.replace(
        spec.strategy, canary=structs.replace(canary, on_deadline_exceeded=rule)
    )
    return structs.replace(spec, strategy=strategy)


def test_a_stuck_step_of_blue_green_is_rolled_back_where_its_plan_says_so() -> None:
    plan = BlueGreenStrategy(
        steps=make_steps("50%", "100%", traffic=False),
        progress_deadline_seconds=60,
        on_deadline_exceeded="Rollback",
    )
    world = make_world(with_spec(make_rollout(), strategy=Strategy(blue_green=plan)))
    break_v2(world)
    release(world)
    wait(world, 120)
    assert sizes_of(world) == {"v1": 10}
    assert status_of(world).phase == "Healthy"


def test_work_during_a_paused_spec_leaves_no_clock_behind() -> None:
    strategy = structs.replace(
        make_strategy(steps=make_steps("20%", "50%"), traffic=False), progress_deadline_seconds=60
    )
    world = make_world(make_rollout(strategy=strategy))
    release(world)
    world.run_until(lambda: inner_of(world).current_step_state == "StepUpgrade")
    world.people.pause(KEY)
    world.rest()
    assert ours_of(world).held_up_since is not None
    world.people.pause(KEY, paused=False)
    world.rest()
    assert inner_of(world).current_step_state == "StepPaused"
    assert ours_of(world).held_up_since is None


def test_the_deadline_clock_is_removed_when_a_step_waits_for_people() -> None:
    world = limited()
    release(world)
    world.rest()
    before = ours_of(world)
    assert before.state == "StepPaused"
    seen = world.observe(KEY)
    assert seen is not None
    status = with_moonshift_status(seen.rollout.status, held_up_since=world.cluster.now)
    rollout = structs.replace(seen.rollout, status=status)
    after = moonshift_status(
        decide(structs.replace(seen, rollout=rollout), world.cluster.now).status
    )
    assert after.held_up_since is None
    assert after.worked_since == before.worked_since
