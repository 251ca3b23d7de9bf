"""Of a status that a person writes, admission takes the intents and records who had them; the rest stays as stored."""

import copy
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.conversion import to_v1alpha1
from controller.api.jsontree import JsonObject, changed, child, items
from controller.api.names import V1BETA1
from controller.api.rollout import (
    APPROVALS_KEPT,
    BlueGreenStatus,
    CanaryStatus,
    MoonshiftStatus,
    RolloutStatus,
)
from controller.domain.admission.approvals import JudgedStatus, judge_status
from controller.domain.admission.intents import MAX_CHARACTERS
from controller.domain.admission.verdict import Amended, Refused, Unchanged

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
AT = "2026-05-04T12:00:00Z"
STEPS = 5
PLAN: JsonObject = {
    "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
    "strategy": {"canary": {"steps": [{"replicas": n + 1} for n in range(STEPS)]}},
}


def obj(state: str, name: str = "canaryStatus", /, **moonshift: object) -> JsonObject:
    """A Rollout in step 2 of five."""
    return {
        "spec": PLAN,
        "status": {
            "phase": "Progressing",
            name: {"currentStepState": state, "currentStepIndex": 2, "nextStepIndex": 3},
            "moonshift": moonshift,
        },
    }


def judged(old: JsonObject, new: JsonObject, user: str = "alice") -> JudgedStatus:
    """The verdict about an update."""
    return judge_status(old, new, user, NOW)


def stored_after(old: JsonObject, new: JsonObject, user: str = "alice") -> JsonObject:
    """The status that is stored."""
    verdict = judged(old, new, user).verdict
    assert not isinstance(verdict, Refused), verdict
    return child(verdict.obj if isinstance(verdict, Amended) else new, "status")


def entries_of(status: JsonObject) -> list[object]:
    return items(child(status, "moonshift"), "approvals")


@pytest.mark.parametrize("name", ["canaryStatus", "blueGreenStatus"])
def test_an_approval_is_noted(name: str) -> None:
    status = stored_after(obj("StepPaused", name), obj("StepReady", name))
    assert child(status, name)["currentStepState"] == "StepReady"
    assert entries_of(status) == [{"step": 2, "by": "alice", "at": AT}]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("StepReady", "StepReady"),
        ("StepPaused", "StepPaused"),
        ("StepReady", "StepPaused"),
        ("StepPaused", "Completed"),
    ],
)
def test_other_states_are_no_approvals(before: str, after: str) -> None:
    assert stored_after(obj(before), obj(after)) == child(obj(before), "status")


def test_a_program_that_does_not_know_our_part_of_the_status_does_not_remove_it() -> None:
    before = obj("StepPaused", step=2, approvals=[{"step": 1, "by": "bob"}])
    after: JsonObject = {"status": {"canaryStatus": {"currentStepState": "StepReady"}}}
    ours = child(stored_after(before, after), "moonshift")
    assert ours["step"] == 2
    assert [child(entry)["by"] for entry in items(ours, "approvals")] == ["bob", "alice"]


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"phase": "Progressing"},
        {"canaryStatus": {"currentStepIndex": 2, "currentStepState": "StepPaused"}},
    ],
)
def test_a_program_with_the_types_of_v1alpha1_removes_nothing(written: JsonObject) -> None:
    before = obj("StepPaused", step=2, failedTemplate="abc")
    child(before, "status")["blueGreenStatus"] = {"currentStepIndex": 1}
    assert stored_after(before, {"status": written}) == child(before, "status")


def test_a_whole_status_that_is_stale_approves_and_changes_nothing_else() -> None:
    before = obj("StepPaused", step=2, state="StepPaused", revision="new")
    child(before, "status")["message"] = "now"
    stale = obj("StepReady", step=1, state="StepUpgrade", revision="old")
    child(stale, "status").update(message="earlier", phase="Healthy", conditions=[{"type": "x"}])
    child(stale, "status", "canaryStatus").update(currentStepIndex=1, canaryReplicas=9)
    expected = changed(before, ("status", "canaryStatus", "currentStepState"), "StepReady")
    entry = {"step": 2, "by": "alice", "at": AT}
    expected = changed(expected, ("status", "moonshift", "approvals"), [entry])
    assert stored_after(before, stale) == expected["status"]
    assert judged(before, stale).warning == ""


