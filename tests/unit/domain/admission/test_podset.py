"""Admission of updates of sets of pods under a Rollout."""

import copy

import msgspec
import pytest

from controller.api.jsontree import JsonObject, changed, child, text
from controller.api.names import (
    ADMISSION_PAUSE,
    FREEZE_MIN_READY_SECONDS,
    IN_PROGRESSING,
    ORIGINAL_STRATEGY,
    WORKLOAD_TYPE,
)
from controller.api.rollout import BlueGreenStrategy, Rollout, Step, Strategy, WorkloadRef
from controller.api.workload_kinds import WorkloadKind
from controller.domain.admission.podset import admit_set
from controller.domain.admission.verdict import Amended, Refused, Unchanged, Verdict
from controller.domain.admission.workload import template_hash_of
from controller.domain.pods.marks import hold_on
from tests.unit.domain.admission.objects import deployment, rollout, with_image

KINDS = {
    WorkloadKind.STATEFUL_SET: "StatefulSet",
    WorkloadKind.CLONE_SET: "CloneSet",
    WorkloadKind.DAEMON_SET: "DaemonSet",
    WorkloadKind.ADVANCED_DAEMON_SET: "DaemonSet",
}
EVERY = pytest.mark.parametrize("kind", KINDS)
STATEFUL = WorkloadKind.STATEFUL_SET


def pod_set(image: str = "v1", strategy: JsonObject | None = None, **spec: object) -> JsonObject:
    """A set of pods under a Rollout; complete, says its status."""
    obj = deployment(image, **spec)
    for name in ("strategy", "progressDeadlineSeconds"):
        child(obj, "spec").pop(name)
    obj["status"] = {"currentRevision": "web-r1", "updateRevision": "web-r1"}
    return changed(obj, ("spec", "updateStrategy"), strategy)


def judged(
    old: JsonObject, new: JsonObject, kind: WorkloadKind, under: Rollout | None = None
) -> Verdict:
    return admit_set(old, new, under or rollout(), kind)


def stored(
    old: JsonObject,
    new: JsonObject,
    kind: WorkloadKind = STATEFUL,
    under: Rollout | None = None,
) -> JsonObject:
    """The object that the API server stores."""
    verdict = judged(old, new, kind, under)
    assert not isinstance(verdict, Refused)
    return verdict.obj if isinstance(verdict, Amended) else new


def held(kind: WorkloadKind = STATEFUL, strategy: JsonObject | None = None) -> JsonObject:
    """A set whose release of v2 was just admitted."""
    old = pod_set(strategy=strategy)
    return stored(old, with_image(old, "v2"), kind)


def let_go(old: JsonObject, new: JsonObject, kind: WorkloadKind = STATEFUL) -> JsonObject:
    """The object that the API server stores where no Rollout governs the set."""
    verdict = admit_set(old, new, None, kind)
    assert isinstance(verdict, Amended)
    return verdict.obj


def strategy_of(obj: JsonObject) -> JsonObject:
    return child(obj, "spec", "updateStrategy")


@EVERY
def test_a_template_change_is_held_and_marked(kind: WorkloadKind) -> None:
    own: JsonObject = {"maxUnavailable": 2} if kind is WorkloadKind.CLONE_SET else {}
    obj = held(kind, own)
    expected: dict[WorkloadKind, JsonObject] = {
        STATEFUL: {"type": "RollingUpdate", "rollingUpdate": {"partition": 32767}},
        WorkloadKind.ADVANCED_DAEMON_SET: {
            "type": "RollingUpdate",
            "rollingUpdate": {"partition": 32767, "paused": False},
        },
        WorkloadKind.CLONE_SET: {"maxUnavailable": 2, "partition": "100%"},
        WorkloadKind.DAEMON_SET: {"type": "OnDelete"},
    }
    assert strategy_of(obj) == expected[kind]
    assert text(obj, "metadata", "annotations", IN_PROGRESSING) == '{"rolloutName":"r"}'
    record = hold_on(obj).record
    assert record is not None
    assert text(obj, "metadata", "annotations", ADMISSION_PAUSE) == record.release
    assert record.strategy == own


