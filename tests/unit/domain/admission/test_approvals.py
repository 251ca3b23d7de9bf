"""Admission records every approval with the user name that the API server knows."""

from datetime import UTC, datetime

import pytest

from controller.api.jsontree import JsonObject, child, items
from controller.domain.admission.approvals import KEPT, MAX_CHARACTERS, note_approval
from controller.domain.admission.verdict import Amended, Unchanged

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def obj(state: str, name: str = "canaryStatus", **moonshift: object) -> JsonObject:
    """A Rollout in step 2."""
    return {
        "status": {
            name: {"currentStepState": state, "currentStepIndex": 2},
            "moonshift": moonshift,
        }
    }


@pytest.mark.parametrize("name", ["canaryStatus", "blueGreenStatus"])
def test_an_approval_is_noted(name: str) -> None:
    verdict = note_approval(obj("StepPaused", name), obj("StepReady", name), "alice", NOW)
    assert isinstance(verdict, Amended)
    entries = items(child(verdict.obj, "status", "moonshift"), "approvals")
    assert entries == [{"step": 2, "by": "alice", "at": "2026-05-04T12:00:00Z"}]


@pytest.mark.parametrize(
    ("before", "after"),
    [("StepReady", "StepReady"), ("StepPaused", "StepPaused"), ("StepReady", "StepPaused")],
)
def test_other_patches_are_no_approvals(before: str, after: str) -> None:
    assert note_approval(obj(before), obj(after), "alice", NOW) == Unchanged()


def test_a_program_that_does_not_know_our_part_of_the_status_does_not_remove_it() -> None:
    before = obj("StepPaused", step=2, approvals=[{"step": 1, "by": "bob"}])
    after: JsonObject = {"status": {"canaryStatus": {"currentStepState": "StepReady"}}}
    verdict = note_approval(before, after, "alice", NOW)
    assert isinstance(verdict, Amended)
    ours = child(verdict.obj, "status", "moonshift")
    assert ours["step"] == 2
    assert [child(entry)["by"] for entry in items(ours, "approvals")] == ["bob", "alice"]


@pytest.mark.parametrize(
    ("stored", "written", "expected"),
    [
        (
            {"blueGreenStatus": {"currentStepIndex": 1}},
            {"phase": "Progressing"},
            {"blueGreenStatus": {"currentStepIndex": 1}, "phase": "Progressing"},
        ),
        (
            {"canaryStatus": {"currentStepIndex": 1, "nextStepIndex": 2}},
            {"canaryStatus": {"currentStepIndex": 1}},
            {"canaryStatus": {"currentStepIndex": 1, "nextStepIndex": 2}},
        ),
    ],
)
def test_a_program_with_the_types_of_v1alpha1_removes_nothing_of_v1beta1(
    stored: JsonObject, written: JsonObject, expected: JsonObject
) -> None:
    verdict = note_approval({"status": stored}, {"status": written}, "alice", NOW)
    assert isinstance(verdict, Amended)
    assert child(verdict.obj, "status") == expected


def test_a_status_that_is_emptied_stays_empty() -> None:
    assert note_approval(obj("StepPaused", step=2), {"status": {}}, "alice", NOW) == Unchanged()


def test_an_exact_approval_carries_its_authors_own_name() -> None:
    asked = obj("StepPaused", approval={"step": 3, "by": "the boss"})
    verdict = note_approval(obj("StepPaused"), asked, "alice", NOW)
    assert isinstance(verdict, Amended)
    position = child(verdict.obj, "status", "moonshift")
    assert child(position, "approval")["by"] == "alice"
    assert [child(entry)["step"] for entry in items(position, "approvals")] == [3]
    assert note_approval(verdict.obj, verdict.obj, "bob", NOW) == Unchanged()


def test_the_reason_of_an_approval_is_kept_and_bounded() -> None:
    asked = obj("StepPaused", approval={"step": 2, "message": "m" * (MAX_CHARACTERS + 1)})
    verdict = note_approval(obj("StepPaused"), asked, "alice", NOW)
    assert isinstance(verdict, Amended)
    position = child(verdict.obj, "status", "moonshift")
    (entry,) = items(position, "approvals")
    assert child(entry)["by"] == "alice"
    assert child(entry)["message"] == child(position, "approval")["message"] == "m" * MAX_CHARACTERS