FULL = RolloutStatus(
    canary_status=CanaryStatus(current_step_index=2, next_step_index=3),
    blue_green_status=BlueGreenStatus(current_step_index=2, next_step_index=3),
    moonshift=MoonshiftStatus(),
)
LETTER_BOXES = {
    ("canaryStatus", "nextStepIndex"),
    ("blueGreenStatus", "nextStepIndex"),
    ("moonshift", "jump"),
    ("moonshift", "approval"),
}


def fields() -> list[tuple[str, ...]]:
    """Every field of a status but the letter boxes."""
    parts = (RolloutStatus, CanaryStatus, BlueGreenStatus, MoonshiftStatus)
    top, canary, blue_green, ours = (part.__struct_encode_fields__ for part in parts)
    inner = [
        *(("canaryStatus", name) for name in canary),
        *(("blueGreenStatus", name) for name in blue_green),
        *(("moonshift", name) for name in ours),
    ]
    return [*((name,) for name in top), *(path for path in inner if path not in LETTER_BOXES)]


@pytest.mark.parametrize("path", fields(), ids="/".join)
@pytest.mark.parametrize("value", ["forged", 100, True, None, {}, [{"step": 2, "by": "the boss"}]])
def test_no_other_field_is_written_by_a_person(path: tuple[str, ...], value: object) -> None:
    before: JsonObject = {"spec": PLAN, "status": msgspec.to_builtins(FULL)}
    forged = changed(before, ("status", *path), value)
    assert stored_after(before, forged) == before["status"]
    if forged != before:
        warning = judged(before, forged).warning
        assert ".".join(("status", *path)) in warning
        assert "only the controller writes this" in warning


def test_a_warning_names_a_few_fields() -> None:
    before = obj("StepPaused")
    forged = copy.deepcopy(before)
    child(forged, "status").update({f"field{n}": n for n in range(9)})
    assert "status.field3 and 5 more:" in judged(before, forged).warning


def test_a_status_that_is_emptied_stays() -> None:
    before = obj("StepPaused", step=2)
    assert stored_after(before, {"spec": PLAN}) == before["status"]
    assert judged({"spec": PLAN}, {"spec": PLAN}).verdict == Unchanged()


def test_a_rollout_that_no_controller_has_seen_gets_no_status() -> None:
    verdict = judged({"spec": PLAN}, obj("StepReady", step=5, approval={"step": 5}, jump=5)).verdict
    assert isinstance(verdict, Amended)
    assert "status" not in verdict.obj


def test_an_exact_approval_carries_its_authors_own_name() -> None:
    asked = obj("StepPaused", approval={"step": 3, "by": "the boss", "at": AT, "else": {"a": 1}})
    status = stored_after(obj("StepPaused"), asked)
    entry = {"step": 3, "by": "alice", "at": AT}
    assert child(status, "moonshift") == {"approval": entry, "approvals": [entry]}
    again: JsonObject = {"spec": PLAN, "status": status}
    assert judged(again, again, "bob") == JudgedStatus(Unchanged())


def test_the_reason_of_an_approval_is_kept_and_bounded() -> None:
    asked = obj("StepPaused", approval={"step": 2, "message": "m" * (MAX_CHARACTERS + 1)})
    position = child(stored_after(obj("StepPaused"), asked), "moonshift")
    (entry,) = items(position, "approvals")
    assert child(entry)["by"] == "alice"
    assert child(entry)["message"] == child(position, "approval")["message"] == "m" * MAX_CHARACTERS


def test_the_list_is_bounded() -> None:
    full = [{"step": number} for number in range(APPROVALS_KEPT)]
    entries = entries_of(stored_after(obj("StepPaused", approvals=full), obj("StepReady")))
    assert len(entries) == APPROVALS_KEPT
    assert child(entries[-1])["by"] == "alice"


def test_the_note_of_a_jump_names_the_new_step() -> None:
    status = stored_after(obj("StepPaused", step=2), obj("StepPaused", step=2, jump=4), "al")
    assert child(status, "moonshift")["jump"] == 4
    assert entries_of(status) == [{"step": 2, "by": "al", "at": AT, "to": 4}]


