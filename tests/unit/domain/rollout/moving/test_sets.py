"""Releases of StatefulSets, CloneSets, DaemonSets and their like, from admission to the end."""

import msgspec
import pytest
from msgspec import structs

from controller.api import names
from controller.api.jsontree import JsonObject
from controller.api.rollout import FinalisingStep, Phase, StepState
from controller.api.workloads import (
    IN_PLACE_UPDATE_READY,
    ContainerStatus,
    PodStatus,
    StatusCondition,
)
from controller.domain import reasons
from controller.domain.decision import DeleteObject
from controller.domain.rollout.phases import decide
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    GIVEN_BACK,
    KEY,
    SETS,
    STRATEGIES,
    inner_of,
    make_pod_set,
    make_set_world,
    make_steps,
    make_strategy,
    ours_of,
    release_set,
    revision_of,
    set_of,
    status_of,
    strategy_of,
    template,
    versions_of,
    wait,
    weight_of,
)
from tests.unit.domain.rollout.scenes import approve, history, pin_of, reason_of
from tests.unit.worlds import World

EVERY = pytest.mark.parametrize("which", SETS)
WITH_REPLICAS = pytest.mark.parametrize("which", [name for name in SETS if "Daemon" not in name])


def started(which: str, *replicas: int | str, traffic: bool = True) -> World:
    """A release of v2, waiting at step 1."""
    steps = make_steps(*(replicas or ("20%", "40%")), traffic=traffic)
    world = make_set_world(which, strategy=make_strategy(steps=steps, traffic=traffic))
    release_set(world)
    world.rest()
    return world


def over(world: World) -> bool:
    """Nothing of ours is left on the set and on the Service, and the routes are the originals."""
    meta = set_of(world).metadata
    return (
        status_of(world).phase == Phase.HEALTHY
        and not {*names.OURS_ON_WORKLOAD} & meta.annotations.keys()
        and pin_of(world) == ""
        and pin_of(world, "web-canary") == "gone"
        and weight_of(world) is None
    )


@EVERY
def test_the_workload_is_labelled_with_its_type(which: str) -> None:
    world = make_set_world(which)
    expected = {"CloneSet": "cloneset", "a kind labelled as StatefulSet": "StatefulSet"}
    daemon = "daemonset" if "Daemon" in which else "statefulset"
    assert set_of(world).metadata.labels[names.WORKLOAD_TYPE] == expected.get(which, daemon)
    assert status_of(world).phase == Phase.HEALTHY


@EVERY
def test_nothing_moves_before_the_first_step(which: str) -> None:
    world = make_set_world(which)
    release_set(world)
    for _ in range(20):
        world.tick()
    assert versions_of(world) == {"v1": 5}


@EVERY
def test_steps_are_walked_through_and_the_owners_strategy_comes_back(which: str) -> None:
    world = started(which)
    assert versions_of(world) == {"v1": 4, "v2": 1}
    assert weight_of(world) == 20
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    approve(world)
    assert versions_of(world) == {"v1": 3, "v2": 2}
    assert weight_of(world) == 40
    approve(world)
    assert versions_of(world) == {"v2": 5}
    assert strategy_of(world) == GIVEN_BACK[which]
    assert over(world)
    succeeded = condition(status_of(world), "Succeeded")
    assert succeeded is not None
    assert succeeded.status == "True"


@EVERY
def test_services_are_pinned_by_the_label_that_pods_carry(which: str) -> None:
    world = started(which)
    full = "web-" if which.endswith("StatefulSet") else ""
    assert pin_of(world) == full + revision_of(world, "v1")
    assert pin_of(world, "web-canary") == full + revision_of(world, "v2")
    assert inner_of(world).stable_revision == full + revision_of(world, "v1")
    assert inner_of(world).pod_template_hash == full + revision_of(world, "v2")
    service = world.cluster.services[KEY]
    by_hash = which == "CloneSet"
    assert ("pod-template-hash" in service.spec.selector) is by_hash


@EVERY
def test_every_new_pod_says_which_batch_made_it(which: str) -> None:
    world = started(which)
    approve(world)
    approve(world)
    labels = [pod.metadata.labels for pod in world.cluster.pods_of(set_of(world))]
    batches = sorted(found[names.ROLLOUT_BATCH_ID] for found in labels)
    assert batches == ["1", "2", "2", "2", "2"]
    assert {found[names.ROLLOUT_ID] for found in labels} == {inner_of(world).observed_rollout_id}


@EVERY
def test_a_rollback_sends_the_traffic_back_first_and_then_the_pods(which: str) -> None:
    world = started(which)
    release_set(world, "v1")
    seen = history(world, lambda: (weight_of(world), versions_of(world).get("v2", 0)))
    world.rest()
    assert seen[0] == (20, 1)
    assert seen[1] == (None, 1)
    assert seen[-1] == (None, 0)
    assert versions_of(world) == {"v1": 5}
    assert strategy_of(world) == GIVEN_BACK[which]
    assert over(world)
    succeeded = condition(status_of(world), "Succeeded")
    assert succeeded is not None
    assert succeeded.status == "False"


