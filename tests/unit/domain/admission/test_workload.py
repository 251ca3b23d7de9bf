"""What admission makes of updates of a Deployment under a Rollout."""

import copy
from datetime import UTC, datetime

import msgspec
import pytest

from controller.api.jsontree import JsonObject, changed, child, text
from controller.api.meta import ObjectMeta
from controller.api.names import (
    ADMISSION_PAUSE,
    FREEZE_MIN_READY_SECONDS,
    FREEZE_PROGRESS_DEADLINE_SECONDS,
    IN_PROGRESSING,
    ORIGINAL_STRATEGY,
    ROLLOUT_ID,
    SIDE_BY_SIDE,
    STABLE_REVISION,
    WORKLOAD_TYPE,
)
from controller.api.rollout import (
    BlueGreenStrategy,
    MoonshiftStatus,
    Rollout,
    RolloutStatus,
    Step,
    Strategy,
)
from controller.api.workloads import ReplicaSet
from controller.domain.admission.availability_freeze import record_of
from controller.domain.admission.verdict import Amended, Refused, Unchanged, Verdict
from controller.domain.admission.workload import (
    admit_deployment,
    governing,
    needs_replica_sets,
    template_hash_of,
)
from tests.unit.domain.admission.objects import deployment, replica_set, rollout, with_image

GENTLE = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
LIMITS: JsonObject = {"maxSurge": "25%", "maxUnavailable": "25%"}
OWN: JsonObject = {"type": "RollingUpdate", "rollingUpdate": LIMITS}
ONE = (replica_set("v1", 1),)
TWO = (replica_set("v1", 1, 8), replica_set("v2", 2, 2))


def judged(
    old: JsonObject,
    new: JsonObject,
    replica_sets: tuple[ReplicaSet, ...] = ONE,
    under: Rollout | None = None,
) -> Verdict:
    """The verdict under a healthy Rollout."""
    return admit_deployment(old, new, under or rollout(), replica_sets)


def result(verdict: Verdict, new: JsonObject) -> JsonObject:
    """What gets stored."""
    assert not isinstance(verdict, Refused), verdict
    return verdict.obj if isinstance(verdict, Amended) else new


def stored(
    old: JsonObject,
    new: JsonObject,
    replica_sets: tuple[ReplicaSet, ...] = ONE,
    under: Rollout | None = None,
) -> JsonObject:
    """What gets stored under a healthy Rollout."""
    return result(judged(old, new, replica_sets, under), new)


def spec(obj: JsonObject, *names: str) -> object:
    """A field of the spec."""
    return child(obj, "spec", *names[:-1]).get(names[-1])


def annotation(obj: JsonObject, name: str) -> str:
    """An annotation, or an empty string."""
    return text(obj, "metadata", "annotations", name)


def set_in(obj: JsonObject, *path: str, to: object) -> JsonObject:
    """A changed copy."""
    return changed(copy.deepcopy(obj), path, to)


def held(image: str = "v2", **fields: object) -> JsonObject:
    """A Deployment in mid-release: held, no latch, knobs {0, 20%}."""
    admission_paused = stored(deployment(), deployment(image, **fields))
    paced = set_in(admission_paused, "metadata", "annotations", ADMISSION_PAUSE, to=None)
    paced = set_in(paced, "spec", "paused", to=None)
    rolling_limits = {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "20%"},
    }
    return set_in(paced, "spec", "strategy", to=rolling_limits)


# --- the first admission ------------------------------------------------------------------------


def test_a_new_template_is_admission_paused_and_held() -> None:
    new = stored(deployment(), deployment("v2", minReadySeconds=5))
    assert spec(new, "paused") is True
    assert spec(new, "strategy") == GENTLE
    assert spec(new, "minReadySeconds") == FREEZE_MIN_READY_SECONDS
    assert spec(new, "progressDeadlineSeconds") == FREEZE_PROGRESS_DEADLINE_SECONDS
    assert annotation(new, IN_PROGRESSING) == '{"rolloutName":"r"}'
    assert text(new, "metadata", "labels", STABLE_REVISION) == "h1"
    release = annotation(new, ADMISSION_PAUSE)
    assert release
    assert msgspec.json.decode(annotation(new, ORIGINAL_STRATEGY)) == {
        "release": release,
        "strategy": OWN,
        "minReadySeconds": 5,
        "progressDeadlineSeconds": 600,
        "paused": False,
        **LIMITS,
    }