def test_the_running_revision_is_recorded() -> None:
    record = hold_on(held()).record
    assert record is not None
    assert record.stable_revision == "web-r1"
    assert record.stable_template == template_hash_of(pod_set())
    assert record.strategy is msgspec.UNSET
    clones = hold_on(held(WorkloadKind.CLONE_SET)).record
    assert clones is not None
    assert clones.stable_revision == "r1"


def test_a_set_in_the_middle_of_another_update_has_no_certain_template() -> None:
    old = pod_set()
    old["status"] = {"currentRevision": "web-r1", "updateRevision": "web-r2"}
    record = hold_on(stored(old, with_image(old, "v3"))).record
    assert record is not None
    assert record.stable_revision == "web-r1"
    assert record.stable_template is msgspec.UNSET


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(pod_set(), pod_set(replicas=3), id="scaled"),
        pytest.param(pod_set(replicas=0), pod_set("v2", replicas=0), id="no replicas"),
        pytest.param(
            pod_set(strategy={"type": "OnDelete"}),
            pod_set("v2", strategy={"type": "OnDelete"}),
            id="rolled by hand",
        ),
    ],
)
def test_an_update_without_a_release_passes(old: JsonObject, new: JsonObject) -> None:
    assert judged(old, new, STATEFUL) == Unchanged()


def test_a_daemonset_that_its_owner_rolls_by_hand_is_released_too() -> None:
    own: JsonObject = {"type": "OnDelete"}
    obj = held(WorkloadKind.DAEMON_SET, own)
    record = hold_on(obj).record
    assert record is not None
    assert record.strategy == own


def test_a_set_that_is_going_or_that_no_rollout_names_passes() -> None:
    old = pod_set()
    going = changed(old, ("metadata", "deletionTimestamp"), "now")
    assert judged(going, with_image(going, "v2"), STATEFUL) == Unchanged()
    assert admit_set(old, with_image(old, "v2"), None, STATEFUL) == Unchanged()
    assert judged(old, with_image(old, "v2"), STATEFUL, rollout("Terminating")) == Unchanged()


@EVERY
def test_a_further_template_is_held_again_with_a_new_token(kind: WorkloadKind) -> None:
    before = held(kind, {"rollingUpdate": {"maxUnavailable": 2}})
    moved = copy.deepcopy(before)
    child(moved, "metadata", "annotations").pop(ADMISSION_PAUSE)
    if kind is WorkloadKind.CLONE_SET:
        moved = changed(moved, ("spec", "updateStrategy", "partition"), "40%")
    elif kind is not WorkloadKind.DAEMON_SET:
        moved = changed(moved, ("spec", "updateStrategy", "rollingUpdate", "partition"), 3)
    child(moved, "metadata")["generation"] = 7
    again = stored(moved, with_image(moved, "v3"), kind)
    assert strategy_of(again) == strategy_of(before)
    one, other = hold_on(before).record, hold_on(again).record
    assert one is not None
    assert other is not None
    assert one.release != other.release
    assert one.strategy == other.strategy


def test_the_owners_changes_are_in_force_and_recorded_except_the_partition() -> None:
    before = held(strategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 1}})
    moved = changed(before, ("spec", "updateStrategy", "rollingUpdate", "partition"), 3)
    applied = changed(
        moved, ("spec", "updateStrategy", "rollingUpdate"), {"partition": 0, "maxUnavailable": 2}
    )
    after = stored(moved, applied)
    assert strategy_of(after) == {
        "type": "RollingUpdate",
        "rollingUpdate": {"partition": 3, "maxUnavailable": 2},
    }
    record = hold_on(after).record
    assert record is not None
    assert record.strategy == {
        "type": "RollingUpdate",
        "rollingUpdate": {"partition": 0, "maxUnavailable": 2},
    }


def test_a_daemonset_stays_on_delete_when_its_owner_applies_another_type() -> None:
    own: JsonObject = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}
    before = held(WorkloadKind.DAEMON_SET, own)
    applied = changed(before, ("spec", "updateStrategy"), own)
    after = stored(before, applied, WorkloadKind.DAEMON_SET)
    assert strategy_of(after)["type"] == "OnDelete"
    record = hold_on(after).record
    assert record is not None
    assert record.strategy == own


