"""A release from admission to its end, in both styles: the order of its actions, and the objects that are left."""

import msgspec
import pytest

from controller.api import names
from controller.api.rollout import FinalisingStep, HttpRouteMatch, Phase, StepState, ValueMatch
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    inner_of,
    make_deployment,
    make_rollout,
    make_step,
    make_steps,
    make_strategy,
    make_world,
    ours_of,
    release,
    revision_of,
    sizes_of,
    status_of,
    wait,
    weight_of,
    workload_of,
)
from tests.unit.domain.rollout.scenes import approve, history, pin_of, started
from tests.unit.simulation.invariants import Watch
from tests.unit.worlds import World

STYLES = ("partition", "canary")
BOTH = pytest.mark.parametrize("style", STYLES)


# --- steps --------------------------------------------------------------------------------------


@BOTH
def test_a_step_with_traffic_waits_for_an_approval_with_pods_ready_and_the_route_moved(
    style: str,
) -> None:
    world = started(style)
    inner = inner_of(world)
    assert (inner.current_step_index, inner.next_step_index) == (1, 2)
    assert inner.current_step_state == StepState.STEP_PAUSED
    assert (inner.canary_replicas, inner.canary_ready_replicas) == (2, 2)
    assert weight_of(world) == 20
    assert status_of(world).message == (
        "Rollout is in step(1/2), and you need manually confirm to enter the next step"
    )


def test_partition_style_grows_beside_the_old_and_gives_their_share_back_after_the_route() -> None:
    world = make_world()
    release(world)
    seen = history(world, lambda: (sizes_of(world), weight_of(world)))
    world.rest()
    assert seen == [
        ({"v1": 10}, None),
        ({"v1": 10, "v2": 2}, None),
        ({"v1": 10, "v2": 2}, 20),
        ({"v1": 8, "v2": 2}, 20),
    ]


def extra_status(world: World) -> object:
    """As a client of the original reads it off the Deployment."""
    text = workload_of(world).metadata.annotations.get(names.EXTRA_STATUS)
    return None if text is None else msgspec.json.decode(text)


def test_ready_new_pods_of_a_step_are_noted_on_the_deployment_by_its_last_move() -> None:
    world = started(steps=make_steps("20%", "60%"))
    assert extra_status(world) == {"updatedReadyReplicas": 2, "expectedUpdatedReplicas": 2}
    approve(world)
    assert extra_status(world) == {"updatedReadyReplicas": 6, "expectedUpdatedReplicas": 6}
    approve(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert extra_status(world) is None


def test_the_grace_period_lies_between_the_route_and_the_old_share() -> None:
    world = make_world()
    release(world)
    world.run_until(lambda: weight_of(world) == 20)
    routed = world.cluster.now
    world.run_until(lambda: sizes_of(world)["v1"] == 8)
    assert (world.cluster.now - routed).total_seconds() == 3


def test_the_grace_period_lies_between_ready_endpoints_and_the_first_route() -> None:
    world = make_world()
    release(world)
    world.run_until(lambda: "web-canary" in ours_of(world).endpoints_ready_since)
    ready = world.cluster.now
    world.run_until(lambda: weight_of(world) == 20)
    assert (world.cluster.now - ready).total_seconds() == 3


def test_a_later_step_needs_no_grace_period_before_its_route() -> None:
    world = started()
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: inner_of(world).canary_ready_replicas == 5)
    ready = world.cluster.now
    world.run_until(lambda: weight_of(world) == 50)
    assert world.cluster.now == ready


@BOTH
def test_the_share_stays_until_the_next_step_gives_more(style: str) -> None:
    world = started(style)
    wait(world, 3)
    seen = history(world, lambda: weight_of(world))
    world.people.approve(KEY)
    world.run_until(lambda: weight_of(world) == 50)
    assert seen == [20, 50]


@BOTH
def test_the_stable_service_is_pinned_before_a_new_pod_exists(style: str) -> None:
    world = make_world(make_rollout(style=style))
    release(world)
    world.run_until(lambda: len(sizes_of(world)) > 1)
    assert pin_of(world) == revision_of(world, "v1")


@BOTH
def test_a_release_that_routes_later_is_pinned_from_the_first_step(style: str) -> None:
    steps = make_steps("10%", traffic=False) + make_steps("30%")
    world = started(style, steps)
    assert pin_of(world) == revision_of(world, "v1")
    assert weight_of(world) is None


