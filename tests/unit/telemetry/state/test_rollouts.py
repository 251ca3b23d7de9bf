"""The metrics of one Rollout on the leader's page."""

from datetime import timedelta

import pytest
from msgspec import structs

from controller.api.analysis import AnalysisRun, Verdict
from controller.api.meta import Condition
from tests.unit.builders import (
    KEY,
    make_rollout,
    make_step,
    make_world,
    ours_of,
    release,
    revision_of,
    wait,
)
from tests.unit.domain.rollout.scenes import approve, started
from tests.unit.telemetry.state.scraped import gauges_of
from tests.unit.worlds import World


def amend(world: World, **changes: object) -> None:
    """Another status, as somebody else may have written it."""
    rollout = world.cluster.rollouts[KEY]
    status = structs.replace(rollout.status, **changes)
    world.cluster.rollouts.put(structs.replace(rollout, status=status))


def ours(world: World, **changes: object) -> None:
    amend(world, moonshift=structs.replace(ours_of(world), **changes))


def test_a_release_at_its_first_step_is_described_completely() -> None:
    gauges = gauges_of(started())
    assert gauges.pop("state_seconds{StepPaused}") < 60
    assert gauges == {
        "info{Partition,Deployment}": 1,
        "workload_held{web,Deployment}": 1,
        "phase{Progressing}": 1,
        "step{}": 1,
        "steps{}": 2,
        "weight_desired{}": 20,
        "weight_actual{}": 20,
        "pods{new}": 2,
        "pods{stable}": 8,
        "ready_pods{new}": 2,
        "ready_pods{stable}": 8,
        "paused{person}": 1,
    }


def test_the_seconds_in_a_state_grow_with_the_clock() -> None:
    world = started()
    before = gauges_of(world)["state_seconds{StepPaused}"]
    world.cluster.set_clock(world.cluster.now + timedelta(minutes=7))
    assert gauges_of(world)["state_seconds{StepPaused}"] == before + 420


def test_pods_of_an_extra_deployment_are_new() -> None:
    gauges = gauges_of(started(style="canary"))
    assert gauges["pods{new}"] == 2
    assert gauges["pods{stable}"] == 10


def test_a_pod_that_is_being_deleted_is_not_counted() -> None:
    world = started()
    before = gauges_of(world)
    pods = world.cluster.pods
    stable = next(pod for pod in pods if pod.revision == revision_of(world, "v1"))
    metadata = structs.replace(stable.metadata, deletion_timestamp=world.cluster.now)
    pods.put(structs.replace(stable, metadata=metadata))
    assert gauges_of(world)["pods{stable}"] == before["pods{stable}"] - 1


def test_at_rest_all_pods_are_stable_and_nothing_is_waited_for() -> None:
    gauges = gauges_of(make_world())
    assert gauges["pods{stable}"] == 10
    assert gauges["phase{Healthy}"] == 1
    assert not any(
        name.startswith(("workload_held", "paused", "weight", "state_seconds", "gate"))
        for name in gauges
    )


def test_a_new_revision_is_stable_once_its_release_is_over() -> None:
    world = started()
    for _ in range(2):
        approve(world)
    gauges = gauges_of(world)
    assert gauges["pods{stable}"] == 10
    assert "pods{new}" not in gauges


def test_a_timed_pause_waits_for_no_person() -> None:
    world = make_world(make_rollout(steps=(make_step("20%", "20%", pause=600), make_step("50%"))))
    release(world)
    wait(world, 60)
    gauges = gauges_of(world)
    assert gauges["paused{timer}"] == 1
    assert "paused{person}" not in gauges


def test_a_release_that_its_owner_paused_says_so() -> None:
    world = started()
    world.people.pause(KEY)
    world.rest()
    gauges = gauges_of(world)
    assert gauges["paused{owner}"] == 1
    assert "paused{person}" not in gauges


def test_the_actual_weight_is_that_of_the_step_before_until_routes_follow() -> None:
    world = started()
    ours(world, step=2)
    gauges = gauges_of(world)
    assert gauges["weight_desired{}"] == 50
    assert gauges["weight_actual{}"] == 20


@pytest.mark.parametrize(("plan", "weight"), [("", 0), ("given-back-above-1", 0), ("other", None)])
def test_routes_that_were_restored_lead_nothing_and_unknown_ones_are_not_guessed(
    plan: str, weight: float | None
) -> None:
    world = started()
    ours(world, route_plan=plan)
    assert gauges_of(world).get("weight_actual{}") == weight


@pytest.mark.parametrize(
    ("reason", "shown"),
    [("Forbidden", "rights"), ("ScriptFailed", "script"), ("RouteHeld", "drift"), ("New", "other")],
)
def test_a_stalled_rollout_names_the_class_of_its_trouble(reason: str, shown: str) -> None:
    world = started()
    amend(world, conditions=(Condition("Stalled", "True", reason, "words of any length"),))
    assert gauges_of(world)[f"stalled{{{shown}}}"] == 1
    amend(world, conditions=(Condition("Stalled", "False", reason),))
    assert not any(name.startswith("stalled") for name in gauges_of(world))


def test_a_release_at_zero_replicas_is_in_no_state_that_can_take_too_long() -> None:
    world = started()
    ours(world, goal="ScaledAway", goal_since=None)
    assert not any(name.startswith("state_seconds") for name in gauges_of(world))
    ours(world, goal="ScaledAway", goal_since=ours_of(world).state_since)
    assert "state_seconds{Finalising}" in gauges_of(world)


def test_a_held_drift_is_reported_until_it_is_over() -> None:
    world = started()
    amend(world, conditions=(Condition("Drifted", "True", "RouteHeld"),))
    assert gauges_of(world)["drift_held{}"] == 1
    amend(world, conditions=(Condition("Drifted", "False", "RoutePutBack"),))
    assert "drift_held{}" not in gauges_of(world)


def test_the_verdicts_of_both_gates_are_reported() -> None:
    world = started()
    runs = (AnalysisRun(step=1, verdict=Verdict.FAILED), AnalysisRun(step=0))
    ours(world, analyses=runs)
    gauges = gauges_of(world)
    assert gauges["gate{step,Failed}"] == 1
    assert gauges["gate{background,Running}"] == 1


def test_words_that_somebody_wrote_into_a_status_become_no_labels() -> None:
    world = started()
    amend(world, phase="Pwned" * 100)
    assert gauges_of(world)["phase{Unknown}"] == 1


def test_the_end_of_a_release_is_a_state_of_its_own() -> None:
    world = started()
    ours(world, goal="Success", goal_since=world.cluster.now - timedelta(seconds=30))
    gauges = gauges_of(world)
    assert gauges["state_seconds{Finalising}"] == 30
    assert "weight_desired{}" not in gauges