@EVERY
def test_a_third_revision_starts_again_at_step_1_with_the_same_stable_one(which: str) -> None:
    world = started(which)
    stable = ours_of(world).stable_revision
    release_set(world, "v3")
    world.rest()
    assert ours_of(world).stable_revision == stable
    assert inner_of(world).current_step_index == 1
    assert versions_of(world).get("v3") == 1
    assert pin_of(world) == stable
    approve(world)
    approve(world)
    assert versions_of(world) == {"v3": 5}
    assert over(world)


@EVERY
@pytest.mark.parametrize("how", ["disable", "delete"])
def test_disabling_or_deleting_during_a_release_lets_the_set_go_on_to_the_new_template(
    which: str, how: str
) -> None:
    world = started(which)
    if how == "disable":
        world.people.disable(KEY)
    else:
        world.cluster.rollouts.delete(KEY)
    world.rest()
    assert versions_of(world) == {"v2": 5}
    assert strategy_of(world) == GIVEN_BACK[which]
    assert not {*names.OURS_ON_WORKLOAD} & set_of(world).metadata.annotations.keys()
    assert pin_of(world) == ""
    assert weight_of(world) is None


@EVERY
def test_the_owners_change_of_the_strategy_is_in_force_at_once_except_the_partition(
    which: str,
) -> None:
    world = started(which)
    before = versions_of(world)
    level = "maxUnavailable" if which == "CloneSet" else "rollingUpdate"
    changed = {**strategy_of(world), level: 3 if which == "CloneSet" else {"maxUnavailable": 3}}
    world.people.edit_set(KEY, update_strategy=_raw(changed))
    world.rest()
    assert versions_of(world) == before
    live = strategy_of(world)
    inner = live if which == "CloneSet" else live["rollingUpdate"]
    assert isinstance(inner, dict)
    assert inner["maxUnavailable"] == 3
    approve(world)
    approve(world)
    kept = strategy_of(world)
    inner = kept if which == "CloneSet" else kept["rollingUpdate"]
    assert isinstance(inner, dict)
    assert inner["maxUnavailable"] == 3
    assert inner.get("partition") in (None, 0)


def _raw(tree: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(tree))


@pytest.mark.parametrize("which", ["StatefulSet", "Advanced StatefulSet", "Advanced DaemonSet"])
def test_an_owner_who_chooses_on_delete_during_a_release_gets_it_at_its_end(which: str) -> None:
    """Under OnDelete nothing follows a partition; the API server of a StatefulSet refuses both together."""
    world = started(which)
    world.people.edit_set(KEY, update_strategy=msgspec.Raw(b'{"type":"OnDelete"}'))
    assert strategy_of(world)["type"] == "RollingUpdate"
    world.rest()
    approve(world)
    assert versions_of(world) == {"v1": 3, "v2": 2}
    approve(world)
    assert over(world)
    assert strategy_of(world)["type"] == "OnDelete"


@WITH_REPLICAS
def test_scaling_up_during_a_release_makes_no_new_pod_beyond_the_step(which: str) -> None:
    world = started(which)
    world.people.edit_set(KEY, replicas=10)
    world.rest()
    sizes = versions_of(world)
    assert sum(sizes.values()) == 10
    assert sizes["v2"] in (2, 3)
    approve(world)
    assert versions_of(world)["v2"] == 4


def test_the_partition_of_a_statefulset_follows_the_steps() -> None:
    world = make_set_world(
        "StatefulSet", strategy=make_strategy(steps=make_steps(1, 2, 2), traffic=False)
    )
    seen = history(world, lambda: strategy_of(world)["rollingUpdate"])
    release_set(world)
    world.rest()
    approve(world)
    approve(world)
    approve(world)
    assert [entry["partition"] for entry in seen] == [0, 32767, 4, 3, 0]  # type: ignore[index]
    assert versions_of(world) == {"v2": 5}
    labels = sorted(
        (pod.metadata.name, pod.metadata.labels[names.ROLLOUT_BATCH_ID])
        for pod in world.cluster.pods_of(set_of(world))
    )
    assert labels == [
        ("web-0", "3"),
        ("web-1", "3"),
        ("web-2", "3"),
        ("web-3", "2"),
        ("web-4", "1"),
    ]


def test_a_broken_pod_of_a_cancelled_revision_does_not_stop_a_statefulset() -> None:
    world = make_set_world("StatefulSet")
    world.people.fail_pods(frozenset({f"web-{revision_of(world, 'v2')}"}))
    release_set(world)
    world.rest()
    assert inner_of(world).current_step_state == StepState.STEP_UPGRADE
    release_set(world, "v1")
    world.rest()
    assert versions_of(world) == {"v1": 5}
    assert over(world)


