"""Every reason has one class."""

from controller.cli.remedies.remedy_table import TABLE
from controller.domain import reasons
from controller.telemetry.state.stalls import StallClass, stall_class, stall_of


def test_a_reason_that_nobody_listed_is_other() -> None:
    assert stall_class("Whatever") is StallClass.OTHER


def test_reasons_that_stall_a_release_are_listed() -> None:
    listed = (
        reasons.DEADLINE_EXCEEDED,
        reasons.UNSUPPORTED_STEP,
        reasons.SERVICE_NOT_OURS,
        reasons.REVISION_FAILED,
        reasons.ANALYSIS_FAILED,
    )
    assert StallClass.OTHER not in {stall_class(reason) for reason in listed}


def test_an_object_without_conditions_is_not_stalled() -> None:
    assert stall_of(()) is None


def test_every_reason_with_a_remedy_has_a_class() -> None:
    assert [reason for reason in TABLE if stall_class(reason) is StallClass.OTHER] == []
