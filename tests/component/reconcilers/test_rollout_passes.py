"""Passes over a Rollout: their writes, Events and measurements, and the time of the next look."""

from datetime import datetime
from typing import Any

import pytest
from msgspec import structs

from controller.api.meta import Key
from controller.api.rollout import MoonshiftStatus, Rollout, RolloutStatus, StepState
from controller.domain import reasons
from controller.domain.decision import (
    POD,
    Action,
    Decision,
    DeleteObject,
    Done,
    NotYet,
    Outcome,
    Refusal,
)
from controller.domain.observation import Observation
from controller.domain.rollout.words.status import condition, enter, with_moonshift_status
from controller.effects.apply import Pass
from controller.errors import Forbidden, Invalid, Right
from controller.kube.resources import DEPLOYMENTS, ROLLOUTS
from controller.kube.store import Store
from controller.reconcilers.retries import LONGEST, SHORTEST
from controller.reconcilers.rollout import BRIEF
from tests.component.reconcilers.passes import Passes
from tests.unit.builders import KEY, NOW, make_rollout, make_step, make_world, ours_of, release
from tests.unit.domain.rollout.scenes import started

FORBIDDEN = Refusal(
    "Forbidden", "VirtualService shop/web: may not be patched", object="web", retry_after=30.0
)


def refusing() -> Passes:
    """A step waits, its route is touched, and the change may not be put back."""
    world = started(watched=False)
    world.touch_routes()
    passes = Passes(world)
    passes.answer = FORBIDDEN
    return passes


async def test_a_missing_right_costs_one_status_write_however_often_it_is_met() -> None:
    passes = refusing()
    for _ in range(40):
        await passes.over()
    assert passes.status_writes == 1
    stalled = condition(passes.status, "Stalled")
    assert stalled is not None
    assert (stalled.status, stalled.reason) == ("True", "Forbidden")
    assert [reason for reason, _ in passes.notes].count("Forbidden") == 1


async def test_a_repeated_refusal_is_retried_later_each_time_and_never_after_ten_seconds() -> None:
    passes = refusing()
    waits = [(await passes.over()).wake_after for _ in range(8)]
    nominal = [min(LONGEST, SHORTEST * 2.0**number) for number in range(8)]
    assert all(
        wait is not None and 0.75 * most <= wait <= most
        for wait, most in zip(waits, nominal, strict=True)
    )


@pytest.mark.parametrize("what", ["reason", "object", "spec"])
async def test_another_reason_another_object_or_another_spec_is_tried_again_soon(what: str) -> None:
    passes = refusing()
    for _ in range(6):
        await passes.over()
    match what:
        case "reason":
            passes.answer = Refusal("KindNotServed", "no such kind", object="web", retry_after=30.0)
        case "object":
            passes.answer = Refusal("Forbidden", "may not", object="api", retry_after=30.0)
        case _:
            passes.api.one(ROLLOUTS, "web")["metadata"]["generation"] = 7
    wait = (await passes.over()).wake_after
    assert wait is not None
    assert wait <= SHORTEST


async def test_a_refused_action_that_works_again_starts_with_the_short_delay() -> None:
    passes = refusing()
    for _ in range(6):
        await passes.over()
    passes.answer = Done(wrote=True)
    await passes.over()
    passes.answer = FORBIDDEN
    wait = (await passes.over()).wake_after
    assert wait is not None
    assert wait <= SHORTEST


async def test_a_refusal_that_only_a_change_can_end_is_not_tried_again_by_time() -> None:
    passes = refusing()
    passes.answer = Refusal("ScriptAnswerRefused", "unknown host", object="web")
    assert (await passes.over()).wake_after is None


async def test_a_route_that_was_put_back_is_reported_once_though_its_status_was_not_written() -> (
    None
):
    world = started(watched=False)
    world.touch_routes()
    passes = Passes(world)
    passes.api.forbidden.add(("patch", "rollouts"))
    await passes.over()
    assert [reason for reason, _ in passes.notes] == [reasons.STATUS_REFUSED]
    passes.api.forbidden.clear()
    world.pass_over(KEY)
    await passes.over()
    assert [reason for reason, _ in passes.notes].count(reasons.ROUTE_PUT_BACK) == 1
    await passes.over()
    assert [reason for reason, _ in passes.notes].count(reasons.ROUTE_PUT_BACK) == 1


