"""A rollback in batches, if the Rollout asks for it."""

import pytest
from msgspec import structs

from controller.api import names
from controller.api.analysis import Analysis, Metric, OnFailure, PrometheusQuery, ValueRule
from controller.api.checks import Check
from controller.api.rollout import (
    BlueGreenStrategy,
    CanaryStrategy,
    Phase,
    Step,
    StepState,
)
from controller.domain import reasons
from controller.domain.checks.answering import Holds
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    STRATEGIES,
    inner_of,
    make_pod_set,
    make_set_world,
    make_step,
    make_steps,
    make_strategy,
    ours_of,
    release_set,
    revision_of,
    set_of,
    status_of,
    strategy_of,
    versions_of,
    wait,
)
from tests.unit.domain.rollout.scenes import approve, history, reason_of
from tests.unit.worlds import World

ASKED = {names.ROLLBACK_IN_BATCH: "true"}
RETURNING = ("StatefulSet", "Advanced StatefulSet", "CloneSet", "a kind labelled as StatefulSet")
EVERY = pytest.mark.parametrize("which", RETURNING)


def half_way(
    which: str,
    replicas: int = 10,
    plan: CanaryStrategy | BlueGreenStrategy | None = None,
    annotations: dict[str, str] = ASKED,
) -> World:
    """A release of v2 that has half of the pods and waits."""
    canary = plan or make_strategy(steps=make_steps("50%", "80%", traffic=False), traffic=False)
    pod_set = make_pod_set(which, replicas=replicas)
    world = make_set_world(which, pod_set, strategy=canary, annotations=annotations)
    release_set(world)
    world.rest()
    return world


def taken_back(which: str, replicas: int = 10) -> World:
    """The template is v1 again, and the first step of the rollback waits."""
    world = half_way(which, replicas)
    release_set(world, "v1")
    world.rest()
    return world


def succeeded(world: World) -> str:
    found = condition(status_of(world), "Succeeded")
    return found.status if found is not None else ""


def marked(world: World) -> int:
    pods = world.cluster.pods_of(set_of(world))
    return sum(names.NO_NEED_UPDATE in pod.metadata.labels for pod in pods)


def batches_of(world: World) -> list[str]:
    """Batch numbers on pods of this release."""
    pods = world.cluster.pods_of(set_of(world))
    ours = inner_of(world).observed_rollout_id
    return sorted(
        pod.metadata.labels[names.ROLLOUT_BATCH_ID]
        for pod in pods
        if pod.metadata.labels.get(names.ROLLOUT_ID) == ours and not pod.metadata.deleting
    )


def assert_over(world: World, which: str) -> None:
    assert status_of(world).phase == Phase.HEALTHY
    assert strategy_of(world) == STRATEGIES[which]
    assert not {*names.OURS_ON_WORKLOAD} & set_of(world).metadata.annotations.keys()
    assert marked(world) == 0
    assert ours_of(world).returning is False


@EVERY
def test_the_way_back_walks_the_steps_over_the_pods_that_left(which: str) -> None:
    world = half_way(which)
    assert versions_of(world) == {"v1": 5, "v2": 5}
    release_set(world, "v1")
    seen = history(world, lambda: versions_of(world).get("v2", 0))
    world.rest()
    assert versions_of(world) == {"v1": 8, "v2": 2}
    assert min(seen) == 2
    assert marked(world) == 5
    inner = inner_of(world)
    assert (inner.current_step_index, inner.current_step_state) == (1, StepState.STEP_PAUSED)
    assert ours_of(world).template == world.cluster.hash_of(set_of(world).spec.template)
    assert batches_of(world) == ["1"] * 5
    approve(world)
    assert versions_of(world) == {"v1": 9, "v2": 1}
    assert sorted(batches_of(world)) == ["1"] * 5 + ["2"] * 3
    approve(world)
    assert versions_of(world) == {"v1": 10}
    assert succeeded(world) == "True"
    assert_over(world, which)


@pytest.mark.parametrize(
    ("which", "partition"), [("CloneSet", "40%"), ("StatefulSet", {"partition": 18})]
)
def test_the_partitions_are_the_originals(which: str, partition: object) -> None:
    steps = (make_step("50%"), make_step("50%"))
    plan = make_strategy(steps=steps, traffic=False)
    world = half_way(which, 20, plan)
    assert versions_of(world) == {"v1": 10, "v2": 10}
    world.people.replan(KEY, (make_step("20%"), make_step("100%")))
    release_set(world, "v1")
    world.rest()
    assert versions_of(world) == {"v1": 12, "v2": 8}
    live = strategy_of(world)
    assert live["partition" if which == "CloneSet" else "rollingUpdate"] == partition
    assert batches_of(world) == ["1"] * 4


