"""`promote`: end the present pause, or with `--full` all remaining pauses.

It sends the requests of `approve`, `resume` and `jump`, so that admission records the user and the step. Invariant:
each request names the step that was seen; if the release has moved meanwhile, the command stops and a person decides.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import click

from controller.api.rollout import Rollout, StepState
from controller.cli.commands.approve import NAMED, approve_exactly, not_approvable
from controller.cli.commands.jump import impossible, send_jump
from controller.cli.durations import DURATION, limit_of
from controller.cli.failures import ExitCode, Failure
from controller.cli.options import connection_options
from controller.cli.reading.arguments import one_rollout
from controller.cli.reading.following import follow_rollout
from controller.cli.reading.found_rollouts import read_rollout
from controller.cli.reading.session import Session, run
from controller.cli.terminal import say
from controller.cli.views.any_workload import AnyWorkload
from controller.cli.views.steps import (
    goes_on_by_itself,
    steps_of,
    under_way,
)
from controller.cli.views.waiting import (
    at_zero,
    may_go_on,
    pods_asked_for,
    stalled,
    wait_sentence,
)
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.release_context import (
    current_state,
    current_step,
    moonshift_status,
)
from controller.domain.rollout.words.status import condition
from controller.kube.resources import ROLLOUTS


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[rollout/]NAME")
@click.option("--full", is_flag=True, help="Skip all steps and pauses that remain.")
@click.option(
    "--timeout",
    type=DURATION,
    default="30m",
    show_default=True,
    help="How long --full waits; 0: without end.",
)
@connection_options
def promote(words: tuple[str, ...], full: bool, timeout: timedelta) -> None:
    """End the pause that a release waits in.

    Without --full it is `approve --step N` of the present step, in a pause for a person or by the clock, and
    `resume` if the release was paused. With --full the release jumps to its last step now; the command waits until
    that step's pods and routes are in place, and ends its pause too. Readiness, grace periods and metric verdicts are
    never skipped. Both are recorded with your name, like approvals.
    If promote --full is interrupted, the release continues to its last step and waits there: run the command again.

    \b
    Examples:
      kubectl moonshift promote web
      kubectl moonshift promote web --full

    Exit codes: 0 promoted, 1 not promoted, 4 the release stalled on its way, 5 --full timed out.
    """
    name = one_rollout(words)
    run(lambda session: _promote(session, name, timeout if full else None))


async def _promote(session: Session, name: str, wait: timedelta | None) -> None:
    rollout = await read_rollout(session, name)
    if not under_way(rollout.status):
        phase = rollout.status.phase or "not seen by a controller yet"
        raise Failure(f"Rollout {rollout.metadata.key} has no release under way ({phase})")
    here = current_step(rollout.status)
    if wait is None:
        await _end_pause(session, rollout, here)
    else:
        await _go_to_the_end(session, rollout, wait)


async def _end_pause(session: Session, rollout: Rollout, here: int) -> None:
    paused = rollout.spec.strategy.paused
    problem = not_approvable(rollout, here)
    if problem and not paused:
        raise Failure(problem)
    if not problem:
        await approve_exactly(session, rollout.metadata.name, here)
    if paused:
        await _resume(session, rollout)
    outcome = f"promoted past step {here}" if not problem else "resumed"
    say(f"{NAMED}/{rollout.metadata.name} {outcome}")


async def _resume(session: Session, rollout: Rollout) -> None:
    body = {"spec": {"strategy": {"paused": None}}}
    name = rollout.metadata.name
    await session.client.merge_patch(ROLLOUTS, session.namespace, name, body)


# --- --full -------------------------------------------------------------------------------------


async def _go_to_the_end(session: Session, rollout: Rollout, wait: timedelta) -> None:
    name, last = rollout.metadata.name, len(steps_of(rollout.spec.strategy))
    here = current_step(rollout.status)
    if (problem := impossible(rollout, last)) != "":
        raise Failure(problem)
    if here != last:
        await send_jump(session, rollout, last)
        say(f"{NAMED}/{name} jumps from step {here} to step {last}, the last")
    if rollout.spec.strategy.paused:
        await _resume(session, rollout)
    try:
        async with asyncio.timeout(limit_of(wait)):
            seen = await read_rollout(session, name)
            end = await follow_rollout(session.client, seen, _until(last))
    except TimeoutError as late:
        now = await read_rollout(session, name)
        raise Failure(
            f"Rollout {rollout.metadata.key} {wait_sentence(now)}: its last step is not ready within "
            f"{wait.total_seconds():g} s; nothing is undone: you can run promote --full again",
            ExitCode.TIMED_OUT,
        ) from late
    if isinstance(end, Failure):
        raise end
    if end:
        await approve_exactly(session, name, last)
    say(f"{NAMED}/{name} fully promoted")


def _until(last: int) -> Callable[[Rollout | None, AnyWorkload | None], bool | Failure | None]:
    return lambda rollout, _: at_the_end(rollout, last)


def at_the_end(rollout: Rollout | None, last: int) -> bool | Failure | None:
    """True: the last step waits for a person. False: it continues by itself. A Failure: it cannot. None: not yet."""
    if rollout is None:
        return Failure("the Rollout was deleted")
    status, key = rollout.status, rollout.metadata.key
    if under_way(status) and len(steps_of(rollout.spec.strategy)) != last:
        return Failure(
            f"the plan of Rollout {key} was changed: look at it, then run promote --full again"
        )
    if under_way(status) and moonshift_status(status).jump:
        return None  # the jump was not read yet, and a stall is that of the former step
    if (problem := stalled(status)) and not may_go_on(status):
        return Failure(f"Rollout {key} is stalled: {problem}", ExitCode.STALLED)
    if at_zero(status):
        return Failure(
            f"Rollout {key} waits for {pods_asked_for(rollout)}; it starts again at step 1 then"
        )
    if ended := _ended(rollout):
        return ended if isinstance(ended, Failure) else False
    if current_step(status) != last:
        return None
    match current_state(status):
        case StepState.STEP_PAUSED:
            return not goes_on_by_itself(rollout, last)
        case StepState.STEP_READY | StepState.COMPLETED:
            return False
        case _:
            return None


def _ended(rollout: Rollout) -> bool | Failure:
    """Whether the release is past its steps; a Failure if it did not succeed."""
    status, key = rollout.status, rollout.metadata.key
    goal = moonshift_status(status).goal
    if under_way(status) and goal in ("", Goal.SUCCESS):
        return bool(goal)
    succeeded = condition(status, "Succeeded")
    if not under_way(status) and succeeded is not None and succeeded.status == "True":
        return True
    return Failure(f"Rollout {key} was not promoted: it ends with {goal or status.phase}")
