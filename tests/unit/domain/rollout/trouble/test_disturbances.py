"""Disturbances: rollback, a third revision, deletion, disabling, lost workloads, and which one has precedence."""

import pytest
from msgspec import structs

from controller.api import names
from controller.api.meta import Key, ObjectMeta
from controller.api.rollout import Phase, StepState, WorkloadRef
from controller.domain import reasons
from controller.domain.rollout.phases import decide
from controller.domain.rollout.words import messages
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    inner_of,
    make_deployment,
    make_rollout,
    make_steps,
    make_strategy,
    make_world,
    original_name,
    release,
    revision_of,
    sizes_of,
    status_of,
    wait,
    weight_of,
    workload_of,
)
from tests.unit.domain.rollout.scenes import (
    BOTH,
    EVERYWHERE,
    approve,
    first_instants,
    history,
    in_state,
    pin_of,
    reason_of,
    started,
)

# --- rollback -----------------------------------------------------------------------------------


@BOTH
@EVERYWHERE
def test_a_rollback_from_any_state_ends_canceled_on_the_old_template(
    state: StepState, style: str
) -> None:
    world = in_state(state, style)
    release(world, "v1")
    world.rest()
    status = status_of(world)
    succeeded = condition(status, "Succeeded")
    assert status.phase == Phase.HEALTHY
    assert succeeded is not None
    assert succeeded.status == "False"
    assert sizes_of(world) == {"v1": 10}
    assert (pin_of(world), pin_of(world, "web-canary"), weight_of(world)) == ("", "gone", None)
    assert workload_of(world).metadata.annotations == {}


@BOTH
def test_rollback_outranks_pause(style: str) -> None:
    world = started(style)
    world.people.pause(KEY)
    world.rest()
    assert reason_of(world) == reasons.PAUSED
    release(world, "v1")
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY


@BOTH
def test_rollback_moves_traffic_before_pods(style: str) -> None:
    world = started(style)
    seen = first_instants(
        world,
        restored=lambda: weight_of(world) is None,
        gone=lambda: "v2" not in sizes_of(world) and "+v2" not in sizes_of(world),
        unpinned=lambda: pin_of(world) == "",
    )
    release(world, "v1")
    world.rest()
    assert list(seen) == ["restored", "gone", "unpinned"]
    assert (seen["gone"] - seen["restored"]).total_seconds() >= 3


@pytest.mark.parametrize("traffic", [True, False])
@pytest.mark.parametrize("quota", [11, 12])
def test_a_quota_with_less_room_than_the_owners_surge_delays_a_release_and_does_not_stop_it(
    quota: int, traffic: bool
) -> None:
    plan = make_steps("30%", "50%")
    world = make_world(make_rollout(steps=plan, traffic=traffic), make_deployment())
    world.people.forbid_pods("exceeded quota", quota)
    ready = history(world, lambda: sum(p.ready_since is not None for p in world.cluster.pods))
    release(world)
    world.rest()
    assert sizes_of(world) == {"v1": 7, "v2": 3}
    approve(world)
    assert sizes_of(world) == {"v1": 5, "v2": 5}
    # Ready pods are never fewer than the owner's maxUnavailable allows; the first states are before any release.
    assert min(ready) >= 8


def test_a_template_that_is_back_before_the_first_look_is_a_rollback() -> None:
    world = make_world()
    release(world, "v2")
    release(world, "v1")
    world.rest()
    assert sizes_of(world) == {"v1": 10}
    assert workload_of(world).spec.min_ready_seconds == 0
    assert status_of(world).phase == Phase.HEALTHY


def test_a_rollback_that_is_reverted_starts_the_release_again() -> None:
    world = started()
    release(world, "v1")
    world.pass_over(KEY)
    release(world, "v2")
    world.rest()
    assert status_of(world).phase == Phase.PROGRESSING
    assert inner_of(world).canary_revision == original_name("v2")
    assert inner_of(world).current_step_index == 1


# --- a third revision ---------------------------------------------------------------------------


@BOTH
@EVERYWHERE
def test_a_third_revision_from_any_state_starts_at_step_1(state: StepState, style: str) -> None:
    world = in_state(state, style)
    release(world, "v3")
    world.rest()
    inner = inner_of(world)
    assert (inner.current_step_index, inner.current_step_state) == (1, StepState.STEP_PAUSED)
    assert inner.canary_revision == original_name("v3")
    assert weight_of(world) == 20
    assert pin_of(world, "web-canary") == revision_of(world, "v3")
    sizes = sizes_of(world)
    assert sizes.get("v3", sizes.get("+v3")) == 2
    approve(world)
    approve(world)
    assert sizes_of(world) == {"v3": 10}


