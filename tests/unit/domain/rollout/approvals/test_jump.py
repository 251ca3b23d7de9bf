"""Jumps: forward, backward, to the same step; by the original's mailbox and by our own; and which are reset."""

import pytest
from msgspec import structs

from controller.api.rollout import Phase, StepState
from controller.domain import reasons
from controller.domain.rollout.phases import decide
from tests.unit.builders import (
    KEY,
    inner_of,
    make_rollout,
    make_step,
    make_steps,
    make_world,
    ours_of,
    release,
    status_of,
    wait,
    weight_of,
)
from tests.unit.domain.rollout.scenes import BOTH, approve, history, pin_of, seconds, started
from tests.unit.worlds import World

FOUR = make_steps("10%", "20%", "30%", "50%")


def messages_with(world: World, reason: str) -> list[str]:
    """The messages with this reason that a pass would write at this moment."""
    seen = world.observe(KEY)
    assert seen is not None
    return [n.message for n in decide(seen, world.cluster.now).notes if n.reason == reason]


def at(world: World) -> tuple[int, int, str]:
    """Present step, next step and state, as clients read them."""
    inner = inner_of(world)
    return inner.current_step_index, inner.next_step_index, inner.current_step_state


@BOTH
def test_a_jump_forward_skips_the_steps_between(style: str) -> None:
    world = started(style, FOUR)
    steps = history(world, lambda: inner_of(world).current_step_index)
    world.people.ask_for_step(KEY, 3)
    assert messages_with(world, reasons.JUMPED) == ["jumped from step(1) to step(3)"]
    world.rest()
    assert at(world) == (3, 4, StepState.STEP_PAUSED)
    assert steps == [1, 3]
    assert weight_of(world) == 30
    assert inner_of(world).canary_ready_replicas == 3


@BOTH
def test_a_jump_back_moves_traffic_and_keeps_the_pods(style: str) -> None:
    world = started(style, FOUR)
    world.people.ask_for_step(KEY, 3)
    world.rest()
    world.people.ask_for_step(KEY, 1)
    world.rest()
    assert at(world) == (1, 2, StepState.STEP_PAUSED)
    assert weight_of(world) == 10
    assert inner_of(world).canary_replicas == 3


def test_a_jump_back_in_partition_style_says_how_few_old_pods_get_the_traffic() -> None:
    world = started("partition", make_steps("20%", "70%", "100%"))
    approve(world)
    world.people.ask_for_step(KEY, 1)
    assert messages_with(world, reasons.JUMPED) == [
        "jumped from step(2) to step(1): no new pod is removed, so 3 old pods of 10 get 80 % of the requests"
    ]


@BOTH
def test_a_jump_that_a_client_repeats_until_it_sees_another_state_is_made_once(style: str) -> None:
    world = started(style, FOUR)
    world.people.ask_for_step(KEY, 3)
    world.rest()
    steps = history(world, lambda: inner_of(world).current_step_index)
    world.people.ask_for_step(KEY, 2)
    asked = world.cluster.now
    # The original's clients look every second, and ask again where they see StepPaused.
    world.run_until(lambda: world.cluster.now >= asked + seconds(1))
    assert at(world) == (2, 3, StepState.STEP_METRICS_ANALYSIS)
    assert weight_of(world) == 20
    world.run_until(lambda: inner_of(world).current_step_state == StepState.STEP_PAUSED)
    assert world.cluster.now == asked + seconds(3)
    assert steps == [3, 2]


def test_after_our_own_jump_nothing_is_put_off() -> None:
    world = started(steps=FOUR)
    world.people.ask_for_step(KEY, 3)
    world.rest()
    asked = world.cluster.now
    world.people.jump(KEY, 2)
    world.run_until(lambda: at(world) == (2, 3, StepState.STEP_PAUSED))
    assert world.cluster.now < asked + seconds(3)


@BOTH
def test_a_jump_to_the_same_step_begins_it_again(style: str) -> None:
    world = started(style, FOUR)
    before = ours_of(world).state_since
    wait(world, 5)
    states = history(world, lambda: ours_of(world).state_since)
    world.people.ask_for_step(KEY, 1)
    world.rest()
    assert at(world) == (1, 2, StepState.STEP_PAUSED)
    assert states[-1] != before


