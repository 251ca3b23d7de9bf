"""The progress of `promote --full`."""

import pytest
from msgspec import structs

from controller.api.rollout import Rollout
from controller.cli.commands.promote import at_the_end
from controller.cli.failures import ExitCode, Failure
from controller.domain.rollout.words.status import with_moonshift_status
from tests.unit.cli.builders import make_rollout

HALF = [{"replicas": "20%"}, {"replicas": "50%"}]


@pytest.mark.parametrize(
    ("rollout", "answer"),
    [
        pytest.param(make_rollout(step=1), None, id="the jump was not read yet"),
        pytest.param(make_rollout(step=3, state="StepUpgrade"), None, id="pods become ready"),
        pytest.param(make_rollout(step=3), False, id="a last step of all pods waits for nobody"),
        pytest.param(make_rollout(step=2), None, id="another step"),
        pytest.param(make_rollout(step=3, state="StepReady"), False, id="it goes on"),
        pytest.param(make_rollout(step=3, goal="Success"), False, id="it is past its steps"),
        pytest.param(
            make_rollout(
                phase="Healthy", conditions=[{"type": "Succeeded", "status": "True", "reason": "R"}]
            ),
            False,
            id="it is over",
        ),
    ],
)
def test_a_full_promotion_waits_until_the_last_step_is_done(
    rollout: Rollout, answer: bool | None
) -> None:
    found = at_the_end(rollout, 3)
    assert found is answer


def test_the_stall_of_the_step_that_a_jump_leaves_does_not_end_the_promotion() -> None:
    held = [{"type": "Stalled", "status": "True", "reason": "AnalysisFailed"}]
    rollout = make_rollout(step=1, conditions=held)
    left = with_moonshift_status(rollout.status, jump=3)
    assert at_the_end(structs.replace(rollout, status=left), 3) is None


def test_a_last_step_that_waits_for_somebody_is_let_go_on() -> None:
    assert at_the_end(make_rollout(step=2, steps=HALF), 2) is True


@pytest.mark.parametrize(
    ("rollout", "text", "code"),
    [
        (None, "deleted", ExitCode.FAILED),
        (make_rollout(step=2, steps=HALF), "plan of Rollout shop/web was changed", ExitCode.FAILED),
        (make_rollout(step=3, goal="Rollback"), "ends with Rollback", ExitCode.FAILED),
        (
            make_rollout(goal="ScaledAway"),
            "waits for the workload to have replicas: it is scaled to zero",
            ExitCode.FAILED,
        ),
        (make_rollout(phase="Healthy"), "ends with Healthy", ExitCode.FAILED),
        (
            make_rollout(conditions=[{"type": "Stalled", "status": "True", "reason": "NoService"}]),
            "is stalled: NoService",
            ExitCode.STALLED,
        ),
    ],
)
def test_an_unexpected_end_is_reported(rollout: Rollout | None, text: str, code: ExitCode) -> None:
    found = at_the_end(rollout, 3)
    assert isinstance(found, Failure)
    assert (text in found.message, found.code) == (True, code)


@pytest.mark.parametrize(("state", "answer"), [("StepPaused", True), ("StepUpgrade", None)])
def test_a_release_whose_stable_pods_are_gone_goes_on_to_its_end(
    state: str, answer: bool | None
) -> None:
    stall = {"type": "Stalled", "status": "True", "reason": "SideWithoutEndpoints"}
    rollout = make_rollout(step=2, steps=HALF, state=state, conditions=[stall])
    assert at_the_end(rollout, 2) is answer