@pytest.mark.parametrize(
    "containers",
    [
        pytest.param((ContainerStatus(name="main", ready=True),), id="it runs"),
        pytest.param((ContainerStatus(name="main", ready=False),), id="it is broken"),
        pytest.param((), id="it has not begun to run"),
    ],
)
def test_a_pod_that_is_updated_in_place_on_the_way_back_is_deleted_unless_its_containers_run(
    containers: tuple[ContainerStatus, ...],
) -> None:
    own: JsonObject = {"rollingUpdate": {"podUpdatePolicy": "InPlaceOnly"}}
    which = "Advanced StatefulSet"
    plan = make_strategy(steps=make_steps("20%", traffic=False), traffic=False)
    world = make_set_world(which, make_pod_set(which, strategy=own), strategy=plan)
    release_set(world)
    world.rest()
    new = next(p for p in world.cluster.pods if p.revision.endswith(revision_of(world, "v2")))
    conditions = (
        StatusCondition(type="Ready", status="False"),
        StatusCondition(type=IN_PLACE_UPDATE_READY, status="False"),
    )
    status = PodStatus(conditions=conditions, container_statuses=containers)
    release_set(world, "v1")
    deleted = set()
    for _ in range(3):
        world.cluster.pods.put(structs.replace(new, status=status))
        decided = world.pass_over(KEY)
        assert decided is not None
        deleted |= {action.object for action in decided.actions if isinstance(action, DeleteObject)}
    assert inner_of(world).finalising_step == FinalisingStep.RESUME_WORKLOAD
    running = any(container.ready for container in containers)
    assert deleted == (set() if running else {new.metadata.key})


def test_a_broken_second_revision_makes_way_for_the_third_in_a_statefulset() -> None:
    world = make_set_world("StatefulSet")
    world.people.fail_pods(frozenset({f"web-{revision_of(world, 'v2')}"}))
    release_set(world)
    world.rest()
    release_set(world, "v3")
    world.rest()
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    assert versions_of(world) == {"v1": 4, "v3": 1}


def test_a_cloneset_loses_all_abandoned_pods_before_the_next_revision_comes() -> None:
    world = started("CloneSet", "40%", "60%")
    assert versions_of(world) == {"v1": 3, "v2": 2}
    seen = history(world, lambda: versions_of(world))
    release_set(world, "v3")
    world.rest()
    assert {"v1": 5} in seen
    assert versions_of(world) == {"v1": 3, "v3": 2}


def test_a_native_daemonset_is_released_within_its_owners_max_unavailable() -> None:
    steps = make_steps(4, "100%", traffic=False)
    world = make_set_world("DaemonSet", strategy=make_strategy(steps=steps, traffic=False))
    least = history(
        world,
        lambda: sum(pod.ready_since is not None for pod in world.cluster.pods_of(set_of(world))),
    )
    release_set(world)
    world.rest()
    assert strategy_of(world)["type"] == "OnDelete"
    assert versions_of(world) == {"v1": 1, "v2": 4}
    assert min(least) == 3


@pytest.mark.parametrize("which", ["CloneSet", "Advanced StatefulSet"])
def test_a_release_waits_for_the_owners_pause_and_reports_it(which: str) -> None:
    own: JsonObject = {"paused": True}
    strategy: JsonObject = own if which == "CloneSet" else {"rollingUpdate": own}
    world = make_set_world(which, make_pod_set(which, strategy=strategy))
    release_set(world)
    world.rest()
    assert reason_of(world, "Stalled") == reasons.PAUSED_BY_OWNER
    assert versions_of(world) == {"v1": 5}


def test_taking_the_label_off_gives_the_owners_strategy_back_at_once() -> None:
    world = started("StatefulSet")
    world.cluster.rollouts.remove(KEY)
    world.people.label_set(KEY, {})
    assert strategy_of(world) == STRATEGIES["StatefulSet"]
    assert not {*names.OURS_ON_WORKLOAD} & set_of(world).metadata.annotations.keys()


def test_the_owners_own_partition_is_restored_and_respected() -> None:
    own: JsonObject = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    world = make_set_world("StatefulSet", make_pod_set(strategy=own))
    release_set(world)
    world.rest()
    approve(world)
    approve(world)
    assert strategy_of(world) == own
    assert versions_of(world) == {"v1": 2, "v2": 3}
    assert over(world)


def test_an_unordered_advanced_statefulset_counts_its_pods() -> None:
    own: JsonObject = {"rollingUpdate": {"unorderedUpdate": {}}}
    world = make_set_world(
        "Advanced StatefulSet", make_pod_set("Advanced StatefulSet", strategy=own)
    )
    release_set(world)
    world.rest()
    rolling = strategy_of(world)["rollingUpdate"]
    assert isinstance(rolling, dict)
    assert rolling["partition"] == 4


