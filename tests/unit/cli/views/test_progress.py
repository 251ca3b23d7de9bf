import json

import msgspec
import pytest

from controller.api.meta import ObjectMeta
from controller.api.names import IN_PROGRESSING
from controller.api.rollout import Rollout
from controller.cli.views.any_workload import AnyWorkload, WorkloadSpec
from controller.cli.views.progress import EXIT_CODES, Stage, progress_of
from tests.unit.cli.builders import make_rollout

DONE = {"type": "Succeeded", "status": "True"}
BACK = {"type": "Succeeded", "status": "False"}
STALL = {"type": "Stalled", "status": "True", "reason": "PausedByOwner", "message": "paused"}


def workload_with(**annotations: str) -> AnyWorkload:
    """The workload of the Rollout, as the command reads it."""
    template = msgspec.Raw(b'{"spec":{"containers":[{"image":"web:2"}]}}')
    metadata = ObjectMeta(name="web", namespace="shop", annotations=annotations)
    return AnyWorkload(metadata, WorkloadSpec(template=template))


MARKED = workload_with(**{IN_PROGRESSING: json.dumps({"rolloutName": "web"})})


@pytest.mark.parametrize(
    ("rollout", "workload", "stage", "text"),
    [
        pytest.param(
            make_rollout(phase="Healthy", conditions=[DONE]),
            workload_with(),
            Stage.COMPLETED,
            "the release is completed; web:2 runs",
            id="completed",
        ),
        pytest.param(
            make_rollout(phase="Healthy", conditions=[DONE]),
            MARKED,
            Stage.WORKING,
            "the controller has not processed the latest change yet",
            id="a release was admitted and nobody looked at it yet",
        ),
        pytest.param(
            make_rollout(phase="Healthy", generation=2),
            None,
            Stage.WORKING,
            "the controller has not processed the latest change yet",
            id="the plan was changed",
        ),
        pytest.param(
            make_rollout(phase="Healthy", conditions=[BACK]),
            None,
            Stage.ROLLED_BACK,
            "the release was rolled back; revision old1 runs",
            id="rolled back",
        ),
        pytest.param(
            make_rollout(phase="Healthy"),
            None,
            Stage.COMPLETED,
            "there was no release yet; revision old1 runs",
            id="never released",
        ),
        pytest.param(
            make_rollout(conditions=[STALL]),
            None,
            Stage.STALLED,
            "PausedByOwner: paused",
            id="stall",
        ),
        pytest.param(
            make_rollout(),
            None,
            Stage.AWAITING_APPROVAL,
            "step 1/3 StepPaused, 1/2 new pods ready: waits for an approval",
            id="awaits a person",
        ),
        pytest.param(
            make_rollout(step=2),
            MARKED,
            Stage.WORKING,
            "step 2/3 StepPaused, 1/2 new pods ready: waits for the pause of this step to end",
            id="timed pause",
        ),
        pytest.param(
            make_rollout(goal="Success"),
            None,
            Stage.WORKING,
            "ending (Success): waits for the controller to continue the release",
            id="ending",
        ),
        pytest.param(
            make_rollout(phase="Disabled"),
            None,
            Stage.COMPLETED,
            "the Rollout is disabled: nothing is released in steps",
            id="disabled",
        ),
        pytest.param(
            make_rollout(phase="Terminating"),
            None,
            Stage.WORKING,
            "Terminating: waits for the controller to continue the release",
            id="terminating",
        ),
    ],
)
def test_the_stage_of_a_release_is_recognised(
    rollout: Rollout, workload: AnyWorkload | None, stage: Stage, text: str
) -> None:
    found = progress_of(rollout, workload)
    assert (found.stage, found.text) == (stage, text)


def test_exit_codes_are_fixed() -> None:
    assert {stage: int(code) for stage, code in EXIT_CODES.items()} == {
        Stage.COMPLETED: 0,
        Stage.ROLLED_BACK: 3,
        Stage.STALLED: 4,
    }