def test_the_annotation_has_the_originals_fields_of_limits_and_they_follow_the_owner() -> None:
    held = stored(deployment(), deployment("v2"))
    assert LIMITS.items() <= msgspec.json.decode(annotation(held, ORIGINAL_STRATEGY)).items()
    other = {"maxSurge": 3, "maxUnavailable": "10%"}
    strategy = {"type": "RollingUpdate", "rollingUpdate": other}
    edited = stored(held, set_in(held, "spec", "strategy", to=strategy))
    assert other.items() <= msgspec.json.decode(annotation(edited, ORIGINAL_STRATEGY)).items()


def test_the_release_is_identified_by_what_was_asked_for() -> None:
    first = stored(deployment(), deployment("v2"))
    again = stored(deployment(), deployment("v2"))
    other = stored(deployment(), deployment("v3"))
    assert (
        annotation(first, ADMISSION_PAUSE)
        == annotation(again, ADMISSION_PAUSE)
        != annotation(other, ADMISSION_PAUSE)
    )


@pytest.mark.parametrize(
    ("old", "new", "replica_sets"),
    [
        pytest.param(deployment(), deployment(replicas=5), ONE, id="replicas-only"),
        pytest.param(deployment(), deployment("v2", replicas=0), ONE, id="no-replicas-wanted"),
        pytest.param(deployment(), deployment("v2"), (), id="no-replica-set"),
        pytest.param(
            deployment(), deployment("v2"), (replica_set("v1", 1, 0),), id="no-active-replica-set"
        ),
        pytest.param(
            set_in(deployment(), "metadata", "annotations", ROLLOUT_ID, to="a"),
            set_in(deployment("v2"), "metadata", "annotations", ROLLOUT_ID, to="a"),
            ONE,
            id="same-rollout-id",
        ),
        pytest.param(
            set_in(deployment(), "metadata", "deletionTimestamp", to="2026-01-01T00:00:00Z"),
            deployment("v2"),
            ONE,
            id="being-deleted",
        ),
    ],
)
def test_what_is_no_release_passes(
    old: JsonObject, new: JsonObject, replica_sets: tuple[ReplicaSet, ...]
) -> None:
    assert judged(old, new, replica_sets) == Unchanged()


@pytest.mark.parametrize(
    "under",
    [
        pytest.param(rollout("Disabling"), id="disabling"),
        pytest.param(rollout(disabled=True), id="disabled-in-spec"),
        pytest.param(rollout("Terminating"), id="terminating"),
        pytest.param(
            msgspec.structs.replace(
                rollout(), metadata=ObjectMeta(deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC))
            ),
            id="deleting",
        ),
    ],
)
def test_no_release_begins_under_a_rollout_that_ends(under: Rollout) -> None:
    assert judged(deployment(), deployment("v2"), ONE, under) == Unchanged()


def test_a_rollout_governs_by_group_kind_and_name() -> None:
    assert governing(deployment(), [rollout()]) == rollout()
    assert governing(deployment(), [rollout("Disabled")]) is None
    assert governing(set_in(deployment(), "metadata", "name", to="other"), [rollout()]) is None
    assert admit_deployment(deployment(), deployment("v2"), None, ONE) == Unchanged()


def test_the_oldest_revision_in_use_is_the_stable_one() -> None:
    three = (replica_set("v9", 9, 1), replica_set("v10", 10, 8), replica_set("v2", 2, 0))
    new = stored(deployment("v10"), deployment("v11"), three)
    assert text(new, "metadata", "labels", STABLE_REVISION) == "h9"


