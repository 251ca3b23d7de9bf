"""Blue-green of a CloneSet: all new pods beside all old ones, the switch, and the way back."""

import msgspec
import pytest
from msgspec import UNSET, structs

from controller.api import names
from controller.api.autoscaling import Autoscaler, AutoscalerSpec, ScaleTarget
from controller.api.jsontree import JsonObject
from controller.api.meta import ObjectMeta
from controller.api.podsets import PodSet
from controller.api.rollout import BlueGreenStatus, BlueGreenStrategy, Phase, Step, StepState
from controller.domain import reasons
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    make_pod_set,
    make_routing,
    make_set_world,
    make_step,
    release_set,
    revision_of,
    set_of,
    status_of,
    strategy_of,
    versions_of,
    wait,
    weight_of,
)
from tests.unit.domain.rollout.scenes import approve, history, pin_of, reason_of
from tests.unit.worlds import World

PLAN = (make_step("50%", "0%"), make_step("100%", "0%"), make_step("100%", "50%"))
OWN: JsonObject = {"maxUnavailable": "20%", "partition": 0}
EVERY_STEP = pytest.mark.parametrize("step", [1, 2, 3])


def clone_set(**changes: JsonObject) -> PodSet:
    """A CloneSet of four pods whose owner waits five seconds for each."""
    strategy = changes.get("strategy", OWN)
    scale = changes.get("scale_strategy")
    return make_pod_set(
        "CloneSet", replicas=4, strategy=strategy, scale_strategy=scale, min_ready_seconds=5
    )


def blue_green(*steps: Step, traffic: bool = True, pod_set: PodSet | None = None) -> World:
    """A world at rest under a blue-green Rollout."""
    routings = (make_routing(),) if traffic else ()
    plan = BlueGreenStrategy(steps=steps or PLAN, traffic_routings=routings)
    world = make_set_world("CloneSet", pod_set or clone_set(), strategy=plan)
    target = ScaleTarget("apps.kruise.io/v1alpha1", "CloneSet", "web")
    meta = ObjectMeta(name="web", namespace=NAMESPACE)
    world.cluster.autoscalers.put(Autoscaler(meta, AutoscalerSpec(target, UNSET)))
    return world


def at_step(step: int, *steps: Step) -> World:
    """A release of v2 that waits at a step."""
    world = blue_green(*steps)
    release_set(world)
    world.rest()
    for _ in range(step - 1):
        approve(world)
    return world


def inner(world: World) -> BlueGreenStatus:
    found = status_of(world).blue_green_status
    assert isinstance(found, BlueGreenStatus)
    return found


def scaling_of(world: World) -> JsonObject:
    found: JsonObject = msgspec.json.decode(set_of(world).spec.scale_strategy)
    return found


def assert_over(world: World) -> None:
    """Everything is its owner's again, and nothing of ours is left."""
    assert status_of(world).phase == Phase.HEALTHY
    assert not {*names.OURS_ON_WORKLOAD} & set_of(world).metadata.annotations.keys()
    assert_given_back(world)


def assert_given_back(world: World) -> None:
    assert strategy_of(world) == OWN
    assert scaling_of(world) == {}
    assert set_of(world).spec.min_ready_seconds == 5
    assert pin_of(world) == ""
    assert pin_of(world, "web-canary") == "gone"
    assert weight_of(world) is None
    assert world.cluster.autoscalers[KEY].metadata.annotations == {}


def test_no_new_pod_comes_before_the_stable_service_is_pinned() -> None:
    world = blue_green()
    release_set(world)
    for _ in range(20):
        world.tick()
    assert versions_of(world) == {"v1": 4}
    pinned = history(world, lambda: (pin_of(world) != "", versions_of(world).get("v2", 0)))
    world.rest()
    assert (False, 0) in pinned
    assert not any(new and not pin for pin, new in pinned)


def test_new_pods_come_beside_the_old_ones_and_the_traffic_follows_the_steps() -> None:
    world = blue_green()
    release_set(world)
    seen = history(world, lambda: (versions_of(world), weight_of(world)))
    world.rest()
    assert seen[-1] == ({"v1": 4, "v2": 2}, 0)
    assert inner(world).current_step_state == StepState.STEP_PAUSED
    approve(world)
    assert seen[-1] == ({"v1": 4, "v2": 4}, 0)
    approve(world)
    assert seen[-1] == ({"v1": 4, "v2": 4}, 50)
    assert names.ORIGINAL_BEHAVIOR in world.cluster.autoscalers[KEY].metadata.annotations
    before = len(seen)
    approve(world)
    assert next(entry[1] for entry in seen[before:]) == 100
    assert seen[-1] == ({"v2": 4}, None)
    assert all(entry[0]["v1"] == 4 for entry in seen if entry[1] in (0, 50))
    assert_over(world)