@BOTH
def test_a_third_revision_sends_traffic_to_stable_before_the_abandoned_pods_go(style: str) -> None:
    world = started(style)
    seen = first_instants(
        world,
        restored=lambda: weight_of(world) is None,
        gone=lambda: "v2" not in sizes_of(world) and "+v2" not in sizes_of(world),
    )
    release(world, "v3")
    world.rest()
    assert list(seen) == ["restored", "gone"]
    assert (seen["gone"] - seen["restored"]).total_seconds() >= 3


@BOTH
def test_the_stable_service_stays_pinned_to_stable_while_a_third_revision_comes(style: str) -> None:
    world = started(style)
    seen = history(world, lambda: pin_of(world))
    release(world, "v3")
    world.rest()
    assert seen == [revision_of(world, "v1")]


def test_a_revision_that_took_all_pods_is_stable_for_the_next() -> None:
    world = started(steps=make_steps("20%", 10), replicas=10)
    approve(world)
    assert sizes_of(world) == {"v2": 10}
    release(world, "v3")
    world.rest()
    assert sizes_of(world) == {"v2": 8, "v3": 2}
    assert pin_of(world) == revision_of(world, "v2")


def test_an_approved_revision_with_most_of_the_pods_is_stable_for_the_next() -> None:
    world = started()
    approve(world)
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: sizes_of(world).get("v2", 0) > 6)
    release(world, "v3")
    world.rest()
    assert pin_of(world) == revision_of(world, "v2")
    assert sizes_of(world) == {"v2": 8, "v3": 2}


def test_a_third_revision_that_goes_back_to_the_second_starts_it_again() -> None:
    world = started()
    release(world, "v3")
    world.pass_over(KEY)
    release(world, "v2")
    world.rest()
    inner = inner_of(world)
    assert inner.canary_revision == original_name("v2")
    assert (inner.current_step_index, inner.current_step_state) == (1, StepState.STEP_PAUSED)


# --- deletion and disabling ---------------------------------------------------------------------


@BOTH
@EVERYWHERE
@pytest.mark.parametrize("how", ["deleted", "disabled"])
def test_deletion_and_disabling_from_any_state_let_the_workload_go_on(
    how: str, state: StepState, style: str
) -> None:
    world = in_state(state, style)
    if how == "deleted":
        world.cluster.rollouts.delete(KEY)
    else:
        world.people.disable(KEY)
    world.rest()
    assert sizes_of(world) == {"v2": 10}
    assert (pin_of(world), pin_of(world, "web-canary"), weight_of(world)) == ("", "gone", None)
    workload = workload_of(world)
    assert workload.metadata.annotations == {}
    assert workload.spec.min_ready_seconds == 0
    if how == "deleted":
        assert world.cluster.rollouts.get(KEY) is None
        assert workload.metadata.labels == {}
    else:
        assert status_of(world).phase == Phase.DISABLED
        assert workload.metadata.labels == {names.WORKLOAD_TYPE: "deployment"}


@BOTH
@pytest.mark.parametrize("how", ["deleted", "disabled"])
def test_the_routes_go_to_stable_first_and_the_new_pods_behind_them_last(
    how: str, style: str
) -> None:
    world = started(style)
    seen = first_instants(
        world,
        restored=lambda: weight_of(world) is None,
        unpinned=lambda: pin_of(world) == "",
        service_gone=lambda: pin_of(world, "web-canary") == "gone",
        released=lambda: workload_of(world).spec.min_ready_seconds == 0,
    )
    if how == "deleted":
        world.cluster.rollouts.delete(KEY)
    else:
        world.people.disable(KEY)
    world.rest()
    assert list(seen) == ["restored", "unpinned", "service_gone", "released"]
    assert (seen["unpinned"] - seen["restored"]).total_seconds() == 3


def test_an_idle_rollout_is_disabled_at_once_and_enabled_again() -> None:
    world = make_world()
    world.people.disable(KEY)
    world.rest()
    assert status_of(world).phase == Phase.DISABLED
    release(world)
    world.rest()
    assert sizes_of(world) == {"v2": 10}
    world.people.disable(KEY, disabled=False)
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY


def test_disabling_runs_to_its_end_though_the_rollout_is_enabled_again() -> None:
    world = started()
    world.people.disable(KEY)
    world.pass_over(KEY)
    assert status_of(world).phase == Phase.DISABLING
    world.people.disable(KEY, disabled=False)
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert status_of(world).message == messages.HEALTHY
    assert sizes_of(world) == {"v2": 10}
    assert weight_of(world) is None


def test_a_rollout_without_its_finalizer_is_left_to_go() -> None:
    world = make_world()
    rollout = world.cluster.rollouts[KEY]
    meta = ObjectMeta(
        name="web", namespace="shop", deletion_timestamp=world.cluster.now, finalizers=("other",)
    )
    seen = world.observe(KEY)
    assert seen is not None
    gone = type(rollout)(metadata=meta, spec=rollout.spec, status=rollout.status)
    bare = type(seen)(rollout=gone, plan_hash=seen.plan_hash)
    decision = decide(bare, world.cluster.now)
    assert decision.actions == ()
    terminating = condition(decision.status, "Terminating")
    assert terminating is not None
    assert (terminating.status, terminating.reason) == ("False", reasons.COMPLETED)


