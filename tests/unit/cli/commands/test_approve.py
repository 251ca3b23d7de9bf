from typing import Any

import msgspec
import pytest

from controller.api.rollout import Rollout
from controller.cli.commands.approve import answer_to, exact_patch, not_approvable, plain_patch
from tests.unit.cli.builders import NOW, ago, make_rollout


def test_the_plain_patch_is_the_originals() -> None:
    assert plain_patch(make_rollout()) == {
        "status": {"canaryStatus": {"currentStepState": "StepReady"}}
    }


def test_a_blue_green_release_is_approved_in_its_own_part() -> None:
    body = {"status": {"phase": "Progressing", "blueGreenStatus": {"currentStepState": "x"}}}
    rollout = msgspec.json.decode(msgspec.json.encode(body), type=Rollout)
    assert plain_patch(rollout) == {
        "status": {"blueGreenStatus": {"currentStepState": "StepReady"}}
    }


def test_the_exact_patch_tests_step_and_state_before_it_says_anything() -> None:
    assert exact_patch(2, NOW) == [
        {"op": "test", "path": "/status/moonshift/step", "value": 2},
        {"op": "test", "path": "/status/moonshift/state", "value": "StepPaused"},
        {
            "op": "add",
            "path": "/status/moonshift/approval",
            "value": {"step": 2, "at": "2026-05-04T12:00:00Z"},
        },
    ]


def test_a_paused_step_may_be_approved() -> None:
    assert not_approvable(make_rollout(), None) == ""
    assert not_approvable(make_rollout(step=2), 2) == ""


@pytest.mark.parametrize(
    ("rollout", "step", "text"),
    [
        pytest.param(
            make_rollout(state="StepUpgrade"),
            None,
            "Rollout shop/web is at step 1/3 in StepUpgrade, not in StepPaused: it waits for the new pods",
            id="too early",
        ),
        pytest.param(make_rollout(step=2), 1, "at step 2/3 (StepPaused), not at step 1", id="late"),
        pytest.param(make_rollout(), 9, "has 3 steps, so there is no step 9", id="no such step"),
        pytest.param(
            make_rollout(canary={"currentStepState": "StepReady"}),
            None,
            "was approved already",
            id="twice",
        ),
        pytest.param(
            make_rollout(phase="Healthy", state="Completed"),
            None,
            "no release under way (Healthy)",
            id="at rest",
        ),
        pytest.param(
            make_rollout(phase=""), None, "not seen by a controller yet", id="not seen yet"
        ),
        pytest.param(make_rollout(state=""), 1, "not led by Moonshift", id="another controller"),
    ],
)
def test_a_release_that_cannot_be_approved_is_reported(
    rollout: Rollout, step: int | None, text: str
) -> None:
    assert text in not_approvable(rollout, step)


def test_a_stall_is_the_reason_given() -> None:
    stall = {"type": "Stalled", "status": "True", "reason": "ServiceNotFound", "message": "no web"}
    rollout = make_rollout(state="StepUpgrade", conditions=[stall])
    assert "is stalled by ServiceNotFound: no web" in not_approvable(rollout, None)


@pytest.mark.parametrize(
    ("after", "honoured", "text"),
    [
        ({"step": 2, "state": "StepUpgrade"}, True, "is at step 2/3 (StepUpgrade)"),
        ({"phase": "Healthy", "state": "Completed"}, True, "is at step 1/3"),
        ({"state": "StepReady", "approvedAt": ago(0)}, True, "went on from step 1"),
        ({}, False, "reset the approval"),
    ],
)
def test_the_controllers_answer_is_reported(
    after: dict[str, Any], honoured: bool, text: str
) -> None:
    answer = answer_to(make_rollout(), make_rollout(**after))
    assert answer is not None
    assert answer.honoured is honoured
    assert text in answer.text


@pytest.mark.parametrize(
    "after",
    [
        pytest.param({"canary": {"currentStepState": "StepReady"}}, id="in the mailbox"),
        pytest.param({"approval": {"step": 1}}, id="exact one not consumed"),
    ],
)
def test_an_approval_that_is_not_taken_up_yet_has_no_answer(after: dict[str, Any]) -> None:
    assert answer_to(make_rollout(), make_rollout(**after)) is None


def test_a_deleted_rollout_is_reported() -> None:
    answer = answer_to(make_rollout(), None)
    assert answer is not None
    assert not answer.honoured