@pytest.mark.parametrize("name", ["canaryStatus", "blueGreenStatus"])
@pytest.mark.parametrize("target", [1, 2, 5])
def test_another_next_step_is_noted(name: str, target: int) -> None:
    after = obj("StepPaused", name)
    child(after, "status", name)["nextStepIndex"] = target
    status = stored_after(obj("StepPaused", name), after, "al")
    assert child(status, name)["nextStepIndex"] == target
    assert entries_of(status) == [{"step": 2, "by": "al", "at": AT, "to": target}]


@pytest.mark.parametrize("target", [3, 0, -1, None, "5", True])
def test_a_next_step_that_asks_for_none_stays_as_it_was(target: object) -> None:
    after = obj("StepPaused")
    child(after, "status", "canaryStatus")["nextStepIndex"] = target
    assert stored_after(obj("StepPaused"), after) == child(obj("StepPaused"), "status")


@pytest.mark.parametrize("target", [STEPS + 1, -2, 10**18])
@pytest.mark.parametrize(
    "path",
    [
        ("canaryStatus", "nextStepIndex"),
        ("moonshift", "jump"),
        ("moonshift", "approval", "step"),
    ],
)
def test_a_step_that_the_plan_does_not_have_is_refused(path: tuple[str, ...], target: int) -> None:
    asked = changed(obj("StepPaused"), ("status", *path), target)
    # The plan of a request for a status counts for nothing.
    asked = changed(asked, ("spec", "strategy", "canary", "steps"), [{}] * 9)
    verdict = judged(obj("StepPaused"), asked).verdict
    assert verdict == Refused(
        f"status.{'.'.join(path)}: there is no step {target}: the plan has steps 1 to {STEPS}"
    )


def test_without_a_plan_there_is_no_step() -> None:
    bare = changed(obj("StepPaused"), ("spec",), None)
    verdict = judged(bare, changed(bare, ("status", "moonshift", "jump"), 1)).verdict
    assert verdict == Refused("status.moonshift.jump: there is no step 1: there is no plan")


def test_the_plan_of_blue_green_is_known_through_v1alpha1_as_well() -> None:
    steps = child(PLAN, "strategy")["canary"]
    spec = changed(PLAN, ("strategy",), {"blueGreen": steps})
    beta = {**obj("StepPaused", "blueGreenStatus"), "apiVersion": V1BETA1, "kind": "Rollout"}
    before = to_v1alpha1({**beta, "spec": spec, "metadata": {"name": "web"}})
    assert "blueGreen" not in child(before, "spec", "strategy")
    place = ("status", "blueGreenStatus", "nextStepIndex")
    assert stored_after(before, changed(before, place, 5)) != before["status"]
    assert isinstance(judged(before, changed(before, place, 6)).verdict, Refused)


def test_the_list_of_approvals_comes_from_the_old_object_and_not_from_the_request() -> None:
    honest = [{"step": 1, "by": "ann", "at": "2026-05-04T11:00:00Z"}]
    forged = [{"step": 1, "by": "ceo", "at": "2026-05-04T11:00:00Z"}]
    before = obj("StepPaused", approvals=honest)
    for request in (
        obj("StepPaused", approvals=forged),
        obj("StepPaused", approvals=[]),
        obj("StepPaused"),
    ):
        assert entries_of(stored_after(before, request, "mallory")) == honest
    status = stored_after(before, obj("StepReady", approvals=forged), "mallory")
    assert [child(entry)["by"] for entry in entries_of(status)] == ["ann", "mallory"]


def test_a_list_that_a_request_makes_up_is_taken_out() -> None:
    forged = obj("StepPaused", approvals=[{"step": 1, "by": "ceo"}])
    assert entries_of(stored_after(obj("StepPaused"), forged, "mallory")) == []


def test_an_approval_is_about_the_step_the_release_is_at_not_the_one_the_request_names() -> None:
    request = obj("StepReady")
    child(request, "status", "canaryStatus")["currentStepIndex"] = 4
    status = stored_after(obj("StepPaused"), request)
    assert entries_of(status) == [{"step": 2, "by": "alice", "at": AT}]
    assert child(status, "canaryStatus")["currentStepIndex"] == 2


