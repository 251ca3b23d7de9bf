"""`approve`: approve the step that waits for a person.

There are two ways. Without `--step` it sends the patch of the original's clients, which approves any waiting step. With
`--step N` it sends a JSON patch that the API server applies only while step N waits, so a late approval has no effect.
Invariant: nothing is sent unless a step is seen to wait; otherwise the output names the present state.
"""

import asyncio
from datetime import UTC, datetime, timedelta

import click
import msgspec

from controller.api.rollout import BlueGreenStatus, Rollout, StepState
from controller.cli.durations import DURATION, limit_of
from controller.cli.failures import ExitCode, Failure, explain
from controller.cli.options import connection_options
from controller.cli.reading.arguments import rollout_names
from controller.cli.reading.controller_at_work import (
    nobody_at_work,
    seems_to_stand_still,
    why_unanswered,
)
from controller.cli.reading.following import follow_rollout
from controller.cli.reading.found_rollouts import read_rollout
from controller.cli.reading.session import Session, run
from controller.cli.terminal import say
from controller.cli.views.any_workload import AnyWorkload
from controller.cli.views.steps import steps_of
from controller.cli.views.waiting import wait_sentence
from controller.domain.rollout.words.release_context import (
    current_state,
    current_step,
    moonshift_status,
)
from controller.errors import Conflict, MoonshiftError
from controller.kube.resources import ROLLOUTS

NAMED = "rollout.rollouts.kruise.io"
"""kubectl's name for a Rollout in its output."""


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[rollout/]NAME...")
@click.option(
    "--step", type=click.IntRange(min=1), metavar="N", help="Approve step N and no other one."
)
@click.option("--message", "-m", metavar="TEXT", default="", help="Why; kept with your name.")
@click.option("--wait", is_flag=True, help="Wait until the controller has acted on it.")
@click.option(
    "--timeout",
    type=DURATION,
    default="30s",
    show_default=True,
    help="How long --wait waits; 0: without end.",
)
@connection_options
def approve(
    words: tuple[str, ...], step: int | None, message: str, wait: bool, timeout: timedelta
) -> None:
    """Approve the step a release waits at.

    Refused, with the reason, unless the Rollout is in StepPaused. Use --step if somebody else, or a script that runs
    twice, might approve too: it cannot approve a later step by mistake. Without --step the next StepPaused begins
    at least three seconds later, because clients may repeat such an approval. With --message only the present step
    is approved; the text is kept in status, history and an Event.

    \b
    Examples:
      kubectl moonshift approve web
      kubectl moonshift approve rollout/web --step 2 --wait
      kubectl moonshift approve web --message 'errors are those of the load test'
      kubectl-kruise rollout approve rollout/web     # the same program under that name

    Exit codes: 0 approved, 1 not approved, 5 --wait timed out (approved, but the controller has not acted yet).
    """
    names = rollout_names(words)
    if step is not None and len(names) > 1:
        raise click.UsageError("--step is about one Rollout: give one NAME")
    run(
        lambda session: _approve_all(
            session, names, ApprovalRequest(step, message), timeout if wait else None
        )
    )


class ApprovalRequest(msgspec.Struct, frozen=True):
    """The step to approve, and the reason; no step means the waiting step."""

    step: int | None
    message: str


async def _approve_all(
    session: Session, names: tuple[str, ...], request: ApprovalRequest, wait: timedelta | None
) -> None:
    """Approve every named Rollout, also after a failure; the command ends with the first failure."""
    failures: list[Failure] = []
    for name in names:
        try:
            await _approve(session, name, request, wait)
        except Failure as failure:
            failures.append(failure)
        except MoonshiftError as failure:
            failures.append(Failure(explain(failure)))
    for also in failures[1:]:
        also.show()
    if failures:
        raise failures[0]


async def _approve(
    session: Session, name: str, request: ApprovalRequest, wait: timedelta | None
) -> None:
    rollout = await read_rollout(session, name)
    step = request.step
    if (problem := not_approvable(rollout, step)) != "":
        raise Failure(await _with_state_of_controller(session, rollout, problem))
    if request.message and step is None:
        step = current_step(rollout.status)
        if (problem := not_approvable(rollout, step)) != "":
            raise Failure(problem)
    if step is None:
        await session.client.merge_patch(
            ROLLOUTS, session.namespace, name, plain_patch(rollout), "status"
        )
    else:
        await approve_exactly(session, name, step, request.message)
    say(f"{NAMED}/{name} approved{_after_the_pause(rollout)}")
    # with --wait this is reported at the end, and only if the controller did not act
    unseen = wait is None
    if unattended := (await nobody_at_work(session, datetime.now(UTC), waited=unseen)).text:
        say(f"warning: {unattended}", err=True)
    if wait is not None:
        await _wait_until_taken_up(session, rollout, wait)


def _after_the_pause(rollout: Rollout) -> str:
    """A Rollout that is paused as a whole takes the approval up when somebody resumes it."""
    if not rollout.spec.strategy.paused:
        return ""
    return f"; spec.strategy.paused is true: it goes on after `resume {rollout.metadata.name}`"