def test_a_strategy_that_is_taken_out_whole_is_absent_again_in_the_end() -> None:
    before = held(strategy={"type": "RollingUpdate"})
    after = stored(before, changed(before, ("spec", "updateStrategy"), None))
    record = hold_on(after).record
    assert record is not None
    assert record.strategy in ({}, msgspec.UNSET)


def test_marks_cannot_be_lost() -> None:
    before = held()
    bare = changed(before, ("metadata", "annotations"), None)
    after = stored(before, bare)
    marks = child(after, "metadata", "annotations")
    assert {IN_PROGRESSING, ADMISSION_PAUSE, ORIGINAL_STRATEGY} <= marks.keys()


@EVERY
def test_a_manifest_that_replaces_the_set_changes_nothing_but_its_owners_values(
    kind: WorkloadKind,
) -> None:
    before = held(kind, {"rollingUpdate": {"maxUnavailable": 2}})
    bare = changed(pod_set("v2"), ("metadata", "labels"), None)
    after = stored(before, bare, kind)
    record = hold_on(after).record
    assert record is not None
    assert record.strategy in ({}, msgspec.UNSET)
    assert strategy_of(after) == strategy_of(held(kind))
    assert child(after, "metadata", "labels") == child(before, "metadata", "labels")
    marks = child(after, "metadata", "annotations")
    assert {IN_PROGRESSING, ADMISSION_PAUSE, ORIGINAL_STRATEGY} <= marks.keys()


@EVERY
def test_a_set_at_rest_that_is_replaced_with_another_template_is_released(
    kind: WorkloadKind,
) -> None:
    bare = changed(pod_set("v2"), ("metadata", "labels"), None)
    after = stored(pod_set(), bare, kind)
    assert after == held(kind)


def test_a_change_while_the_release_ends_stays_held_for_the_next_release() -> None:
    before = held()
    after = stored(before, with_image(before, "v3"), STATEFUL, rollout("Disabling"))
    assert strategy_of(after) == strategy_of(before)
    one, other = hold_on(before).record, hold_on(after).record
    assert one is not None
    assert other is not None
    assert one.release == other.release


@pytest.mark.parametrize("own", [None, {"rollingUpdate": {"maxUnavailable": 2}}])
def test_taking_the_label_off_leaves_nothing_behind(own: JsonObject | None) -> None:
    before = held(strategy=own)
    freed = changed(before, ("metadata", "labels", WORKLOAD_TYPE), None)
    after = let_go(before, freed)
    assert child(after, "spec").get("updateStrategy") == own
    assert child(after, "metadata", "annotations") == {}
    plain = pod_set()
    unlabelled = changed(plain, ("metadata", "labels", WORKLOAD_TYPE), None)
    assert judged(plain, unlabelled, STATEFUL) == Unchanged()


def test_a_rollout_governs_by_kind_and_name() -> None:
    from controller.domain.admission.workload import governing

    obj = pod_set() | {"apiVersion": "apps/v1", "kind": "StatefulSet"}
    under = rollout()
    assert governing(obj, (under,)) is None
    spec = msgspec.structs.replace(
        under.spec, workload_ref=WorkloadRef("apps/v1beta2", "StatefulSet", "web")
    )
    other = msgspec.structs.replace(under, spec=spec)
    assert governing(obj, (under, other)) == other


# --- a blue-green CloneSet -----------------------------------------------------------------------

CLONES = WorkloadKind.CLONE_SET
HELD: JsonObject = {"partition": "100%", "maxSurge": 1, "maxUnavailable": 0}


def doubling() -> Rollout:
    """A Rollout that releases blue-green."""
    under = rollout()
    strategy = Strategy(blue_green=BlueGreenStrategy(steps=(Step(replicas=1),)))
    return msgspec.structs.replace(
        under, spec=msgspec.structs.replace(under.spec, strategy=strategy)
    )


def held_beside() -> JsonObject:
    """A CloneSet whose blue-green release of v2 was just admitted."""
    old = pod_set(strategy={"maxUnavailable": 1}, minReadySeconds=5)
    return stored(old, with_image(old, "v2"), CLONES, doubling())