def test_the_list_is_bounded() -> None:
    full = [{"step": number} for number in range(KEPT)]
    verdict = note_approval(
        obj("StepPaused", approvals=full), obj("StepReady", approvals=full), "alice", NOW
    )
    assert isinstance(verdict, Amended)
    entries = items(child(verdict.obj, "status", "moonshift"), "approvals")
    assert len(entries) == KEPT
    assert child(entries[-1])["by"] == "alice"


def entries_of(verdict: Unchanged | Amended) -> list[object]:
    assert isinstance(verdict, Amended)
    return items(child(verdict.obj, "status", "moonshift"), "approvals")


def test_the_note_of_a_jump_names_the_new_step() -> None:
    verdict = note_approval(obj("StepPaused", step=2), obj("StepPaused", step=2, jump=4), "al", NOW)
    assert entries_of(verdict) == [{"step": 2, "by": "al", "at": "2026-05-04T12:00:00Z", "to": 4}]


@pytest.mark.parametrize("field", ["nextStepIndex", "currentStepIndex"])
@pytest.mark.parametrize("name", ["canaryStatus", "blueGreenStatus"])
@pytest.mark.parametrize(("target", "noted"), [(5, True), (1, True), (3, False), (0, False)])
def test_every_index_that_is_moved_is_noted(
    name: str, field: str, target: int, noted: bool
) -> None:
    before, after = obj("StepPaused", name), obj("StepPaused", name)
    child(before, "status", name).update(nextStepIndex=3, currentStepIndex=3)
    child(after, "status", name).update(nextStepIndex=3, currentStepIndex=3)
    child(after, "status", name)[field] = target
    verdict = note_approval(before, after, "al", NOW)
    assert isinstance(verdict, Amended) is noted
    if noted:
        (entry,) = map(child, entries_of(verdict))
        assert (entry["step"], entry["to"], entry["by"]) == (3, target, "al")


def test_the_list_of_approvals_comes_from_the_old_object_and_not_from_the_request() -> None:
    honest = [{"step": 1, "by": "ann", "at": "2026-05-04T11:00:00Z"}]
    forged = [{"step": 1, "by": "ceo", "at": "2026-05-04T11:00:00Z"}]
    before = obj("StepPaused", approvals=honest)
    for request in (
        obj("StepPaused", approvals=forged),
        obj("StepPaused", approvals=[]),
        obj("StepPaused"),
    ):
        assert entries_of(note_approval(before, request, "mallory", NOW)) == honest
    verdict = note_approval(before, obj("StepReady", approvals=forged), "mallory", NOW)
    assert [child(entry)["by"] for entry in entries_of(verdict)] == ["ann", "mallory"]


def test_a_list_that_a_request_makes_up_is_taken_out() -> None:
    forged = obj("StepPaused", approvals=[{"step": 1, "by": "ceo"}])
    assert entries_of(note_approval(obj("StepPaused"), forged, "mallory", NOW)) == []


def test_an_approval_is_about_the_step_the_release_is_at_not_the_one_the_request_names() -> None:
    request = obj("StepReady")
    child(request, "status", "canaryStatus")["currentStepIndex"] = 7
    steps = [
        child(entry) for entry in entries_of(note_approval(obj("StepPaused"), request, "al", NOW))
    ]
    assert [(entry["step"], entry.get("to", 0)) for entry in steps] == [(2, 0), (2, 7)]


def test_several_intents_of_one_request_leave_an_entry_each() -> None:
    request = obj("StepReady", step=2, jump=4, approval={"step": 2, "by": "ceo"})
    entries = [
        child(entry)
        for entry in entries_of(note_approval(obj("StepPaused", step=2), request, "al", NOW))
    ]
    assert [(entry["step"], entry.get("to", 0), entry["by"]) for entry in entries] == [
        (2, 0, "al"),
        (2, 0, "al"),
        (2, 4, "al"),
    ]
