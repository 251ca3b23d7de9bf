"""Who approved what is written down as the API server knows it."""

from datetime import UTC, datetime

import pytest

from controller.api.jsontree import JsonObject, child, items
from controller.domain.admission.approvals import KEPT, note_approval
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
def test_nothing_else_is(before: str, after: str) -> None:
    assert note_approval(obj(before), obj(after), "alice", NOW) == Unchanged()


def test_an_exact_approval_carries_its_authors_own_name() -> None:
    asked = obj("StepPaused", approval={"step": 3, "by": "the boss"})
    verdict = note_approval(obj("StepPaused"), asked, "alice", NOW)
    assert isinstance(verdict, Amended)
    position = child(verdict.obj, "status", "moonshift")
    assert child(position, "approval")["by"] == "alice"
    assert [child(entry)["step"] for entry in items(position, "approvals")] == [3]
    assert note_approval(verdict.obj, verdict.obj, "bob", NOW) == Unchanged()


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


def test_a_jump_is_noted_with_where_it_leads() -> None:
    verdict = note_approval(obj("StepPaused", step=2), obj("StepPaused", step=2, jump=4), "al", NOW)
    assert entries_of(verdict) == [{"step": 2, "by": "al", "at": "2026-05-04T12:00:00Z", "to": 4}]


@pytest.mark.parametrize(("target", "step", "noted"), [(5, 2, True), (3, 2, False), (5, 3, False)])
def test_a_jump_by_the_mailbox_of_the_original_is_noted(
    target: int, step: int, noted: bool
) -> None:
    before, after = obj("StepPaused"), obj("StepPaused")
    child(before, "status", "canaryStatus")["nextStepIndex"] = 3
    child(after, "status", "canaryStatus").update(nextStepIndex=target, currentStepIndex=step)
    verdict = note_approval(before, after, "al", NOW)
    assert isinstance(verdict, Amended) is noted
    if noted:
        assert child(entries_of(verdict)[0])["to"] == 5