@BOTH
def test_a_release_without_traffic_touches_no_service(style: str) -> None:
    world = make_world(make_rollout(style=style, steps=make_steps(3, "50%"), traffic=False))
    release(world)
    world.rest()
    assert pin_of(world) == ""
    assert inner_of(world).canary_ready_replicas == 3
    if style == "partition":
        assert sizes_of(world) == {"v1": 7, "v2": 3}


@BOTH
def test_a_step_without_traffic_restores_the_routes_of_the_one_before(style: str) -> None:
    world = started(style, make_steps("20%") + make_steps("40%", traffic=False))
    assert weight_of(world) == 20
    approve(world)
    assert weight_of(world) is None
    assert inner_of(world).current_step_index == 2
    assert pin_of(world) == ""


def test_matches_route_without_a_weight() -> None:
    match = HttpRouteMatch(headers=(ValueMatch(name="user", value="ann"),))
    world = started(steps=(make_step("20%", matches=(match,)), make_step("50%", "50%")))
    plan = world.routes[0].plan
    assert plan is not None
    assert (plan.weight, plan.matches) == (
        None,
        [{"headers": [{"name": "user", "value": "ann"}]}],
    )
    assert status_of(world).phase == Phase.PROGRESSING


def test_a_partition_step_of_all_replicas_unpins_first_and_leaves_the_route() -> None:
    world = started(steps=make_steps("20%", "100%"))
    seen = history(world, lambda: (pin_of(world), "v1" in sizes_of(world), weight_of(world)))
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: "v1" not in sizes_of(world))
    stable = revision_of(world, "v1")
    assert seen == [(stable, True, 20), ("", True, 20), ("", False, 20)]


def test_a_workload_of_one_pod_is_never_pinned_and_never_without_a_pod() -> None:
    world = make_world(deployment=make_deployment(replicas=1))
    Watch(world)
    release(world)
    seen = history(world, lambda: (sizes_of(world), pin_of(world)))
    world.rest()
    assert seen == [({"v1": 1}, ""), ({"v1": 1, "v2": 1}, ""), ({"v2": 1}, "")]
    assert weight_of(world) is None


def test_the_owners_limits_make_several_small_moves() -> None:
    world = make_world(
        make_rollout(steps=make_steps("50%", traffic=False), traffic=False),
        make_deployment(max_surge=0, max_unavailable=2),
    )
    release(world)
    seen = history(world, lambda: sizes_of(world))
    world.rest()
    assert seen == [
        {"v1": 10},
        {"v1": 8},
        {"v1": 8, "v2": 2},
        {"v1": 6, "v2": 2},
        {"v1": 6, "v2": 4},
        {"v1": 5, "v2": 4},
        {"v1": 5, "v2": 5},
    ]


@pytest.mark.parametrize("traffic", ["20%", None])
@pytest.mark.parametrize(("replicas", "batch", "new"), [(130, 1, 1), (150, 2, 2), (299, "33%", 99)])
def test_above_100_replicas_a_batch_that_no_percentage_can_say_ends_too(
    replicas: int, batch: int | str, new: int, traffic: str | None
) -> None:
    steps = (make_step(batch, traffic), make_step("50%"))
    world = started(steps=steps, replicas=replicas)
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    assert sizes_of(world)["v2"] == new


def test_the_owners_min_ready_seconds_count_before_traffic() -> None:
    world = make_world(deployment=make_deployment(min_ready_seconds=30))
    release(world)
    made = world.cluster.now
    world.run_until(lambda: inner_of(world).canary_ready_replicas == 2)
    assert (world.cluster.now - made).total_seconds() == 32


def test_a_batch_waits_for_unready_pods_and_a_threshold_lets_it_pass() -> None:
    strict = make_world()
    strict.people.fail_pods(frozenset({revision_of(strict, "v2")}))
    release(strict)
    strict.rest()
    assert inner_of(strict).current_step_state == StepState.STEP_UPGRADE
    assert inner_of(strict).canary_ready_replicas == 0
    tolerant = make_world(make_rollout(strategy=make_strategy(failure_threshold=1)))
    release(tolerant)
    tolerant.run_until(lambda: "v2" in sizes_of(tolerant))
    one = next(p for p in tolerant.cluster.pods if p.revision == revision_of(tolerant, "v2"))
    tolerant.people.fail_pods(frozenset({one.metadata.uid}))
    tolerant.run_until(
        lambda: inner_of(tolerant).current_step_state == StepState.STEP_TRAFFIC_ROUTING
    )
    assert inner_of(tolerant).canary_ready_replicas == 1