@EVERY
def test_without_the_annotation_everything_goes_back_at_once(which: str) -> None:
    world = half_way(which, annotations={names.ROLLBACK_IN_BATCH: "false"})
    release_set(world, "v1")
    world.rest()
    assert versions_of(world) == {"v1": 10}
    assert succeeded(world) == "False"
    assert_over(world, which)


def test_with_traffic_the_way_back_is_taken_at_once() -> None:
    plan = make_strategy(steps=make_steps("50%", "80%"))
    world = half_way("StatefulSet", 10, plan)
    release_set(world, "v1")
    world.rest()
    assert versions_of(world) == {"v1": 10}
    assert_over(world, "StatefulSet")


def test_a_blue_green_rollback_is_a_switch() -> None:
    world = half_way("CloneSet", 4, BlueGreenStrategy(steps=(Step(replicas="50%"),)))
    assert versions_of(world) == {"v1": 4, "v2": 2}
    release_set(world, "v1")
    world.rest()
    assert versions_of(world) == {"v1": 4}
    assert_over(world, "CloneSet")


def test_other_kinds_go_back_at_once() -> None:
    plan = make_strategy(steps=make_steps("40%", "80%", traffic=False), traffic=False)
    world = make_set_world("DaemonSet", strategy=plan, annotations=ASKED)
    release_set(world)
    world.rest()
    release_set(world, "v1")
    world.rest()
    assert versions_of(world) == {"v1": 5}
    assert succeeded(world) == "False"


@EVERY
def test_before_the_first_new_pod_there_is_nothing_to_take_back_in_batches(which: str) -> None:
    plan = make_strategy(steps=make_steps("50%", traffic=False), traffic=False)
    world = make_set_world(which, strategy=plan, annotations=ASKED)
    release_set(world)
    world.pass_over(KEY)
    release_set(world, "v1")
    world.rest()
    assert versions_of(world) == {"v1": 5}
    assert succeeded(world) == "False"
    assert_over(world, which)


@EVERY
def test_after_a_step_of_all_pods_every_pod_is_rolled_back_in_batches(which: str) -> None:
    plan = make_strategy(steps=make_steps("100%", "100%", traffic=False), traffic=False)
    world = half_way(which, 4, plan)
    assert versions_of(world) == {"v2": 4}
    world.people.replan(KEY, make_steps("50%", "100%", traffic=False))
    release_set(world, "v1")
    world.rest()
    assert versions_of(world) == {"v1": 2, "v2": 2}
    approve(world)
    assert versions_of(world) == {"v1": 4}
    assert succeeded(world) == "True"


@EVERY
def test_taking_the_annotation_off_gives_up_on_steps(which: str) -> None:
    world = taken_back(which)
    rollout = world.cluster.rollouts[KEY]
    meta = structs.replace(rollout.metadata, annotations={})
    world.cluster.rollouts.put(structs.replace(rollout, metadata=meta))
    world.rest()
    assert versions_of(world) == {"v1": 10}
    assert succeeded(world) == "False"
    assert_over(world, which)


@EVERY
def test_a_third_revision_starts_from_the_stable_one(which: str) -> None:
    world = taken_back(which)
    stable = ours_of(world).stable_revision
    release_set(world, "v3")
    world.rest()
    assert ours_of(world).stable_revision == stable
    assert versions_of(world)["v3"] == 5
    assert marked(world) == 0
    approve(world)
    approve(world)
    assert versions_of(world) == {"v3": 10}
    assert_over(world, which)


@EVERY
def test_the_revision_that_was_rolled_back_may_be_requested_again(which: str) -> None:
    world = taken_back(which)
    release_set(world, "v2")
    world.rest()
    assert inner_of(world).current_step_index == 1
    approve(world)
    approve(world)
    assert versions_of(world) == {"v2": 10}
    assert_over(world, which)


@EVERY
@pytest.mark.parametrize("how", ["disable", "delete"])
def test_disabling_or_deleting_during_a_release_restores_everything(which: str, how: str) -> None:
    world = taken_back(which)
    if how == "disable":
        world.people.disable(KEY)
    else:
        world.cluster.rollouts.delete(KEY)
    world.rest()
    assert versions_of(world) == {"v1": 10}
    assert marked(world) == 0


@EVERY
def test_a_jump_on_the_way_back_goes_to_that_step(which: str) -> None:
    world = taken_back(which)
    world.people.jump(KEY, 2)
    world.rest()
    assert versions_of(world) == {"v1": 9, "v2": 1}
    world.people.jump(KEY, 1)
    world.rest()
    assert inner_of(world).current_step_index == 1
    assert versions_of(world) == {"v1": 9, "v2": 1}


@EVERY
def test_a_pause_holds_the_way_back(which: str) -> None:
    world = half_way(which)
    world.people.pause(KEY)
    world.rest()
    release_set(world, "v1")
    world.rest()
    assert versions_of(world) == {"v1": 5, "v2": 5}
    assert reason_of(world) == reasons.PAUSED
    world.people.pause(KEY, paused=False)
    world.rest()
    assert versions_of(world) == {"v1": 8, "v2": 2}