def test_only_a_new_rollout_id_is_admission_paused_without_the_freeze() -> None:
    """The template runs already, so a hold would make every pod of it unavailable."""
    new = stored(deployment(), set_in(deployment(), "metadata", "annotations", ROLLOUT_ID, to="b"))
    assert spec(new, "paused") is True
    assert "minReadySeconds" not in child(new, "spec")
    assert text(new, "metadata", "labels", STABLE_REVISION) == "h1"


def test_undoing_a_native_rollout_is_admission_paused_without_the_freeze() -> None:
    new = stored(deployment("v2"), deployment("v1"), TWO)
    assert annotation(new, ADMISSION_PAUSE)
    assert spec(new, "progressDeadlineSeconds") == 600
    assert spec(new, "strategy") == OWN


def test_strategy_recreate_is_refused_with_the_ways_out() -> None:
    verdict = judged(
        deployment(strategy={"type": "Recreate"}), deployment("v2", strategy={"type": "Recreate"})
    )
    assert isinstance(verdict, Refused)
    assert SIDE_BY_SIDE in verdict.message
    assert WORKLOAD_TYPE in verdict.message


def test_strategy_recreate_passes_when_its_owner_allows_side_by_side() -> None:
    recreate = {"type": "Recreate"}
    wanted = deployment("v2", strategy=recreate)
    allowed = set_in(wanted, "metadata", "annotations", SIDE_BY_SIDE, to="true")
    new = stored(deployment(strategy=recreate), allowed)
    assert spec(new, "strategy") == GENTLE
    record = record_of(new)
    assert record is not None
    assert record.strategy == recreate


def test_recreate_does_not_matter_to_a_change_of_replicas() -> None:
    old = deployment(strategy={"type": "Recreate"})
    assert judged(old, set_in(old, "spec", "replicas", to=3)) == Unchanged()


def test_a_pause_of_the_owner_is_recorded() -> None:
    record = record_of(stored(deployment(paused=True), deployment("v2", paused=True)))
    assert record is not None
    assert record.paused


# --- what the experiments on a real Deployment controller taught ---------------------------------


def test_pacing_2_first_admission_makes_nothing_move() -> None:
    new = stored(deployment(), deployment("v2"))
    assert (spec(new, "paused"), spec(new, "strategy")) == (True, GENTLE)


def test_pacing_6_a_rollback_is_admission_paused_without_the_freeze() -> None:
    old = held()
    new = stored(old, with_image(old, "v1"), TWO)
    assert annotation(new, ADMISSION_PAUSE)
    assert spec(new, "paused") is True
    assert "minReadySeconds" not in child(new, "spec")
    assert spec(new, "progressDeadlineSeconds") == 600
    assert spec(new, "strategy") == spec(old, "strategy"), "another N+S would be a scale event"
    record = record_of(new)
    assert record is not None
    assert record.release == annotation(new, ADMISSION_PAUSE) != annotation(old, ADMISSION_PAUSE)
    assert record.strategy == OWN


def test_pacing_7_a_third_revision_after_a_rollback_gets_the_freeze_again() -> None:
    old = held()
    back = stored(old, with_image(old, "v1"), TWO)
    new = stored(back, with_image(back, "v3"), TWO)
    assert spec(new, "minReadySeconds") == FREEZE_MIN_READY_SECONDS
    assert spec(new, "paused") is True
    assert annotation(new, ADMISSION_PAUSE) != annotation(back, ADMISSION_PAUSE)
    assert text(new, "metadata", "labels", STABLE_REVISION) == "h1"


def test_pacing_14_nobody_takes_the_admission_pause_off() -> None:
    old = stored(deployment(), deployment("v2"))
    new = stored(old, set_in(old, "spec", "paused", to=False))
    assert spec(new, "paused") is True
    assert annotation(new, ADMISSION_PAUSE) == annotation(old, ADMISSION_PAUSE)


def test_pacing_15_rolling_limits_stay_while_two_revisions_run() -> None:
    new = stored(deployment("v2"), deployment("v3"), TWO)
    assert spec(new, "strategy") == OWN
    assert spec(new, "minReadySeconds") == FREEZE_MIN_READY_SECONDS
    old = held()
    third = stored(old, with_image(old, "v3"), TWO)
    assert spec(third, "strategy") == spec(old, "strategy")


