"""Admission restores the marks that a workload has lost."""

import pytest

from controller.api.jsontree import JsonObject, changed, child, text
from controller.api.names import (
    ADMISSION_PAUSE,
    FREEZE_MIN_READY_SECONDS,
    IN_PROGRESSING,
    ORIGINAL_STRATEGY,
    STABLE_REVISION,
    WORKLOAD_TYPE,
)
from controller.api.workload_kinds import WorkloadKind
from controller.domain.admission.again import Lost, frozen_again
from controller.domain.pods.marks import hold_on
from tests.unit.domain.admission.deployment_reviews import held as held_deployment
from tests.unit.domain.admission.objects import deployment
from tests.unit.domain.admission.test_podset import EVERY, held, pod_set, strategy_of

DEPLOYMENT = WorkloadKind.DEPLOYMENT


def lost(record: str = "", **fields: object) -> Lost:
    return Lost("r", "release-1", record, "h1", **fields)  # type: ignore[arg-type] # by name


def recorded(obj: JsonObject) -> str:
    return text(obj, "metadata", "annotations", ORIGINAL_STRATEGY)


def bare(obj: JsonObject) -> JsonObject:
    """Nothing of ours in the metadata."""
    return changed(changed(obj, ("metadata", "annotations"), None), ("metadata", "labels"), None)


def test_a_bare_manifest_is_held_and_its_values_are_the_owners() -> None:
    again = frozen_again(bare(deployment("v2", minReadySeconds=7)), DEPLOYMENT, lost())
    record = hold_on(again).record
    assert record is not None
    assert (record.release, record.min_ready_seconds, record.progress_deadline_seconds) == (
        "release-1",
        7,
        600,
    )
    assert record.strategy == child(deployment(), "spec", "strategy")
    assert child(again, "spec")["paused"] is True
    assert child(again, "spec")["minReadySeconds"] == FREEZE_MIN_READY_SECONDS
    assert text(again, "metadata", "annotations", ADMISSION_PAUSE) == "release-1"
    assert text(again, "metadata", "annotations", IN_PROGRESSING) == '{"rolloutName":"r"}'
    labels = child(again, "metadata", "labels")
    assert labels == {WORKLOAD_TYPE: "deployment", STABLE_REVISION: "h1"}


def test_known_limits_are_those_of_the_step() -> None:
    limits: JsonObject = {"maxSurge": 0, "maxUnavailable": "20%"}
    again = frozen_again(deployment("v2"), DEPLOYMENT, lost(limits=limits))
    assert child(again, "spec", "strategy", "rollingUpdate") == limits
    kept = frozen_again(deployment("v2"), DEPLOYMENT, lost())
    assert child(kept, "spec", "strategy") == child(deployment(), "spec", "strategy")


def test_a_held_workload_without_its_record_gets_the_one_of_status() -> None:
    old = held_deployment("v2", minReadySeconds=4)
    again = frozen_again(bare(old), DEPLOYMENT, lost(recorded(old)))
    one, other = hold_on(old).record, hold_on(again).record
    assert one is not None
    assert other is not None
    assert (one.strategy, one.min_ready_seconds) == (other.strategy, other.min_ready_seconds)


def test_a_record_that_is_still_there_is_the_newest() -> None:
    old = held_deployment("v2", minReadySeconds=4)
    again = frozen_again(old, DEPLOYMENT, lost('{"release":"x","minReadySeconds":9}'))
    record = hold_on(again).record
    assert record is not None
    assert (record.release, record.min_ready_seconds) == ("release-1", 4)


@EVERY
def test_a_set_that_kept_its_strategy_gets_the_record_of_status(kind: WorkloadKind) -> None:
    own: JsonObject = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    old = held(kind, own)
    again = frozen_again(bare(old), kind, lost(recorded(old)))
    record = hold_on(again).record
    assert record is not None
    assert record.strategy == own
    assert strategy_of(again) == strategy_of(old)
    assert child(again, "metadata", "labels")[WORKLOAD_TYPE] == kind.label


@pytest.mark.parametrize("known", [True, False])
@EVERY
def test_a_set_that_was_replaced_has_its_owners_strategy_recorded(
    kind: WorkloadKind, known: bool
) -> None:
    own: JsonObject = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3}}
    record_text = recorded(held(kind)) if known else ""
    again = frozen_again(bare(pod_set("v2", strategy=own)), kind, lost(record_text))
    record = hold_on(again).record
    assert record is not None
    assert record.strategy == own
    assert strategy_of(again) == strategy_of(held(kind, own))


def test_a_blue_green_cloneset_is_held_by_min_ready_seconds_again() -> None:
    obj = changed(pod_set("v2"), ("spec", "minReadySeconds"), FREEZE_MIN_READY_SECONDS)
    kept = '{"release":"x","minReadySeconds":5,"strategy":{"maxUnavailable":1}}'
    again = frozen_again(bare(obj), WorkloadKind.CLONE_SET, lost(kept, beside=True))
    record = hold_on(again).record
    assert record is not None
    assert (record.min_ready_seconds, record.strategy) == (5, {"maxUnavailable": 1})
    assert child(again, "spec")["minReadySeconds"] == FREEZE_MIN_READY_SECONDS


def test_a_stateful_set_at_zero_gets_the_record_of_status() -> None:
    """Its strategy is ours: an owner's OnDelete is not released at all."""
    own: JsonObject = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    old = held(WorkloadKind.STATEFUL_SET, own)
    at_zero = changed(bare(old), ("spec", "updateStrategy"), {"type": "OnDelete"})
    record = hold_on(frozen_again(at_zero, WorkloadKind.STATEFUL_SET, lost(recorded(old)))).record
    assert record is not None
    assert record.strategy == own
