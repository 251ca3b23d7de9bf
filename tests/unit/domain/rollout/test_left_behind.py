"""A workload that keeps our freeze and has lost its marks: it is let go, or its release begins after all."""

from typing import Any

import msgspec
import pytest
from msgspec import structs

from controller.api import names
from controller.api.jsontree import JsonObject
from controller.api.podsets import PodSet
from controller.api.rollout import Phase
from controller.api.workloads import RollingUpdate
from controller.domain import reasons
from controller.domain.pods.partition import with_pause_field
from controller.domain.rollout.words import messages
from controller.simulation.podsets import kind_of
from tests.unit.builders import (
    KEY,
    make_pod_set,
    make_rollout,
    make_set_world,
    make_world,
    ours_of,
    release,
    release_set,
    set_of,
    sizes_of,
    status_of,
    strategy_of,
    template,
    versions_of,
    workload_of,
)
from tests.unit.domain.rollout.moving.test_from_zero import at_half
from tests.unit.domain.rollout.scenes import approve
from tests.unit.domain.rollout.styles.test_doubled import OWN, blue_green, clone_set
from tests.unit.simulation.owners import applied_deployment, without_label
from tests.unit.worlds import World

STYLES = pytest.mark.parametrize("style", ["partition", "canary", "blueGreen"])
LIMITS = (1, "30%")


def never_looked_at(style: str, *, applied: bool = True, min_ready: int = 7) -> World:
    """v2 is admitted, and the label is lost before the controller has looked."""
    made = applied_deployment("v1", 4, LIMITS, min_ready)
    if not applied:
        made = structs.replace(made, metadata=structs.replace(made.metadata, annotations={}))
    world = make_world(make_rollout(style=style), made)
    release(world)
    found = workload_of(world)
    assert found.spec.min_ready_seconds == names.FREEZE_MIN_READY_SECONDS
    world.people.unheard = True
    world.people.label(KEY, without_label(found.metadata, names.WORKLOAD_TYPE))
    return world


def event_message(world: World) -> str:
    """The message of the Event about the end of the freeze."""
    messages = [
        note.message for note in world.passes.notes if note.reason == reasons.FREEZE_TAKEN_OFF
    ]
    assert len(messages) == 1
    return messages[0]