def test_several_intents_of_one_request_leave_an_entry_each() -> None:
    request = obj("StepReady", step=2, jump=4, approval={"step": 2, "by": "ceo"})
    entries = [
        child(entry) for entry in entries_of(stored_after(obj("StepPaused", step=2), request, "al"))
    ]
    assert [(entry["step"], entry.get("to", 0), entry["by"]) for entry in entries] == [
        (2, 0, "al"),
        (2, 0, "al"),
        (2, 4, "al"),
    ]


# --- retry --------------------------------------------------------------------------------------

FAILED: JsonObject = {"step": 2, "startedAt": AT, "verdict": "Failed", "message": "too slow"}
BACKGROUND: JsonObject = {"startedAt": AT, "verdict": "Inconclusive"}
PASSED: JsonObject = {"step": 1, "startedAt": AT, "verdict": "Passed"}


def test_a_template_that_was_given_up_may_be_tried_again() -> None:
    before = obj("StepPaused", step=2, failedTemplate="abc")
    assert child(stored_after(before, obj("StepPaused", step=2)), "moonshift") == {"step": 2}
    for other in ("abc", "def"):
        kept = stored_after(before, obj("StepPaused", step=2, failedTemplate=other))
        assert kept == before["status"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([PASSED, BACKGROUND], [PASSED, BACKGROUND]),
        ([PASSED, FAILED], [PASSED, FAILED]),
        ([PASSED], [PASSED]),
        ([], [PASSED]),
        ([PASSED, {**FAILED, "verdict": "Passed"}, BACKGROUND], None),
        ([PASSED, FAILED, BACKGROUND, {"step": 3, "verdict": "Passed"}], None),
        ([FAILED, BACKGROUND], None),
        (None, None),
    ],
)
def test_gates_without_success_may_be_removed_and_no_other_verdict_changes(
    written: list[JsonObject] | None, expected: list[JsonObject] | None
) -> None:
    runs = [PASSED, FAILED, BACKGROUND]
    before = obj("StepPaused", step=2, analyses=runs)
    more = {} if written is None else {"analyses": written}
    status = stored_after(before, obj("StepPaused", step=2, **more))
    assert child(status, "moonshift")["analyses"] == (runs if expected is None else expected)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([{"id": "1", "verdict": "Passed"}], ["1"]),
        ([{"id": "2", "verdict": "Failed"}], ["1", "2"]),
        ([{"id": "1", "verdict": "Passed"}, {"id": "2", "verdict": "Passed"}], ["1", "2"]),
        ([], ["1"]),
        (None, ["1", "2"]),
    ],
)
def test_checks_that_failed_may_be_removed_and_no_other_verdict_changes(
    written: list[JsonObject] | None, expected: list[str]
) -> None:
    runs = [{"id": "1", "verdict": "Passed"}, {"id": "2", "verdict": "Failed"}]
    more = {} if written is None else {"checks": written}
    before = obj("StepPaused", step=2, checks=runs)
    status = stored_after(before, obj("StepPaused", step=2, **more))
    kept = child(status, "moonshift")["checks"]
    assert isinstance(kept, list)
    assert [run["id"] for run in kept] == expected
    assert [run["verdict"] for run in kept] == ["Passed", "Failed"][: len(expected)]


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.sampled_from(["StepReady", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("canaryStatus", "moonshift", "currentStepState", "nextStepIndex", "step"),
                    *("state", "goal", "approval", "approvals", "jump", "phase", "analyses"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(ANY)
def test_nothing_but_the_letter_boxes_and_the_record_changes_whatever_is_written(
    written: object,
) -> None:
    before = obj("StepPaused", step=2, state="StepPaused")
    verdict = judged(before, {"spec": PLAN, "status": written}).verdict
    if isinstance(verdict, Refused):
        return
    after = (
        child(verdict.obj, "status") if isinstance(verdict, Amended) else child(before, "status")
    )
    for path in [("canaryStatus", "currentStepState"), *LETTER_BOXES, ("moonshift", "approvals")]:
        place = child(before, "status", *path[:-1]).get(path[-1])
        if path[0] in after:
            after = changed(after, path, place)
    assert after == before["status"]
    assert all(child(entry)["by"] == "alice" for entry in entries_of(child(before, "status")))