@BOTH
def test_a_jump_reaches_the_end_as_any_release(style: str) -> None:
    world = started(style, FOUR)
    world.people.ask_for_step(KEY, 4)
    world.rest()
    assert at(world)[:2] == (4, -1)
    approve(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert pin_of(world) == ""


def test_our_jump_reaches_the_next_step_without_an_approval() -> None:
    world = started(steps=FOUR)
    world.people.jump(KEY, 2)
    world.rest()
    assert at(world) == (2, 3, StepState.STEP_PAUSED)
    assert ours_of(world).jump == 0


@pytest.mark.parametrize(
    "state", [StepState.STEP_UPGRADE, StepState.STEP_TRAFFIC_ROUTING, StepState.STEP_PAUSED]
)
def test_a_jump_is_taken_up_in_every_state(state: StepState) -> None:
    world = make_world(make_rollout(steps=FOUR))
    release(world)
    world.run_until(lambda: inner_of(world).current_step_state == state)
    world.people.jump(KEY, 4)
    world.rest()
    assert at(world) == (4, -1, StepState.STEP_PAUSED)
    assert weight_of(world) == 50


@pytest.mark.parametrize("wish", [5, 99, -2])
def test_a_jump_out_of_the_plan_is_reset(wish: int) -> None:
    world = started(steps=FOUR)
    world.people.jump(KEY, wish)
    assert messages_with(world, reasons.JUMP_IGNORED) == [
        f"a jump to step({wish}) was reset: the plan has steps 1 to 4"
    ]
    world.rest()
    assert at(world) == (1, 2, StepState.STEP_PAUSED)
    assert ours_of(world).jump == 0


@pytest.mark.parametrize("nothing", [2, 0, -1])
def test_an_empty_jump_request_moves_nothing(nothing: int) -> None:
    world = started(steps=FOUR)
    world.people.ask_for_step(KEY, nothing)
    world.rest()
    assert at(world) == (1, 2, StepState.STEP_PAUSED)


def test_a_jump_waits_while_the_rollout_is_paused() -> None:
    world = started(steps=FOUR)
    world.people.pause(KEY)
    world.people.ask_for_step(KEY, 3)
    world.rest()
    assert at(world)[0] == 1
    world.people.pause(KEY, False)
    world.rest()
    assert at(world)[0] == 3


def test_a_rollback_outranks_a_jump() -> None:
    world = started(steps=FOUR)
    world.people.ask_for_step(KEY, 4)
    release(world, "v1")
    steps = history(world, lambda: inner_of(world).current_step_index)
    world.rest()
    assert steps == [1]
    assert status_of(world).phase == Phase.HEALTHY


def test_a_jump_back_from_all_pods_finds_no_old_ones_and_routes_nothing() -> None:
    steps = (*make_steps("20%"), make_step("100%", pause=None), make_step("100%"))
    world = started(steps=steps)
    approve(world)
    assert at(world)[0] == 2
    world.people.ask_for_step(KEY, 1)
    world.rest()
    assert at(world)[::2] == (1, StepState.STEP_PAUSED)
    assert pin_of(world) == ""


def test_a_jump_out_of_a_step_that_takes_all_pods_waits_for_the_old_ones_to_be_gone() -> None:
    steps = (*make_steps("20%"), make_step("100%", pause=None), make_step("100%"))
    world = started(steps=steps)
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: at(world)[::2] == (2, StepState.STEP_UPGRADE))
    world.people.jump(KEY, 1)
    (why,) = messages_with(world, reasons.JUMP_IGNORED)
    assert why.endswith("takes all pods, and the old ones are going: wait for it, or roll back")
    world.rest()
    assert at(world)[::2] == (2, StepState.STEP_PAUSED)
    assert pin_of(world) == ""


# --- the plan is edited -----------------------------------------------------------------------------


def replan(world: World, *sizes: str | int, pause: int | None = None) -> None:
    """Another plan is applied."""
    world.people.replan(KEY, make_steps(*sizes, pause=pause))