def test_the_routes_are_restored_no_sooner_than_the_old_pods_are_gone() -> None:
    world = at_step(3)
    seen = history(world, lambda: (weight_of(world), versions_of(world).get("v1", 0)))
    approve(world)
    assert [old for weight, old in seen if weight is None] == [0]


@EVERY_STEP
def test_a_rollback_is_a_switch(step: int) -> None:
    world = at_step(step)
    release_set(world, "v1")
    seen = history(world, lambda: (versions_of(world), weight_of(world)))
    world.rest()
    assert all(sizes["v1"] == 4 for sizes, _ in seen)
    assert all(sizes["v2"] == seen[0][0]["v2"] for sizes, weight in seen if weight is not None)
    assert versions_of(world) == {"v1": 4}
    assert_over(world)
    succeeded = condition(status_of(world), "Succeeded")
    assert succeeded is not None
    assert succeeded.status == "False"


@EVERY_STEP
def test_a_third_revision_takes_the_place_of_the_second(step: int) -> None:
    world = at_step(step)
    release_set(world, "v3")
    seen = history(world, lambda: versions_of(world))
    world.rest()
    assert all(sizes["v1"] == 4 for sizes in seen)
    assert not any("v2" in sizes and "v3" in sizes for sizes in seen)
    assert versions_of(world) == {"v1": 4, "v3": 2}
    assert inner(world).current_step_index == 1
    for _ in range(3):
        approve(world)
    assert versions_of(world) == {"v3": 4}
    assert_over(world)


@EVERY_STEP
@pytest.mark.parametrize("how", ["disable", "delete"])
def test_disabling_or_deleting_during_a_release_leaves_nothing_held(how: str, step: int) -> None:
    world = at_step(step)
    if how == "disable":
        world.people.disable(KEY)
    else:
        world.cluster.rollouts.delete(KEY)
    world.rest()
    assert versions_of(world) == {"v2": 4}
    assert_given_back(world)


def test_every_lost_pod_comes_back_in_its_own_revision() -> None:
    world = at_step(2)
    for version in ("v1", "v2"):
        lost = next(p for p in world.cluster.pods if p.revision == revision_of(world, version))
        world.people.delete_pod(lost.metadata.key)
        seen = history(world, lambda: versions_of(world))
        world.rest()
        assert all(sum(sizes.values()) >= 7 for sizes in seen)
        assert versions_of(world) == {"v1": 4, "v2": 4}


def test_old_pods_that_become_unready_for_a_while_are_not_replaced() -> None:
    world = at_step(2)
    old = frozenset(
        p.metadata.uid for p in world.cluster.pods if p.revision == revision_of(world, "v1")
    )
    world.people.fail_pods(old)
    world.rest()
    world.people.heal()
    world.rest()
    assert old <= {pod.metadata.uid for pod in world.cluster.pods}


@pytest.mark.parametrize(("replicas", "new"), [(6, 6), (3, 3), (1, 1)])
def test_both_revisions_get_the_new_size_when_scaled_during_a_release(
    replicas: int, new: int
) -> None:
    world = at_step(2)
    world.people.edit_set(KEY, replicas=replicas)
    world.rest()
    assert versions_of(world) == {"v1": replicas, "v2": new}
    approve(world)
    approve(world)
    assert versions_of(world) == {"v2": replicas}
    assert_over(world)


def test_scaled_to_zero_the_held_pods_go_and_the_release_starts_again() -> None:
    world = at_step(2)
    world.people.edit_set(KEY, replicas=0)
    world.rest()
    assert versions_of(world) == {}
    world.people.edit_set(KEY, replicas=4)
    world.rest()
    assert versions_of(world) == {"v1": 4, "v2": 2}
    for _ in range(3):
        approve(world)
    assert_over(world)


def test_the_owners_changes_during_a_release_are_in_force_at_the_end() -> None:
    world = at_step(1)
    own: JsonObject = {"maxUnavailable": 1, "partition": 0, "maxSurge": 1}
    raw = msgspec.Raw(msgspec.json.encode(own))
    world.people.edit_set(KEY, update_strategy=raw, min_ready_seconds=7)
    world.rest()
    assert versions_of(world) == {"v1": 4, "v2": 2}
    assert set_of(world).spec.min_ready_seconds == names.FREEZE_MIN_READY_SECONDS
    release_set(world, "v1")
    world.rest()
    assert strategy_of(world) == own
    assert set_of(world).spec.min_ready_seconds == 7