def ended_well(world: World) -> None:
    """Nothing of ours is left on the Deployment."""
    found = workload_of(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert not {*names.OURS_ON_WORKLOAD} & found.metadata.annotations.keys()
    assert names.STABLE_REVISION not in found.metadata.labels
    assert not found.spec.paused
    assert found.spec.progress_deadline_seconds == 600


@STYLES
def test_an_undo_before_the_first_look_leaves_no_freeze(style: str) -> None:
    world = never_looked_at(style)
    world.people.undo(KEY, template("v1"))
    world.people.unheard = False
    world.rest()
    ended_well(world)
    found = workload_of(world)
    assert found.spec.min_ready_seconds == 7
    assert found.spec.strategy.rolling_update == RollingUpdate(*LIMITS)
    assert sizes_of(world) == {"v1": 4}
    assert messages.FREEZE_TAKEN_OFF in event_message(world)


def test_without_a_manifest_the_replica_set_gives_the_time_and_kubernetes_the_limits() -> None:
    world = never_looked_at("partition", applied=False)
    world.people.undo(KEY, template("v1"))
    world.people.unheard = False
    world.rest()
    ended_well(world)
    found = workload_of(world)
    assert found.spec.min_ready_seconds == 7
    assert found.spec.strategy.rolling_update == RollingUpdate("25%", "25%")
    assert messages.FREEZE_TAKEN_OFF_BY_DEFAULT in event_message(world)


def test_without_either_the_defaults_of_kubernetes_are_set() -> None:
    world = never_looked_at("partition", applied=False)
    world.people.undo(KEY, template("v1"))
    for found in tuple(world.cluster.replica_sets):
        spec = structs.replace(found.spec, min_ready_seconds=names.FREEZE_MIN_READY_SECONDS)
        world.cluster.replica_sets.put(structs.replace(found, spec=spec))
    world.people.unheard = False
    world.rest()
    ended_well(world)
    assert workload_of(world).spec.min_ready_seconds == 0


@STYLES
def test_a_template_that_was_never_released_is_released_though_its_marks_are_lost(
    style: str,
) -> None:
    world = never_looked_at(style)
    found = workload_of(world)
    bare = {names.LAST_APPLIED: found.metadata.annotations[names.LAST_APPLIED]}
    world.people.annotate(KEY, bare)
    world.people.unheard = False
    world.rest()
    assert status_of(world).phase == Phase.PROGRESSING
    assert sizes_of(world)["v1"] >= 3
    assert ours_of(world).step == 1
    for _ in range(4):
        approve(world)
    ended_well(world)
    assert sizes_of(world) == {"v2": 4}
    assert workload_of(world).spec.min_ready_seconds == 7
    assert workload_of(world).spec.strategy.rolling_update == RollingUpdate(*LIMITS)


@pytest.mark.parametrize("leaves", ["disabled", "deleted"])
def test_a_rollout_that_leaves_takes_the_freeze_along(leaves: str) -> None:
    world = never_looked_at("partition")
    world.people.undo(KEY, template("v1"))
    world.people.unheard = False
    if leaves == "disabled":
        world.people.disable(KEY)
    else:
        world.cluster.rollouts.delete(KEY)
    world.rest()
    found = workload_of(world)
    assert found.spec.min_ready_seconds == 7
    assert not {*names.OURS_ON_WORKLOAD} & found.metadata.annotations.keys()
    assert sizes_of(world) == {"v1": 4}


def test_a_rollout_deleted_during_a_release_knows_the_values_that_the_undo_dropped() -> None:
    world = at_half("partition")
    world.people.unheard = True
    found = workload_of(world)
    world.people.label(KEY, without_label(found.metadata, names.WORKLOAD_TYPE))
    world.people.undo(KEY, template("v1"))
    world.cluster.rollouts.delete(KEY)
    world.rest()
    assert workload_of(world).spec.min_ready_seconds == 0
    assert sizes_of(world) == {"v1": 10}


def test_the_freeze_in_an_exported_manifest_is_not_the_owners_value() -> None:
    world = never_looked_at("partition")
    frozen: JsonObject = {
        "spec": {
            "minReadySeconds": names.FREEZE_MIN_READY_SECONDS,
            "progressDeadlineSeconds": names.FREEZE_PROGRESS_DEADLINE_SECONDS,
        }
    }
    world.people.annotate(KEY, {names.LAST_APPLIED: msgspec.json.encode(frozen).decode()})
    world.people.undo(KEY, template("v1"))
    world.people.unheard = False
    world.rest()
    ended_well(world)
    found = workload_of(world)
    assert found.spec.min_ready_seconds == 0
    assert found.spec.strategy.rolling_update == RollingUpdate("25%", "25%")


def test_a_deadline_of_the_manifest_comes_back() -> None:
    world = never_looked_at("partition")
    own: JsonObject = {"spec": {"progressDeadlineSeconds": 90}}
    world.people.annotate(KEY, {names.LAST_APPLIED: msgspec.json.encode(own).decode()})
    world.people.undo(KEY, template("v1"))
    world.people.unheard = False
    world.rest()
    assert workload_of(world).spec.progress_deadline_seconds == 90


def test_a_record_without_a_mark_is_restored_too() -> None:
    world = never_looked_at("partition")
    found = workload_of(world)
    kept = {names.ORIGINAL_STRATEGY: found.metadata.annotations[names.ORIGINAL_STRATEGY]}
    world.people.annotate(KEY, kept)
    world.people.edit(KEY, template=template("v1"))
    world.people.unheard = False
    world.rest()
    ended_well(world)
    assert workload_of(world).spec.min_ready_seconds == 7


PARTITIONED = pytest.mark.parametrize("which", ["StatefulSet", "Advanced DaemonSet"])


def applied(found: PodSet, **spec: Any) -> PodSet:
    """The set as `kubectl apply` of a manifest with this spec writes it."""
    annotations = {names.LAST_APPLIED: msgspec.json.encode({"spec": spec}).decode()}
    meta = structs.replace(found.metadata, annotations=annotations)
    return structs.replace(found, metadata=meta)


def applied_set(which: str) -> World:
    """A world with a set whose manifest was applied."""
    made = make_pod_set(which)
    own = msgspec.json.decode(made.spec.update_strategy)
    return make_set_world(which, applied(made, updateStrategy=own))


def lose_marks(world: World) -> None:
    """Label and marks are taken off, and no webhook sees that."""
    found = set_of(world)
    kept = {k: v for k, v in found.metadata.annotations.items() if k not in names.OURS_ON_WORKLOAD}
    world.people.unheard = True
    world.people.label_set(KEY, without_label(found.metadata, names.WORKLOAD_TYPE), kept)


@PARTITIONED
def test_a_partition_of_ours_is_taken_off_a_set_without_a_release(which: str) -> None:
    world = applied_set(which)
    own = strategy_of(world)
    release_set(world)
    lose_marks(world)
    world.people.edit_set(KEY, template=template("v1"))
    world.people.unheard = False
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert strategy_of(world) == with_pause_field(kind_of(set_of(world)), own)


@PARTITIONED
def test_a_set_whose_marks_are_lost_before_the_first_look_is_released(which: str) -> None:
    world = applied_set(which)
    release_set(world)
    lose_marks(world)
    world.people.unheard = False
    world.rest()
    assert status_of(world).phase == Phase.PROGRESSING
    assert versions_of(world) == {"v1": 4, "v2": 1}
    for _ in range(3):
        approve(world)
    assert versions_of(world) == {"v2": 5}


HELD: dict[str, JsonObject] = {
    "StatefulSet": {"type": "RollingUpdate", "rollingUpdate": {"partition": 32767}},
    "CloneSet": {"partition": "100%"},
    "DaemonSet": {"type": "OnDelete"},
}


@pytest.mark.parametrize("expected", [False, True])
@pytest.mark.parametrize("which", HELD)
def test_values_that_an_owner_may_have_written_are_left_alone(which: str, expected: bool) -> None:
    made = make_pod_set(which, strategy=HELD[which])
    world = make_set_world(which, applied(made, updateStrategy=HELD[which]) if expected else made)
    assert strategy_of(world) == HELD[which]
    assert status_of(world).phase == Phase.HEALTHY


@pytest.mark.parametrize("which", HELD)
def test_a_set_without_marks_goes_back_with_the_values_in_the_status(which: str) -> None:
    world = make_set_world(which)
    own = strategy_of(world)
    release_set(world)
    world.rest()
    lose_marks(world)
    world.people.edit_set(KEY, template=template("v1"))
    world.people.unheard = False
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert strategy_of(world) == own
    assert versions_of(world) == {"v1": 5}


@pytest.mark.parametrize(("expected", "restored"), [(3, 3), (names.FREEZE_MIN_READY_SECONDS, 0)])
def test_a_clone_set_under_blue_green_gets_its_owners_time_back(
    expected: int, restored: int
) -> None:
    made = applied(clone_set(), updateStrategy=OWN, minReadySeconds=expected)
    world = blue_green(pod_set=made)
    release_set(world)
    lose_marks(world)
    world.people.edit_set(KEY, template=template("v1"))
    world.people.unheard = False
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert (set_of(world).spec.min_ready_seconds or 0) == restored
    assert strategy_of(world) == OWN


def test_limits_and_a_pause_that_outlive_the_freeze_are_taken_off_before_the_rollout_is_gone() -> (
    None
):
    made = applied_deployment("v1", 4, LIMITS, 7)
    world = make_world(make_rollout(style="partition"), made)
    release(world)
    world.rest()
    world.cluster.rollouts.delete(KEY)
    release(world, "v1")
    held = workload_of(world).spec
    assert held.paused
    assert held.min_ready_seconds == 7
    assert held.strategy.rolling_update != RollingUpdate(*LIMITS)
    world.people.unheard = True
    world.people.label(KEY, without_label(workload_of(world).metadata, names.WORKLOAD_TYPE))
    world.people.undo(KEY, template("v3"))
    world.people.unheard = False
    world.rest()
    found = workload_of(world)
    assert names.STABLE_REVISION not in found.metadata.labels
    assert found.spec.strategy.rolling_update == RollingUpdate(*LIMITS)
    assert not found.spec.paused
    assert sizes_of(world) == {"v3": 4}