def test_a_cloneset_under_blue_green_is_held_by_min_ready_seconds_as_well() -> None:
    obj = held_beside()
    assert strategy_of(obj) == HELD
    assert child(obj, "spec")["minReadySeconds"] == FREEZE_MIN_READY_SECONDS
    record = hold_on(obj).record
    assert record is not None
    assert record.strategy == {"maxUnavailable": 1}
    assert record.min_ready_seconds == 5


def test_a_third_revision_is_held_from_the_start_and_no_pod_is_named_any_more() -> None:
    before = held_beside()
    moved = changed(before, ("spec", "updateStrategy"), {**HELD, "maxSurge": 4})
    moved = changed(moved, ("spec", "scaleStrategy"), {"podsToDelete": ["web-1"]})
    after = stored(moved, with_image(moved, "v3"), CLONES, doubling())
    assert strategy_of(after) == HELD
    assert child(after, "spec", "scaleStrategy") == {}
    record = hold_on(after).record
    assert record is not None
    assert record.min_ready_seconds == 5


def test_a_third_revision_at_the_end_of_blue_green_changes_no_surge() -> None:
    before = held_beside()
    moved = changed(before, ("spec", "updateStrategy"), {**HELD, "maxSurge": 4})
    ending = msgspec.structs.replace(rollout("Disabling"), spec=doubling().spec)
    after = stored(moved, with_image(moved, "v3"), CLONES, ending)
    assert strategy_of(after) == strategy_of(moved)
    assert child(after, "spec")["minReadySeconds"] == FREEZE_MIN_READY_SECONDS
    assert hold_on(after).record == hold_on(moved).record


def test_the_owners_limits_are_recorded_during_a_release_and_the_surge_stays() -> None:
    before = held_beside()
    moved = changed(before, ("spec", "updateStrategy"), {**HELD, "maxSurge": 4})
    applied = changed(moved, ("spec", "updateStrategy"), {"maxUnavailable": 2})
    applied = changed(applied, ("spec", "minReadySeconds"), 7)
    after = stored(moved, applied, CLONES, doubling())
    assert strategy_of(after) == {**HELD, "maxSurge": 4}
    assert child(after, "spec")["minReadySeconds"] == FREEZE_MIN_READY_SECONDS
    record = hold_on(after).record
    assert record is not None
    assert record.strategy == {"maxUnavailable": 2}
    assert record.min_ready_seconds == 7


def test_a_surge_that_was_taken_out_by_hand_is_put_back_as_the_least_one() -> None:
    before = held_beside()
    bare = changed(before, ("spec", "updateStrategy", "maxSurge"), None)
    after = stored(bare, changed(bare, ("metadata", "labels", "x"), "y"), CLONES, doubling())
    assert strategy_of(after)["maxSurge"] == 1


def test_taking_the_label_off_gives_min_ready_seconds_back_too() -> None:
    before = held_beside()
    named = changed(before, ("spec", "scaleStrategy"), {"podsToDelete": ["web-1"]})
    freed = changed(named, ("metadata", "labels", WORKLOAD_TYPE), None)
    after = let_go(named, freed, CLONES)
    assert child(after, "spec")["minReadySeconds"] == 5
    assert strategy_of(after) == {"maxUnavailable": 1}
    assert child(after, "spec", "scaleStrategy") == {}


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        (0, {"type": "OnDelete"}),
        (3, {"type": "RollingUpdate", "rollingUpdate": {"partition": 32767}}),
    ],
)
def test_a_stateful_set_at_zero_is_held_by_the_update_that_scales_it(
    replicas: int, expected: JsonObject
) -> None:
    """The owner's manifest says RollingUpdate: that alone would make every pod a new one."""
    own: JsonObject = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    old = changed(held(strategy=own), ("spec", "updateStrategy"), {"type": "OnDelete"})
    old = changed(old, ("spec", "replicas"), 0)
    applied = changed(old, ("spec", "updateStrategy"), own)
    obj = stored(old, changed(applied, ("spec", "replicas"), replicas))
    assert strategy_of(obj) == expected
    record = hold_on(obj).record
    assert record is not None
    assert record.strategy == own