def test_pacing_18_undo_that_replaces_all_annotations_keeps_our_marks() -> None:
    old = held()
    undone = set_in(with_image(old, "v1"), "metadata", "annotations", to={"theirs": "yes"})
    undone = set_in(undone, "metadata", "labels", STABLE_REVISION, to=None)
    new = stored(old, undone, TWO)
    assert annotation(new, IN_PROGRESSING) == '{"rolloutName":"r"}'
    assert text(new, "metadata", "labels", STABLE_REVISION) == "h1"
    assert annotation(new, "theirs") == "yes"
    assert record_of(new) is not None


def test_pacing_19_stale_marks_of_a_finished_release_are_stripped() -> None:
    stale = child(held(), "metadata", "annotations")
    undone = set_in(deployment("v1", replicas=0), "metadata", "annotations", to=dict(stale))
    new = stored(deployment("v3"), undone, ())
    assert (
        not {IN_PROGRESSING, ORIGINAL_STRATEGY, ADMISSION_PAUSE}
        & child(new, "metadata", "annotations").keys()
    )
    begun = stored(
        deployment("v3"),
        set_in(deployment("v1"), "metadata", "annotations", to=dict(stale)),
        (replica_set("v3", 3),),
    )
    record = record_of(begun)
    assert record is not None
    assert annotation(begun, ORIGINAL_STRATEGY) != stale[ORIGINAL_STRATEGY]
    assert record.release == annotation(begun, ADMISSION_PAUSE)


def test_pacing_19_the_freeze_is_never_recorded_as_the_owners() -> None:
    exported = deployment(
        "v2",
        minReadySeconds=FREEZE_MIN_READY_SECONDS,
        progressDeadlineSeconds=FREEZE_PROGRESS_DEADLINE_SECONDS,
    )
    record = record_of(stored(deployment(), exported))
    assert record is not None
    assert record.min_ready_seconds == 0
    assert record.progress_deadline_seconds is msgspec.UNSET


# --- in release ---------------------------------------------------------------------------------


def test_a_manifest_applied_again_changes_nothing() -> None:
    old = held()
    manifest = deployment("v2")
    applied = set_in(old, "spec", "strategy", to=OWN)
    applied = set_in(applied, "spec", "progressDeadlineSeconds", to=600)
    applied = set_in(applied, "spec", "minReadySeconds", to=spec(manifest, "minReadySeconds"))
    new = stored(old, applied, TWO)
    assert spec(new, "minReadySeconds") == FREEZE_MIN_READY_SECONDS
    assert spec(new, "strategy") == spec(old, "strategy")
    assert record_of(new) == record_of(old)


def test_what_the_owner_writes_in_mid_release_is_recorded() -> None:
    old = held()
    wanted = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 0}}
    applied = set_in(old, "spec", "strategy", to=wanted)
    applied = set_in(applied, "spec", "minReadySeconds", to=7)
    new = stored(old, applied, TWO)
    record = record_of(new)
    assert record is not None
    assert (record.strategy, record.min_ready_seconds) == (wanted, 7)
    assert spec(new, "minReadySeconds") == FREEZE_MIN_READY_SECONDS
    assert spec(new, "strategy") == spec(old, "strategy")


def test_without_the_admission_pause_a_pause_is_the_owners() -> None:
    old = held()
    paused = stored(old, set_in(old, "spec", "paused", to=True), TWO)
    assert spec(paused, "paused") is True
    record = record_of(paused)
    assert record is not None
    assert record.paused
    resumed = stored(paused, set_in(paused, "spec", "paused", to=False), TWO)
    assert spec(resumed, "paused") is False


def test_an_untouched_update_passes_untouched() -> None:
    old = held()
    assert judged(old, set_in(old, "metadata", "annotations", "theirs", to="x"), TWO) == Unchanged()


def test_a_template_changed_under_the_same_rollout_id_is_admission_paused_in_mid_release() -> None:
    old = set_in(held(), "metadata", "annotations", ROLLOUT_ID, to="a")
    assert annotation(stored(old, with_image(old, "v3"), TWO), ADMISSION_PAUSE)