async def _with_state_of_controller(session: Session, rollout: Rollout, problem: str) -> str:
    """The refusal; if the release seems to make no progress, with the state of the controller."""
    now = datetime.now(UTC)
    if not seems_to_stand_still(rollout, now):
        return problem
    unattended = (await nobody_at_work(session, now, waited=True)).text
    return f"{problem}; {unattended}" if unattended else problem


async def approve_exactly(session: Session, name: str, step: int, message: str = "") -> None:
    """Approve step `step` and no other; a Failure says where the release is instead."""
    operations = exact_patch(step, datetime.now(UTC), message)
    try:
        await session.client.json_patch(ROLLOUTS, session.namespace, name, operations, "status")
    except Conflict as moved:
        now = await read_rollout(session, name)
        text = not_approvable(now, step) or f"Rollout {now.metadata.key} changed meanwhile"
        raise Failure(f"{text}; nothing was approved") from moved


# --- the patches -------------------------------------------------------------------------------


def plain_patch(rollout: Rollout) -> dict[str, object]:
    """The merge patch on the status, byte for byte what clients of the original send."""
    blue_green = isinstance(rollout.status.of_release, BlueGreenStatus)
    part = "blueGreenStatus" if blue_green else "canaryStatus"
    return {"status": {part: {"currentStepState": StepState.STEP_READY.value}}}


def exact_patch(step: int, now: datetime, message: str = "") -> list[dict[str, object]]:
    """The JSON patch on the status that holds for step `step` only; admission adds who sent it."""
    approval: dict[str, object] = {"step": step, "at": now.strftime("%Y-%m-%dT%H:%M:%SZ")}
    if message:
        approval["message"] = message
    return [
        {"op": "test", "path": "/status/moonshift/step", "value": step},
        {"op": "test", "path": "/status/moonshift/state", "value": StepState.STEP_PAUSED.value},
        {"op": "add", "path": "/status/moonshift/approval", "value": approval},
    ]


def not_approvable(rollout: Rollout, step: int | None) -> str:
    """Why there is nothing to approve; empty when there is."""
    status, key = rollout.status, rollout.metadata.key
    state, now = current_state(status), current_step(status)
    if status.of_release is not None:
        # clients of the original look here, and an approval under way shows here first
        state = status.of_release.current_step_state or state
    at = f"step {now}/{len(steps_of(rollout.spec.strategy))}"
    if status.phase != "Progressing":
        phase = status.phase or "not seen by a controller yet"
        return f"Rollout {key} has no release under way ({phase}): nothing to approve"
    if step is not None and not moonshift_status(status).state:
        return f"Rollout {key} is not led by Moonshift, which --step needs: approve without --step"
    total = len(steps_of(rollout.spec.strategy))
    if step is not None and step > total:
        return (
            f"Rollout {key} has {total} steps, so there is no step {step}: it is at {at} ({state})"
        )
    if step is not None and step != now:
        return f"Rollout {key} is at {at} ({state}), not at step {step}: look at it with get, then repeat"
    if state == StepState.STEP_READY:
        return f"Rollout {key} is at {at} and was approved already: the controller has not acted on it yet"
    if state != StepState.STEP_PAUSED:
        return (
            f"Rollout {key} is at {at} in {state}, not in StepPaused: it {wait_sentence(rollout)}"
        )
    return ""


# --- --wait -------------------------------------------------------------------------------------


async def _wait_until_taken_up(session: Session, before: Rollout, wait: timedelta) -> None:
    key, seconds = before.metadata.key, limit_of(wait)

    def look(rollout: Rollout | None, _: AnyWorkload | None) -> Answer | None:
        return answer_to(before, rollout)

    try:
        async with asyncio.timeout(seconds):
            patched = await read_rollout(session, key.name)
            answer = await follow_rollout(session.client, patched, look)
    except TimeoutError as late:
        known = await why_unanswered(session, datetime.now(UTC))
        raise Failure(
            f"Rollout {key} was approved, but the controller did not act on it within {seconds:g} s: {known}",
            ExitCode.TIMED_OUT,
        ) from late
    if not answer.honoured:
        raise Failure(f"Rollout {key} {answer.text}")
    say(f"{NAMED}/{key.name} {answer.text}")


class Answer(msgspec.Struct, frozen=True):
    """The result of an approval."""

    honoured: bool
    text: str


def answer_to(before: Rollout, now: Rollout | None) -> Answer | None:
    """The controller's answer to an approval sent after `before` was seen; None while there is none."""
    if now is None:
        return Answer(False, "was deleted")
    step, ours = current_step(now.status), moonshift_status(now.status)
    if step != current_step(before.status) or now.status.phase != before.status.phase:
        total = len(steps_of(now.spec.strategy))
        return Answer(True, f"is at step {step}/{total} ({current_state(now.status)})")
    if (
        ours.approved_at is not None
        and ours.approved_at != moonshift_status(before.status).approved_at
    ):
        return Answer(True, f"went on from step {step}")
    inner = now.status.of_release
    if (
        inner is not None
        and inner.current_step_state == StepState.STEP_PAUSED
        and ours.approval is None
    ):
        # our patch is in this status or an earlier one: the mailbox was emptied without an approval
        return Answer(
            False,
            f"is still at step {step}: the controller reset the approval: see its Events, then repeat",
        )
    return None
