"""The progress of a release, as one word and one sentence, for the end of `status`. Pure.

Invariant: a release that was admitted, but that the controller has not seen yet, counts as under way, so that
`kubectl set image …; moonshift status …` never reports the outcome of the release before.
"""

from enum import StrEnum

import msgspec

from controller.api.jsontree import JsonObject
from controller.api.rollout import Phase, Rollout
from controller.cli.failures import ExitCode
from controller.cli.views.any_workload import AnyWorkload
from controller.cli.views.given_up import held_until, is_given_up
from controller.cli.views.images import images_of
from controller.cli.views.steps import steps_of
from controller.cli.views.waiting import at_zero, stalled, waits_for
from controller.domain.pods.marks import hold_on
from controller.domain.rollout.approvals.pause import awaits_approval
from controller.domain.rollout.words.release_context import (
    canary_status,
    current_state,
    current_step,
    moonshift_status,
)
from controller.domain.rollout.words.status import condition


class Stage(StrEnum):
    """The stage of a release."""

    WORKING = "working"
    AWAITING_APPROVAL = "awaiting approval"
    COMPLETED = "completed"
    ROLLED_BACK = "rolled back"
    STALLED = "stalled"


EXIT_CODES = {
    Stage.COMPLETED: ExitCode.OK,
    Stage.ROLLED_BACK: ExitCode.ROLLED_BACK,
    Stage.STALLED: ExitCode.STALLED,
}


class Progress(msgspec.Struct, frozen=True):
    """The stage and a sentence without ages."""

    stage: Stage
    text: str


def progress_of(rollout: Rollout, workload: AnyWorkload | None) -> Progress:
    """How far the release of this Rollout is."""
    status = rollout.status
    if not_seen_yet(rollout, workload):
        return Progress(Stage.WORKING, "the controller has not processed the latest change yet")
    if problem := stalled(status):
        return Progress(Stage.STALLED, problem)
    if status.phase == Phase.DISABLED:
        return Progress(Stage.COMPLETED, "the Rollout is disabled: nothing is released in steps")
    if status.phase == Phase.HEALTHY:
        return _at_rest(rollout, workload)
    text = f"{_where(rollout)}waits for {waits_for(rollout)}"
    if awaits_approval(rollout):
        return Progress(Stage.AWAITING_APPROVAL, text)
    return Progress(Stage.WORKING, text)


def not_seen_yet(rollout: Rollout, workload: AnyWorkload | None) -> bool:
    """Something was changed that the status does not contain yet."""
    status, meta = rollout.status, rollout.metadata
    if not status.phase or meta.generation > status.observed_generation:
        return True
    if status.phase != Phase.HEALTHY or workload is None:
        return False
    return hold_on(workload).rollout == meta.name


def _at_rest(rollout: Rollout, workload: AnyWorkload | None) -> Progress:
    succeeded, inner = condition(rollout.status, "Succeeded"), canary_status(rollout.status)
    template = b"{}" if workload is None else bytes(workload.spec.template)
    done = succeeded is not None and succeeded.status == "True"
    # the label of pods; people do not know our digest
    hashed = inner.pod_template_hash if done else inner.stable_revision
    revision = images_of(msgspec.json.decode(template, type=JsonObject)) or f"revision {hashed}"
    if succeeded is not None and not done:
        text = f"the release was rolled back; {revision} runs"
        if is_given_up(rollout.status):
            text += f"; the new version was given up: {held_until(rollout.metadata.name)}"
        return Progress(Stage.ROLLED_BACK, text)
    if succeeded is None:
        return Progress(Stage.COMPLETED, f"there was no release yet; {revision} runs")
    return Progress(Stage.COMPLETED, f"the release is completed; {revision} runs")


def _where(rollout: Rollout) -> str:
    status = rollout.status
    if status.phase != Phase.PROGRESSING:
        return f"{status.phase}: "
    if (goal := moonshift_status(status).goal) and not at_zero(status):
        return f"ending ({goal}): "
    inner = canary_status(status)
    pods = f"{inner.canary_ready_replicas}/{inner.canary_replicas} new pods ready"
    steps = len(steps_of(rollout.spec.strategy))
    return f"step {current_step(status)}/{steps} {current_state(status)}, {pods}: "