def test_the_way_back_is_known_from_status_when_the_label_is_lost() -> None:
    old = set_in(held(), "metadata", "labels", STABLE_REVISION, to=None)
    position = MoonshiftStatus(stable_template=template_hash_of(deployment()))
    under = msgspec.structs.replace(rollout(), status=RolloutStatus(moonshift=position))
    new = stored(old, with_image(old, "v1"), (replica_set("v2", 2, 2),), under)
    assert "minReadySeconds" not in child(new, "spec")


def test_a_release_that_is_being_ended_is_not_admission_paused_again() -> None:
    old = held()
    new = stored(old, with_image(old, "v3"), TWO, rollout("Disabling"))
    assert not annotation(new, ADMISSION_PAUSE)
    assert spec(new, "minReadySeconds") == FREEZE_MIN_READY_SECONDS
    assert record_of(new) == record_of(old)


def test_strategy_recreate_in_mid_release_is_recorded_but_a_new_template_with_it_is_refused() -> (
    None
):
    old = held()
    recreate = set_in(old, "spec", "strategy", to={"type": "Recreate"})
    record = record_of(stored(old, recreate, TWO))
    assert record is not None
    assert record.strategy == {"type": "Recreate"}
    assert isinstance(judged(old, with_image(recreate, "v3"), TWO), Refused)


def test_a_change_while_the_release_is_finishing_begins_a_new_one() -> None:
    """The hold is gone and the mark still there."""
    finishing = set_in(
        deployment("v2"), "metadata", "annotations", IN_PROGRESSING, to='{"rolloutName":"r"}'
    )
    new = stored(finishing, with_image(finishing, "v3"), TWO)
    assert spec(new, "minReadySeconds") == FREEZE_MIN_READY_SECONDS
    assert annotation(new, ADMISSION_PAUSE)
    dropped = set_in(finishing, "metadata", "annotations", to=None)
    assert annotation(stored(finishing, dropped, TWO), IN_PROGRESSING)


# --- the way out --------------------------------------------------------------------------------


GOING = pytest.mark.parametrize(
    "under",
    [
        pytest.param(None, id="no-rollout"),
        pytest.param(rollout(disabled=True), id="switched-off"),
        pytest.param(rollout("Disabling"), id="being-switched-off"),
        pytest.param(rollout("Terminating"), id="being-deleted"),
    ],
)


@GOING
def test_taking_the_label_off_gives_the_owner_everything_back(under: Rollout | None) -> None:
    old = stored(deployment(minReadySeconds=4), deployment("v2", minReadySeconds=4))
    free = set_in(old, "metadata", "labels", WORKLOAD_TYPE, to=None)
    out = result(admit_deployment(old, free, under, ONE), free)
    assert child(out, "spec") == {**child(deployment("v2", minReadySeconds=4), "spec")}
    assert not child(out, "metadata", "annotations")
    assert not child(out, "metadata", "labels")


def replaced(image: str, **fields: object) -> JsonObject:
    """The owner's bare manifest, as `kubectl replace` stores it: nothing of ours is left."""
    return set_in(deployment(image, **fields), "metadata", "labels", to=None)


def test_the_label_stays_while_a_release_is_under_way() -> None:
    for old in (held(), stored(deployment(), deployment("v2"))):
        free = set_in(old, "metadata", "labels", WORKLOAD_TYPE, to=None)
        assert stored(old, free, TWO) == old


def test_a_manifest_that_replaces_the_workload_changes_nothing_but_its_owners_values() -> None:
    old = held("v2", minReadySeconds=4)
    new = stored(old, replaced("v2", minReadySeconds=9), TWO)
    record = record_of(new)
    assert record is not None
    assert (record.min_ready_seconds, record.strategy, record.paused) == (9, OWN, False)
    assert text(new, "metadata", "labels", WORKLOAD_TYPE) == "deployment"
    assert text(new, "metadata", "labels", STABLE_REVISION) == "h1"
    assert annotation(new, IN_PROGRESSING) == annotation(old, IN_PROGRESSING)
    assert child(new, "spec") == child(old, "spec")


