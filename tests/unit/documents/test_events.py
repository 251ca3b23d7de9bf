"""docs/runbooks.md has one table of Events, which agrees with the code."""

from collections import Counter

from tests.unit.documents.event_table import (
    DOCUMENT,
    literal_reasons,
    others,
    reasons_of_notes,
    renewed,
    rows,
)


def test_the_table_is_that_of_the_code() -> None:
    text = DOCUMENT.read_text()
    assert renewed(text) == text, "run make generate"


def test_every_reason_is_there_once_and_says_when_it_is_reported() -> None:
    assert [
        reason for reason, count in Counter(row[0] for row in rows()).items() if count > 1
    ] == []
    assert [row[0] for row in rows() if not row[3]] == []


def test_every_note_of_a_decision_is_found() -> None:
    assert {"RELEASE_COMPLETED", "RELEASE_CANCELED", "APPROVED", "TRAFFIC_ROUTING_PHASE"} <= set(
        reasons_of_notes()
    )
    assert others() == ["Forbidden", "KindNotServed"]


def test_every_refusal_and_note_takes_its_reason_from_the_vocabulary() -> None:
    assert literal_reasons() == []