@BOTH
def test_new_pods_say_their_release_and_batch(style: str) -> None:
    world = started(style)
    approve(world)
    new = [pod for pod in world.cluster.pods if pod.revision == revision_of(world, "v2")]
    batches = sorted(pod.metadata.labels[names.ROLLOUT_BATCH_ID] for pod in new)
    assert batches == ["1", "1", "2", "2", "2"]
    ids = {pod.metadata.labels[names.ROLLOUT_ID] for pod in new}
    assert ids == {inner_of(world).observed_rollout_id}


def test_the_owners_rollout_id_is_followed_during_a_release() -> None:
    world = started()
    workload = workload_of(world)
    world.people.label(KEY, {**workload.metadata.labels, names.ROLLOUT_ID: "r-7"})
    world.rest()
    assert inner_of(world).observed_rollout_id == "r-7"
    new = [pod for pod in world.cluster.pods if pod.revision == revision_of(world, "v2")]
    assert {pod.metadata.labels[names.ROLLOUT_ID] for pod in new} == {"r-7"}


# --- the end ------------------------------------------------------------------------------------


@BOTH
def test_success_restores_everything_except_the_template(style: str) -> None:
    world = started(style)
    approve(world)
    approve(world)
    status = status_of(world)
    assert status.phase == Phase.HEALTHY
    succeeded = condition(status, "Succeeded")
    assert succeeded is not None
    assert succeeded.status == "True"
    assert sizes_of(world) == {"v2": 10}
    assert (pin_of(world), weight_of(world)) == ("", None)
    workload = workload_of(world)
    assert workload.metadata.annotations == {}
    assert workload.metadata.labels == {names.WORKLOAD_TYPE: "deployment"}
    assert workload.spec.min_ready_seconds == 0
    assert [s.metadata.name for s in world.cluster.services] == ["web"]


@BOTH
def test_routes_are_restored_after_the_workload_is_upgraded(style: str) -> None:
    world = started(style)
    approve(world)
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: weight_of(world) is None)
    assert workload_of(world).status.updated_replicas == 10
    assert "v1" not in sizes_of(world)


@BOTH
def test_the_stable_service_is_unpinned_before_the_workload_is_upgraded(style: str) -> None:
    world = started(style)
    approve(world)
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: workload_of(world).spec.min_ready_seconds == 0)
    assert pin_of(world) == ""
    assert weight_of(world) == 50


@BOTH
def test_canary_service_outlives_the_routes_by_the_grace_period(style: str) -> None:
    world = started(style)
    approve(world)
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: weight_of(world) is None)
    restored = world.cluster.now
    world.run_until(lambda: pin_of(world, "web-canary") == "gone")
    assert (world.cluster.now - restored).total_seconds() == 3


@BOTH
def test_the_mark_goes_last(style: str) -> None:
    world = started(style)
    approve(world)
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: names.IN_PROGRESSING not in workload_of(world).metadata.annotations)
    assert weight_of(world) is None
    assert pin_of(world, "web-canary") == "gone"


def finalising_step(world: World) -> str:
    """Which part of the end was decided last."""
    decided = world.intended(KEY)
    inner = decided.of_release if decided is not None else None
    return inner.finalising_step if inner is not None else ""


def test_the_finalising_steps_are_walked_through_in_order() -> None:
    world = started("canary")
    approve(world)
    # The parts of the end that take no time are decided one after the other, and not written down each.
    seen = history(world, lambda: finalising_step(world))
    wait(world, 3)
    world.people.approve(KEY)
    world.rest()
    assert seen == [
        "",
        FinalisingStep.RESTORE_STABLE_SERVICE,
        FinalisingStep.RESUME_WORKLOAD,
        FinalisingStep.ROUTE_TO_STABLE,
        FinalisingStep.REMOVE_CANARY_SERVICE,
        FinalisingStep.RELEASE_WORKLOAD_CONTROL,
        FinalisingStep.END,
    ]


def test_a_last_step_of_exactly_100_percent_goes_on_by_itself() -> None:
    world = started(steps=make_steps("20%", "100%"))
    approve(world)
    assert status_of(world).phase == Phase.HEALTHY


def test_a_last_step_of_all_replicas_as_a_number_waits() -> None:
    world = started(steps=make_steps("20%", 10))
    approve(world)
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED


@BOTH
def test_a_second_release_follows_the_first(style: str) -> None:
    world = started(style)
    approve(world)
    approve(world)
    release(world, "v3")
    world.rest()
    assert pin_of(world) == revision_of(world, "v2")
    approve(world)
    approve(world)
    assert sizes_of(world) == {"v3": 10}
    assert status_of(world).phase == Phase.HEALTHY