async def test_a_status_that_may_not_be_written_is_reported_and_waits_for_the_right() -> None:
    world = started(watched=False)
    world.touch_routes()
    passes = Passes(world)
    missing = Right("patch", "rollouts.kruise.io", "rollouts", "status", "shop", "web")
    passes.api.refusal = Forbidden("cannot patch rollouts/status", status=403)
    passes.api.refusal.right = missing
    looks = [(await passes.over()).wake_after for _ in range(2)]
    assert looks == [None, None]
    assert set(passes.awaited) == {(KEY, missing)}
    assert {reason for reason, _ in passes.notes} == {reasons.STATUS_REFUSED}
    assert dict(passes.notes)[reasons.STATUS_REFUSED].endswith("cannot patch rollouts/status")


async def test_a_status_that_a_policy_refuses_is_written_again_after_ten_seconds_at_most() -> None:
    world = started(watched=False)
    world.touch_routes()
    passes = Passes(world)
    passes.api.refusal = Invalid("denied by a policy", status=422)
    waits = [(await passes.over()).wake_after or 0.0 for _ in range(8)]
    assert waits[0] <= SHORTEST
    assert 0.75 * LONGEST <= waits[-1] <= LONGEST
    assert {reason for reason, _ in passes.notes} == {reasons.STATUS_REFUSED}


async def test_a_step_that_ends_by_itself_waits_for_no_approval() -> None:
    rollout = make_rollout(steps=(make_step("20%", "20%", pause=600), make_step("50%", "50%")))
    world = make_world(rollout)
    release(world)
    world.run_until(lambda: world.cluster.rollouts[KEY].status.current_step_state == "StepPaused")
    world.people.approve_step(KEY, 1)
    passes = Passes(world)
    await passes.over()
    assert ("StepPaused", "timer") in passes.left
    assert passes.approvals == 1


async def test_a_pause_ends_in_time_though_counters_of_the_status_still_wait_to_be_written() -> (
    None
):
    world = make_world(make_rollout(steps=(make_step("20%", pause=600), make_step("50%"))))
    release(world)
    world.run_until(lambda: world.cluster.rollouts[KEY].status.current_step_state == "StepPaused")
    passes = Passes(world)
    paused = await passes.over(1.0)
    assert paused.wake_after is not None
    passes.api.one(ROLLOUTS, "web")["status"]["canaryStatus"]["observedWorkloadGeneration"] = 0
    counted = await passes.over(paused.wake_after - 1.0)
    assert passes.status_writes == 0, "only counters changed"
    assert counted.wake_after == pytest.approx(1.0)


async def test_the_last_count_of_a_scaling_during_a_pause_is_written_at_once() -> None:
    world = make_world(make_rollout(steps=(make_step("50%"), make_step("100%"))))
    release(world)
    world.run_until(lambda: world.cluster.rollouts[KEY].status.current_step_state == "StepPaused")
    passes = Passes(world)
    await passes.over(1.0)
    assert passes.status_writes == 0
    passes.api.one(ROLLOUTS, "web")["status"]["canaryStatus"]["canaryReplicas"] += 1
    passes.api.one(ROLLOUTS, "web")["status"]["canaryStatus"]["canaryReadyReplicas"] += 1
    await passes.over(1.0)
    assert passes.status_writes == 1


async def test_a_step_that_a_person_ends_has_waited_for_people() -> None:
    passes = Passes(started())
    await passes.over()
    assert passes.status_writes == 0
    passes.world.people.approve_step(KEY, 1)
    passes = Passes(passes.world)
    await passes.over()
    assert passes.left == [("StepPaused", "people")]
    assert passes.entered == [StepState.STEP_UPGRADE]


async def test_a_pause_that_the_owner_prolongs_has_waited_for_people() -> None:
    world = make_world(make_rollout(steps=(make_step("20%", pause=600), make_step("50%"))))
    release(world)
    world.run_until(lambda: world.cluster.rollouts[KEY].status.current_step_state == "StepPaused")
    world.people.pause(KEY)
    world.rest()
    world.cluster.rollouts.delete(KEY)
    passes = Passes(world)
    await passes.over()
    assert passes.left == [("StepPaused", "people")]