def test_a_workload_that_another_rollout_holds_is_not_let_go() -> None:
    world = started()
    other = make_rollout()
    key = KEY._replace(name="other")
    world.cluster.rollouts.put(
        type(other)(metadata=ObjectMeta(name="other", namespace="shop"), spec=other.spec)
    )
    world.pass_over(key)
    stalled = condition(world.cluster.rollouts[key].status, "Stalled")
    assert stalled is not None
    assert stalled.reason == reasons.WORKLOAD_TAKEN
    annotations = workload_of(world).metadata.annotations
    world.cluster.rollouts.delete(key)
    world.rest()
    assert world.cluster.rollouts.get(key) is None
    assert workload_of(world).metadata.annotations == annotations
    assert weight_of(world) == 20


def test_a_rollout_that_never_released_removes_no_pin_before_the_other_has_a_canary_service() -> (
    None
):
    world = started(watched=False)
    pinned_to = pin_of(world)
    key = KEY._replace(name="other")
    metadata = ObjectMeta(name="other", namespace="shop", finalizers=(names.ROLLOUT_FINALIZER,))
    world.cluster.rollouts.put(structs.replace(make_rollout(), metadata=metadata))
    world.cluster.services.remove(Key(NAMESPACE, "web-canary"))
    world.cluster.rollouts.delete(key)
    for _ in range(3):
        world.pass_over(key)
    assert world.cluster.rollouts.get(key) is None
    assert pin_of(world) == pinned_to != ""


def test_one_of_two_idle_rollouts_of_a_workload_can_be_deleted() -> None:
    world = make_world()
    other = make_rollout()
    key = KEY._replace(name="other")
    world.cluster.rollouts.put(
        structs.replace(other, metadata=ObjectMeta(name="other", namespace=KEY.namespace))
    )
    world.rest()
    world.cluster.rollouts.delete(key)
    world.rest()
    assert world.cluster.rollouts.get(key) is None
    assert workload_of(world).metadata.labels == {names.WORKLOAD_TYPE: "deployment"}


def test_deleting_a_rollout_leaves_the_owner_of_another_kind_of_the_same_name_alone() -> None:
    world = make_world()
    stateful = make_rollout(ref=WorkloadRef("apps/v1", "StatefulSet", "web"))
    key = KEY._replace(name="stateful")
    meta = ObjectMeta(
        name="stateful", namespace=KEY.namespace, finalizers=(names.ROLLOUT_FINALIZER,)
    )
    world.cluster.rollouts.put(structs.replace(stateful, metadata=meta))
    world.rest()
    labels = history(world, lambda: workload_of(world).metadata.labels)
    world.cluster.rollouts.delete(key)
    world.rest()
    assert world.cluster.rollouts.get(key) is None
    assert labels == [{names.WORKLOAD_TYPE: "deployment"}]


@pytest.mark.parametrize("ticks", range(8))
def test_scaled_in_at_once_never_makes_a_new_pod_too_many(ticks: int) -> None:
    # The Deployment's controller takes the new pod with the others here, and brings it back by itself.
    world = make_world(
        make_rollout(strategy=make_strategy(steps=make_steps(1, 3), traffic=False)),
        make_deployment(replicas=4),
    )
    release(world)
    world.rest()
    most: list[int] = []
    world.watchers.append(lambda: most.append(sizes_of(world).get("v2", 0)))
    world.people.edit(KEY, replicas=2)
    for _ in range(ticks):
        world.tick()
    world.rest()
    assert max(most) == 1
    assert sizes_of(world) == {"v1": 1, "v2": 1}


def test_scaled_in_by_one_a_step_keeps_exactly_its_pods() -> None:
    world = make_world(make_rollout(steps=make_steps(1, 2)), make_deployment(replicas=4))
    release(world)
    world.rest()
    assert sizes_of(world) == {"v1": 3, "v2": 1}
    seen = history(world, lambda: sizes_of(world).get("v2", 0))
    world.people.edit(KEY, replicas=3)
    world.rest()
    assert set(seen) == {1}
    assert sizes_of(world) == {"v1": 2, "v2": 1}


@pytest.mark.parametrize("style", ["canary", "partition", "blueGreen"])
def test_a_template_that_is_applied_together_with_the_end_of_disabled_is_released_in_steps(
    style: str,
) -> None:
    """One manifest enables the Rollout and changes the image: no pass comes between."""
    world = make_world(make_rollout(style=style))
    world.people.disable(KEY)
    world.rest()
    assert status_of(world).phase == Phase.DISABLED
    world.people.disable(KEY, False)
    release(world)
    world.rest()
    assert status_of(world).phase == Phase.PROGRESSING
    assert sizes_of(world)["v1"] >= 8
