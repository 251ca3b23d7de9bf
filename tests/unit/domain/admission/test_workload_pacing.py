"""Experiments on a real Deployment controller, by their numbers, as rules of admission."""

import msgspec

from controller.api.jsontree import child, text
from controller.api.names import (
    ADMISSION_PAUSE,
    FREEZE_MIN_READY_SECONDS,
    FREEZE_PROGRESS_DEADLINE_SECONDS,
    IN_PROGRESSING,
    ORIGINAL_STRATEGY,
    STABLE_REVISION,
)
from controller.domain.pods.marks import hold_on
from tests.unit.domain.admission.deployment_reviews import (
    GENTLE,
    OWN,
    TWO,
    annotation,
    held,
    set_in,
    spec,
    stored,
)
from tests.unit.domain.admission.objects import deployment, replica_set, with_image


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
    record = hold_on(new).record
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
    assert hold_on(new).record is not None


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
    record = hold_on(begun).record
    assert record is not None
    assert annotation(begun, ORIGINAL_STRATEGY) != stale[ORIGINAL_STRATEGY]
    assert record.release == annotation(begun, ADMISSION_PAUSE)


def test_pacing_19_the_freeze_is_never_recorded_as_the_owners() -> None:
    exported = deployment(
        "v2",
        minReadySeconds=FREEZE_MIN_READY_SECONDS,
        progressDeadlineSeconds=FREEZE_PROGRESS_DEADLINE_SECONDS,
    )
    record = hold_on(stored(deployment(), exported)).record
    assert record is not None
    assert record.min_ready_seconds == 0
    assert record.progress_deadline_seconds is msgspec.UNSET
