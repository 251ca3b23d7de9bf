"""`pause`, and its common part with `resume`: the switch `spec.strategy.paused`.

Invariant: the bodies are those of the original's clients (`null`, not `false`, ends the pause).
"""

import click

from controller.api.names import GROUP
from controller.cli.commands.approve import NAMED
from controller.cli.failures import Failure
from controller.cli.options import connection_options
from controller.cli.reading.arguments import rollout_names
from controller.cli.reading.found_rollouts import read_rollout
from controller.cli.reading.session import Session, run
from controller.cli.terminal import say
from controller.kube.resources import ROLLOUTS


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[rollout/]NAME...")
@connection_options
def pause(words: tuple[str, ...]) -> None:
    """Hold a release where it is.

    Pods and routes stay as they are until `resume`. A rollback of the workload is still acted upon.

    \b
    Example:
      kubectl moonshift pause web
    """
    names = rollout_names(words)
    run(lambda session: switch_all(session, names, paused=True))


async def switch_all(session: Session, names: tuple[str, ...], *, paused: bool) -> None:
    """Pause or resume every named Rollout; the command fails at the first one that is in this state already, or does
    not exist.
    """
    for name in names:
        rollout = await read_rollout(session, name)
        if rollout.spec.strategy.paused == paused:
            raise Failure(already(name, paused))
        body = {"spec": {"strategy": {"paused": True if paused else None}}}
        await session.client.merge_patch(ROLLOUTS, session.namespace, name, body)
        say(f"{NAMED}/{name} {'paused' if paused else 'resumed'}")


def already(name: str, paused: bool) -> str:
    """The result, in the words of kubectl's own `rollout pause` and `resume`."""
    return f'rollouts.{GROUP} "{name}" is {"already" if paused else "not"} paused'