@BOTH
@pytest.mark.parametrize(
    ("sizes", "place"),
    [
        (("10%", "30%", "40%", "50%"), 2),
        (("20%", "40%", "45%", "50%"), 2),
        (("10%", "10%", "20%", "50%"), 3),
        (("5%", "10%", "10%", "10%"), 4),
        (("30%", "20%", "20%", "20%"), 2),
    ],
)
def test_an_edited_plan_continues_at_the_step_with_the_same_number_of_pods(
    style: str, sizes: tuple[str, ...], place: int
) -> None:
    world = started(style, FOUR)
    approve(world)
    replan(world, *sizes)
    world.rest()
    assert at(world)[::2] == (place, StepState.STEP_PAUSED)
    wanted = -(-int(sizes[place - 1].rstrip("%")) * 10 // 100)
    assert inner_of(world).canary_replicas == max(2, wanted)
    assert weight_of(world) == int(sizes[place - 1].rstrip("%"))


@BOTH
@pytest.mark.parametrize(
    ("sizes", "place"),
    [
        (("5%", "10%", "30%", "50%"), 2),
        (("10%", "10%", "50%"), 2),
        (("10%", "50%"), 1),
        (("10%", "10%", "20%", "50%"), 3),
    ],
)
def test_a_present_step_that_asks_for_fewer_pods_begins_no_larger_step(
    style: str, sizes: tuple[str, ...], place: int
) -> None:
    world = started(style, FOUR[:3])
    approve(world)
    if len(sizes) == 2:
        approve(world)
    before = inner_of(world).canary_replicas
    replan(world, *sizes)
    world.rest()
    assert at(world)[::2] == (place, StepState.STEP_PAUSED)
    assert inner_of(world).canary_replicas == before
    assert weight_of(world) == int(sizes[place - 1].rstrip("%"))


@BOTH
def test_an_edit_of_later_steps_revokes_no_approval_and_restarts_no_timer(
    style: str,
) -> None:
    world = started(style, FOUR)
    since = ours_of(world).state_since
    wait(world, 5)
    replan(world, "10%", "40%")
    assert messages_with(world, reasons.REPLANNED) == [
        "the plan was edited in step(1): the step goes on as it was"
    ]
    world.rest()
    assert at(world) == (1, 2, StepState.STEP_PAUSED)
    assert ours_of(world).state_since == since
    approve(world)
    assert at(world) == (2, -1, StepState.STEP_PAUSED)


def test_a_shorter_plan_may_end_at_the_present_step() -> None:
    world = started(steps=FOUR)
    approve(world)
    replan(world, "10%", "20%")
    world.rest()
    assert at(world) == (2, -1, StepState.STEP_PAUSED)
    approve(world)
    assert status_of(world).phase == Phase.HEALTHY


def test_a_plan_that_lost_the_present_step_goes_on_at_its_last() -> None:
    world = started(steps=FOUR)
    approve(world)
    approve(world)
    replan(world, "5%", "10%")
    world.rest()
    assert at(world) == (2, -1, StepState.STEP_PAUSED)


def test_a_pause_may_be_edited_without_a_new_plan() -> None:
    world = started(steps=FOUR)
    replan(world, "10%", "20%", "30%", "50%", pause=0)
    assert messages_with(world, reasons.REPLANNED) == []
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY


def test_a_release_of_an_older_version_keeps_its_place() -> None:
    world = started(steps=FOUR)
    approve(world)
    rollout = world.cluster.rollouts[KEY]
    older = structs.replace(ours_of(world), step_plan="", step_replicas=None)
    status = structs.replace(rollout.status, moonshift=older)
    world.cluster.rollouts.put(structs.replace(rollout, status=status))
    replan(world, "5%", "30%", "40%", "50%")
    world.rest()
    assert at(world)[0] == 2
    assert ours_of(world).step_plan


def test_an_index_that_is_changed_by_hand_is_reset_and_reported() -> None:
    world = started("partition", FOUR)
    world.people.move_index(KEY, 3)
    (text,) = messages_with(world, reasons.JUMP_IGNORED)
    assert text.startswith("currentStepIndex was changed to 3 by hand and is reset")
    world.rest()
    assert at(world) == (1, 2, StepState.STEP_PAUSED)
    assert status_of(world).current_step_index == 1