def test_a_set_whose_record_was_lost_is_not_moved() -> None:
    for which in ("StatefulSet", "DaemonSet"):
        world = make_set_world(which)
        release_set(world)
        pod_set = set_of(world)
        annotations = {**pod_set.metadata.annotations, names.ORIGINAL_STRATEGY: "gone"}
        meta = structs.replace(pod_set.metadata, annotations=annotations)
        world.cluster.pod_sets.put(structs.replace(pod_set, metadata=meta))
        world.rest()
        assert versions_of(world) == {"v1": 5}


def test_a_daemonset_rolled_by_hand_is_restored_for_its_owner_at_once() -> None:
    own: JsonObject = {"type": "OnDelete"}
    world = make_set_world("DaemonSet", make_pod_set("DaemonSet", strategy=own))
    release_set(world)
    world.rest()
    approve(world)
    approve(world)
    assert strategy_of(world) == own
    assert versions_of(world) == {"v1": 3, "v2": 2}
    assert over(world)


def test_few_stable_pods_get_the_traffic_back_only_when_they_are_more() -> None:
    steps = make_steps("40%", "80%")
    world = make_set_world("StatefulSet", strategy=make_strategy(steps=steps))
    release_set(world)
    world.rest()
    approve(world)
    assert versions_of(world) == {"v1": 1, "v2": 4}
    release_set(world, "v1")
    world.run_until(lambda: weight_of(world) is None)
    assert versions_of(world)["v1"] >= 3
    world.rest()
    assert over(world)


def test_traffic_is_withdrawn_from_a_revision_that_lost_its_last_pod() -> None:
    world = started("StatefulSet")
    seen = history(world, lambda: weight_of(world))
    world.people.edit_set(KEY, replicas=4)
    world.rest()
    assert seen == [20, None, 20]
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    assert versions_of(world) == {"v1": 3, "v2": 1}


@EVERY
def test_a_step_that_waits_causes_no_write(which: str) -> None:
    world = started(which)
    before = world.cluster.version
    wait(world, 600)
    assert world.cluster.version == before


def test_a_change_that_admission_did_not_see_is_reported_once_and_known_from_then_on() -> None:
    world = make_set_world("StatefulSet")
    pod_set = set_of(world)
    spec = structs.replace(pod_set.spec, template=template("v2"))
    world.cluster.pod_sets.put(structs.replace(pod_set, spec=spec))
    seen = world.observe(KEY)
    assert seen is not None
    notes = decide(seen, world.cluster.now).notes
    assert [note.reason for note in notes] == [reasons.NOT_HELD]
    world.rest()
    assert versions_of(world) == {"v2": 5}
    assert status_of(world).phase == Phase.HEALTHY
    assert ours_of(world).template == world.cluster.hash_of(template("v2"))
    again = world.observe(KEY)
    assert again is not None
    assert decide(again, world.cluster.now).notes == ()


@pytest.mark.parametrize("which", ["CloneSet", "StatefulSet", "Advanced StatefulSet"])
def test_a_third_revision_that_meets_no_stable_pod_does_not_change_the_stable_revision(
    which: str,
) -> None:
    """The set's own controller makes stable pods again; taking another for stable would delete them for ever."""
    world = make_set_world(which, strategy=make_strategy(steps=make_steps("80%")))
    release_set(world)
    world.rest()
    stable = ours_of(world).stable_revision
    (last,) = [p for p in world.cluster.pods if p.revision == stable]
    world.people.delete_pod(last.metadata.key)
    release_set(world, "v3")
    world.rest()
    assert ours_of(world).stable_revision == stable
    assert versions_of(world) == {"v1": 1, "v3": 4}


@pytest.mark.parametrize("value", ["deployment", "STATEFULSET"])
def test_a_label_by_which_no_webhook_selects_a_stateful_set_gets_its_value(value: str) -> None:
    world = make_set_world("StatefulSet")
    wrong = structs.replace(set_of(world).metadata, labels={names.WORKLOAD_TYPE: value})
    world.cluster.pod_sets.put(structs.replace(set_of(world), metadata=wrong))
    world.rest()
    assert set_of(world).metadata.labels == {names.WORKLOAD_TYPE: "statefulset"}
    release_set(world)
    world.rest()
    assert versions_of(world) == {"v1": 4, "v2": 1}


def test_a_label_that_is_overwritten_during_a_release_is_corrected() -> None:
    world = started("StatefulSet")
    world.people.label_set(KEY, {names.WORKLOAD_TYPE: "deployment"})
    world.rest()
    assert set_of(world).metadata.labels == {names.WORKLOAD_TYPE: "statefulset"}