def without_endpoints() -> Passes:
    """The pod of a step is ready and labelled; its endpoint is not seen yet."""
    world = make_world(make_rollout(steps=(make_step("20%", "20%"), make_step("50%", "50%"))))
    release(world)
    world.run_until(lambda: ours_of(world).state == StepState.STEP_TRAFFIC_ROUTING)
    passes = Passes(world)
    passes.store_status(before_traffic_routing)
    passes.hides_slices = True
    return passes


def before_traffic_routing(status: RolloutStatus) -> RolloutStatus:
    """The status as it was before the step's pods were ready."""
    still = enter(status, StepState.STEP_UPGRADE, NOW)
    return with_moonshift_status(still, endpoints_ready_since={})


async def test_the_state_that_waits_for_endpoints_is_written_and_reported_together_with_them() -> (
    None
):
    passes = without_endpoints()
    waits = await passes.over()
    assert waits.wake_after == pytest.approx(BRIEF.total_seconds())
    assert (passes.status_writes, passes.notes, passes.entered) == (0, [], [])
    passes.hides_slices = False
    await passes.over()
    assert passes.status_writes == 1
    assert passes.entered == [StepState.STEP_TRAFFIC_ROUTING]
    assert [reason for reason, _ in passes.notes].count(reasons.STEP_UPGRADED) == 1
    ours = passes.status.moonshift
    assert isinstance(ours, MoonshiftStatus)
    assert ours.endpoints_ready_since


async def test_the_state_that_waits_for_endpoints_is_written_alone_when_they_are_slow() -> None:
    passes = without_endpoints()
    await passes.over()
    await passes.over(BRIEF.total_seconds())
    assert passes.status_writes == 1
    assert passes.entered == [StepState.STEP_TRAFFIC_ROUTING]


FIRST, SECOND = (
    DeleteObject(POD, Key("shop", name), uid) for name, uid in (("web-1", "u1"), ("web-2", "u2"))
)


class TwoActions(Passes):
    """Every pass asks for the same two actions, and another message of the status; `first` is the answer of the first
    action.
    """

    def __init__(self, first: Outcome) -> None:
        self.first = first
        self.done: list[tuple[Action, str]] = []
        super().__init__(started(), decide=self._two, effects=self._noting)

    def _two(self, seen: Observation, _now: datetime) -> Decision:
        reported = structs.replace(seen.rollout.status, message="another")
        return Decision(reported, (FIRST, SECOND))

    def _noting(self, rollout: Rollout, *others: Any) -> Pass:
        passes = self

        class Noting(Pass):
            async def apply(self, action: Action) -> Outcome:
                stored = passes.status.message
                passes.done.append((action, stored))
                return passes.first if action is FIRST else Done(wrote=True)

        return Noting(rollout, *others)


@pytest.mark.parametrize(
    ("first", "carried_out"),
    [
        pytest.param(Done(wrote=True), [FIRST, SECOND], id="done"),
        pytest.param(NotYet("its Service is being changed", 5.0), [FIRST], id="not yet"),
        pytest.param(Refusal("Invalid", "may not be so", object="web"), [FIRST], id="refused"),
    ],
)
async def test_actions_are_carried_out_up_to_the_first_that_is_not_done(
    first: Outcome, carried_out: list[object]
) -> None:
    passes = TwoActions(first)
    await passes.over()
    assert [action for action, _ in passes.done] == carried_out


async def test_the_status_is_written_after_the_actions_that_it_reports() -> None:
    passes = TwoActions(Done(wrote=True))
    before = passes.status.message
    await passes.over()
    assert [stored for _, stored in passes.done] == [before, before]
    assert passes.status.message == "another"


async def test_a_pass_waits_until_the_caches_show_its_writes() -> None:
    passes = TwoActions(Done(wrote=True))
    passes.ledger.follow(DEPLOYMENTS.name, Store[Rollout]())
    passes.ledger.wrote(DEPLOYMENTS.name, Key("shop", "web"), "99", scope=KEY)
    waits = await passes.over()
    assert waits.wake_after is not None
    assert passes.done == []
    passes.ledger.forget(KEY)
    await passes.over()
    assert len(passes.done) == 2