def test_replacing_a_admission_paused_workload_leaves_it_admission_paused() -> None:
    old = stored(deployment(), deployment("v2"))
    new = stored(old, replaced("v2"))
    assert child(new, "spec") == child(old, "spec")
    assert annotation(new, ADMISSION_PAUSE) == annotation(old, ADMISSION_PAUSE)


def test_a_third_revision_that_replaces_the_workload_is_admission_paused() -> None:
    old = held()
    new = stored(old, replaced("v3"), TWO)
    assert spec(new, "paused") is True
    assert spec(new, "minReadySeconds") == FREEZE_MIN_READY_SECONDS
    assert annotation(new, ADMISSION_PAUSE)
    assert text(new, "metadata", "labels", WORKLOAD_TYPE) == "deployment"


def test_a_workload_at_rest_that_is_replaced_with_another_template_is_released() -> None:
    new = stored(deployment(), replaced("v2"))
    assert spec(new, "paused") is True
    assert text(new, "metadata", "labels", WORKLOAD_TYPE) == "deployment"
    assert annotation(new, ADMISSION_PAUSE)


def test_taking_the_label_off_an_idle_workload_passes() -> None:
    out = set_in(deployment(), "metadata", "labels", WORKLOAD_TYPE, to=None)
    assert judged(deployment(), out) == Unchanged()


def test_a_bare_admission_pause_goes_with_the_label() -> None:
    old = set_in(deployment(paused=True), "metadata", "annotations", ADMISSION_PAUSE, to="x")
    free = set_in(old, "metadata", "labels", WORKLOAD_TYPE, to=None)
    out = result(admit_deployment(old, free, None, ONE), free)
    assert "paused" not in child(out, "spec")


def test_replica_sets_are_needed_only_for_a_change_of_the_template_or_id() -> None:
    assert needs_replica_sets(deployment(), deployment("v2"))
    assert not needs_replica_sets(deployment(), deployment(replicas=3))


def test_an_approved_revision_counts_as_stable_before_the_label_says_so() -> None:
    old = held("v3")
    position = MoonshiftStatus(stable_template=template_hash_of(deployment("v2")))
    under = msgspec.structs.replace(rollout(), status=RolloutStatus(moonshift=position))
    new = stored(old, with_image(old, "v2"), TWO, under)
    assert "minReadySeconds" not in child(new, "spec")
    assert annotation(new, ADMISSION_PAUSE)


@pytest.mark.parametrize("text_", ["nonsense", "[]", '{"minReadySeconds": "x"}', '{"maxSurge": 1}'])
def test_a_record_of_another_make_is_none_of_ours(text_: str) -> None:
    old = set_in(held(), "metadata", "annotations", ORIGINAL_STRATEGY, to=text_)
    assert record_of(old) is None


def test_a_release_without_an_older_revision_has_no_stable_one() -> None:
    """Its only pods are of revisions that carry no hash label."""
    bare = msgspec.structs.replace(replica_set("v1", 1), metadata=ObjectMeta(name="x"))
    new = stored(deployment(), deployment("v2"), (bare,))
    assert STABLE_REVISION not in child(new, "metadata", "labels")


def test_a_way_back_from_blue_green_keeps_the_freeze_because_the_stable_revision_is_whole() -> None:
    under = rollout()
    plan = BlueGreenStrategy(steps=(Step(replicas=1),))
    spec = msgspec.structs.replace(under.spec, strategy=Strategy(blue_green=plan))
    under = msgspec.structs.replace(under, spec=spec)
    old = deployment()
    held = stored(old, with_image(old, "v2"), ONE, under)
    both = (replica_set("v1", 1, 10), replica_set("v2", 2, 10))
    back = stored(held, with_image(held, "v1"), both, under)
    assert child(back, "spec")["minReadySeconds"] == FREEZE_MIN_READY_SECONDS
    assert child(back, "spec")["paused"] is True
    partition = stored(held, with_image(held, "v1"), both)
    assert child(partition, "spec").get("minReadySeconds") is None
