"""The first admission of an update of a Deployment under a Rollout."""

from datetime import UTC, datetime

import msgspec
import pytest

from controller.api.jsontree import JsonObject, child, text
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
    Rollout,
)
from controller.api.workloads import ReplicaSet
from controller.domain.admission.verdict import Refused, Unchanged
from controller.domain.admission.workload import (
    admit_deployment,
    governing,
)
from controller.domain.pods.marks import hold_on
from tests.unit.domain.admission.deployment_reviews import (
    GENTLE,
    LIMITS,
    ONE,
    OWN,
    TWO,
    annotation,
    judged,
    set_in,
    spec,
    stored,
)
from tests.unit.domain.admission.objects import deployment, replica_set, rollout


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


def test_the_requested_change_identifies_the_release() -> None:
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
def test_an_update_without_a_release_passes(
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
    assert governing(deployment(), [rollout("Disabled", disabled=True)]) is None
    enabled_again = rollout("Disabled")
    assert governing(deployment(), [enabled_again]) == enabled_again
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
    record = hold_on(new).record
    assert record is not None
    assert record.strategy == recreate


def test_recreate_does_not_matter_to_a_change_of_replicas() -> None:
    old = deployment(strategy={"type": "Recreate"})
    assert judged(old, set_in(old, "spec", "replicas", to=3)) == Unchanged()


def test_a_pause_of_the_owner_is_recorded() -> None:
    record = hold_on(stored(deployment(paused=True), deployment("v2", paused=True))).record
    assert record is not None
    assert record.paused