@EVERY
def test_scaled_on_the_way_back_the_steps_keep_their_sense(which: str) -> None:
    world = taken_back(which)
    world.people.edit_set(KEY, replicas=14)
    world.rest()
    sizes = versions_of(world)
    assert sum(sizes.values()) == 14
    approve(world)
    approve(world)
    assert versions_of(world) == {"v1": 14}
    assert_over(world, which)


def test_broken_pods_of_the_revision_that_is_rolled_back_stop_nothing() -> None:
    world = half_way("StatefulSet")
    world.people.fail_pods(frozenset({f"web-{revision_of(world, 'v2')}"}))
    world.rest()
    release_set(world, "v1")
    world.rest()
    assert versions_of(world) == {"v1": 10}
    approve(world)
    approve(world)
    assert_over(world, "StatefulSet")


def test_a_revision_given_up_by_a_deadline_goes_back_at_once() -> None:
    plan = make_strategy(steps=make_steps("50%", "80%", traffic=False), traffic=False)
    plan = structs.replace(plan, progress_deadline_seconds=60, on_deadline_exceeded="Rollback")
    world = make_set_world("StatefulSet", strategy=plan, annotations=ASKED)
    world.people.fail_pods(frozenset({f"web-{revision_of(world, 'v2')}"}))
    release_set(world)
    wait(world, 120)
    world.rest()
    assert versions_of(world) == {"v1": 5}
    assert status_of(world).phase == Phase.HEALTHY


def test_a_way_back_that_takes_too_long_is_reported_and_goes_on() -> None:
    plan = make_strategy(steps=make_steps("50%", "80%", traffic=False), traffic=False)
    plan = structs.replace(plan, progress_deadline_seconds=60, on_deadline_exceeded="Rollback")
    world = half_way("CloneSet", 10, plan)
    world.people.fail_pods(frozenset({revision_of(world, "v1")}))
    release_set(world, "v1")
    wait(world, 120)
    assert reason_of(world, "Stalled") == reasons.DEADLINE_EXCEEDED
    assert ours_of(world).failed_template == ""
    world.people.heal()
    world.rest()
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED


def test_the_release_that_was_rolled_back_is_recorded_as_such() -> None:
    world = half_way("StatefulSet")
    world.cluster.histories_kept = 5
    release_set(world, "v1")
    world.rest()
    approve(world)
    approve(world)
    outcomes = [found.status.outcome for found in world.cluster.histories]
    assert outcomes == ["RolledBack", "Succeeded"]


def test_pods_carry_the_owners_own_rollout_id() -> None:
    world = half_way("StatefulSet")
    labels = {**set_of(world).metadata.labels, names.ROLLOUT_ID: "mine"}
    world.people.label_set(KEY, labels)
    release_set(world, "v1")
    world.rest()
    assert inner_of(world).observed_rollout_id == "mine"
    assert batches_of(world) == ["1"] * 5


@EVERY
def test_a_gate_that_fails_on_the_way_back_holds_and_gives_the_stable_version_not_up(
    which: str,
) -> None:
    metric = Metric(
        name="errors",
        prometheus=PrometheusQuery(query="x"),
        success=ValueRule(max=0.01),
        interval="10s",
    )
    gate = Analysis(metrics=(metric,), on_failure=OnFailure.ROLLBACK)
    first, second = make_steps("50%", "80%", traffic=False)
    plan = make_strategy(steps=(structs.replace(first, analysis=gate), second), traffic=False)
    pod_set = make_pod_set(which, replicas=10)
    world = make_set_world(which, pod_set, strategy=plan, annotations=ASKED)
    world.passes.measures.series["errors"] = (0.001,)
    release_set(world)
    wait(world, 40)
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    world.passes.measures.series["errors"] = (0.5,)
    release_set(world, "v1")
    wait(world, 60)
    assert ours_of(world).failed_template == ""
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    assert reason_of(world, "Stalled") == reasons.ANALYSIS_FAILED
    approve(world)
    assert inner_of(world).current_step_index == 2


@EVERY
def test_a_way_back_waits_for_no_check(which: str) -> None:
    checks = tuple(Check(name=at, script="http", at=at) for at in ("before", "routed"))
    first, second = make_steps("50%", "80%", traffic=False)
    steps = (structs.replace(first, checks=checks), structs.replace(second, checks=checks))
    world = half_way(which, plan=make_strategy(steps=steps, traffic=False))
    world.passes.checks.series |= dict.fromkeys(("before", "routed"), (Holds("no"),))
    asked = len(world.passes.checks.asked)
    release_set(world, "v1")
    world.rest()
    approve(world)
    approve(world)
    assert len(world.passes.checks.asked) == asked
    assert_over(world, which)