def test_taking_the_label_off_gives_everything_back_at_once() -> None:
    world = at_step(2)
    world.cluster.rollouts.remove(KEY)
    world.people.label_set(KEY, {})
    assert strategy_of(world) == OWN
    assert scaling_of(world) == {}
    assert set_of(world).spec.min_ready_seconds == 5


def test_a_hand_edit_of_the_rolling_limits_is_corrected() -> None:
    world = at_step(1)
    before = set_of(world)
    edited = structs.replace(before.spec, update_strategy=msgspec.Raw(b'{"maxSurge":1}'))
    world.cluster.pod_sets.put(structs.replace(before, spec=edited))
    world.rest()
    assert set_of(world).spec == before.spec


def test_a_step_that_waits_causes_no_write() -> None:
    world = at_step(2)
    before = world.cluster.version
    wait(world, 600)
    assert world.cluster.version == before


@pytest.mark.parametrize(
    "pod_set",
    [
        clone_set(strategy={"type": "InPlaceOnly"}),
        clone_set(scale_strategy={"maxUnavailable": 1}),
    ],
)
def test_an_obstacle_of_a_clonesets_surge_is_reported_and_nothing_moves(pod_set: PodSet) -> None:
    world = blue_green(pod_set=pod_set)
    release_set(world)
    world.rest()
    assert reason_of(world, "Stalled") == reasons.UNSUPPORTED_STYLE
    assert versions_of(world) == {"v1": 4}
    release_set(world, "v1")
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert set_of(world).spec.scale_strategy == pod_set.spec.scale_strategy


def test_without_traffic_the_old_pods_go_after_the_last_approval() -> None:
    world = blue_green(make_step("50%"), make_step("100%"), traffic=False)
    release_set(world)
    world.rest()
    assert versions_of(world) == {"v1": 4, "v2": 2}
    approve(world)
    assert versions_of(world) == {"v1": 4, "v2": 4}
    approve(world)
    assert versions_of(world) == {"v2": 4}
    assert_over(world)


def test_no_pod_moves_without_a_record_of_the_owners_values() -> None:
    world = blue_green()
    release_set(world)
    found = set_of(world)
    marks = dict(found.metadata.annotations)
    del marks[names.ORIGINAL_STRATEGY]
    meta = structs.replace(found.metadata, annotations=marks)
    world.cluster.pod_sets.put(structs.replace(found, metadata=meta))
    world.rest()
    assert versions_of(world) == {"v1": 4}


def test_no_pod_is_deleted_before_the_cloneset_has_seen_its_new_size() -> None:
    world = blue_green(make_step("50%"), make_step("100%"), traffic=False)
    release_set(world)
    world.rest()
    approve(world)
    world.people.edit_set(KEY, replicas=0)
    for _ in range(8):
        world.pass_over(KEY)
    assert versions_of(world) == {"v1": 4, "v2": 4}


def test_going_back_does_not_wait_for_a_stable_revision_that_never_shrank() -> None:
    world = at_step(3)
    stable = [p for p in world.cluster.pods if p.revision == revision_of(world, "v1")]
    world.people.fail_pods(frozenset(pod.metadata.uid for pod in stable[:3]))
    world.rest()
    release_set(world, "v1")
    world.rest()
    assert weight_of(world) is None
    world.people.heal()
    world.rest()
    assert versions_of(world) == {"v1": 4}
    assert_over(world)


def all_to_new_and_given_back(world: World) -> None:
    """All traffic is on the new pods, the owner's values are back, and the CloneSet has seen that and nothing more."""
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: strategy_of(world) == OWN)
    found = set_of(world)
    status = structs.replace(found.status, observed_generation=found.metadata.generation)
    world.cluster.pod_sets.put(structs.replace(found, status=status))


def test_the_routes_stay_with_the_new_pods_while_the_cloneset_counts_old_ones() -> None:
    world = at_step(3)
    all_to_new_and_given_back(world)
    world.pass_over(KEY)
    assert (weight_of(world), versions_of(world)) == (100, {"v1": 4, "v2": 4})
    world.rest()
    assert_over(world)


def test_the_routes_stay_with_the_new_pods_while_a_service_leads_to_one_that_goes() -> None:
    world = at_step(3)
    all_to_new_and_given_back(world)
    for pod in world.cluster.pods:
        if pod.revision == revision_of(world, "v1"):
            world.people.delete_pod(pod.metadata.key)
    found = set_of(world)
    status = structs.replace(found.status, replicas=4)
    world.cluster.pod_sets.put(structs.replace(found, status=status))
    world.pass_over(KEY)
    assert weight_of(world) == 100
    world.rest()
    assert_over(world)
