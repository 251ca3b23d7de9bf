"""`jump`: go to another step at once: forward, back, or to the present step again.

Why not the original's mailbox (`nextStepIndex`): it cannot express "the step that follows", and a patch that comes late
jumps from wherever the release has got to. Invariant: the API server applies the request only while the step that was
seen is still the present one.
"""

import click

from controller.api.rollout import Rollout
from controller.cli.commands.approve import NAMED
from controller.cli.failures import Failure
from controller.cli.options import connection_options
from controller.cli.reading.arguments import one_rollout
from controller.cli.reading.found_rollouts import read_rollout
from controller.cli.reading.session import Session, run
from controller.cli.terminal import say
from controller.cli.views.steps import steps_of, under_way
from controller.cli.views.waiting import at_zero, pods_asked_for
from controller.domain.rollout.words.release_context import (
    current_state,
    current_step,
    moonshift_status,
)
from controller.errors import Conflict
from controller.kube.resources import ROLLOUTS


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[rollout/]NAME")
@click.option(
    "--to",
    "step",
    type=click.IntRange(min=1),
    required=True,
    metavar="N",
    help="The step to go to.",
)
@connection_options
def jump(words: tuple[str, ...], step: int) -> None:
    """Go to step N of the plan now, even if the present step still waits for something.

    Forward: the steps in between are skipped. Back: traffic follows the earlier step; pods of the new revision are
    not removed. To the present step: it begins again.

    \b
    Examples:
      kubectl moonshift jump web --to 4
      kubectl moonshift jump web --to 1     # traffic back to the first step's share
    """
    name = one_rollout(words)
    run(lambda session: _jump(session, name, step))


async def _jump(session: Session, name: str, step: int) -> None:
    rollout = await read_rollout(session, name)
    if (problem := impossible(rollout, step)) != "":
        raise Failure(problem)
    await send_jump(session, rollout, step)
    say(f"{NAMED}/{name} jumps from step {current_step(rollout.status)} to step {step}")


async def send_jump(session: Session, rollout: Rollout, step: int) -> None:
    """Write the request into the status, while the step that was seen is the present one."""
    here, name = current_step(rollout.status), rollout.metadata.name
    operations = jump_patch(here, step)
    try:
        await session.client.json_patch(ROLLOUTS, session.namespace, name, operations, "status")
    except Conflict as moved:
        raise Failure(
            f"Rollout {rollout.metadata.key} left step {here} at the same moment; it did not jump: look, then repeat"
        ) from moved


def jump_patch(here: int, to: int) -> list[dict[str, object]]:
    """The JSON patch on the status that holds while `here` is the present step."""
    return [
        {"op": "test", "path": "/status/moonshift/step", "value": here},
        {"op": "add", "path": "/status/moonshift/jump", "value": to},
    ]


def impossible(rollout: Rollout, step: int) -> str:
    """Why the release cannot go to that step; empty when it can."""
    status, key = rollout.status, rollout.metadata.key
    steps, ours = len(steps_of(rollout.spec.strategy)), moonshift_status(status)
    if not under_way(status):
        phase = status.phase or "not seen by a controller yet"
        return f"Rollout {key} has no release under way ({phase}): nowhere to jump from"
    if not ours.state:
        return f"Rollout {key} is not led by Moonshift, which jump needs"
    if at_zero(status):
        return f"Rollout {key} waits for {pods_asked_for(rollout)}; it starts again at step 1 then"
    if ours.goal or ours.state == "Completed":
        return f"Rollout {key} is past its steps ({ours.goal or current_state(status)}): nothing to jump to"
    if step > steps:
        return f"Rollout {key} has steps 1 to {steps}, no step {step}"
    return ""
