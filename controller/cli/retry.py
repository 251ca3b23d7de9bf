"""`retry`: let a revision be tried again that was given up.

Invariant: only the revision that was seen is let go; nothing about the workload is written, so the release begins as
admission has let it in.
"""

import click

from controller.cli.approve import NAMED
from controller.cli.failures import Failure
from controller.cli.objects import read_rollout
from controller.cli.options import connection_options
from controller.cli.session import Session, run
from controller.cli.targets import one_rollout
from controller.cli.terminal import say
from controller.domain.rollout.situation import position
from controller.errors import Conflict
from controller.kube.resources import ROLLOUTS

_PLACE = "/status/moonshift/failedTemplate"


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[rollout/]NAME")
@connection_options
def retry(words: tuple[str, ...]) -> None:
    """Try a revision again that was given up.

    A revision that was taken back by a deadline is held when it is applied again, until the template changes or
    this is said.

    \b
    Example:
      kubectl moonshift retry web
    """
    name = one_rollout(words)
    run(lambda session: _retry(session, name))


async def _retry(session: Session, name: str) -> None:
    rollout = await read_rollout(session, name)
    failed = position(rollout.status).failed_template
    if not failed:
        raise Failure(
            f"Rollout {rollout.metadata.key} has given no revision up: nothing to try again"
        )
    operations = [
        {"op": "test", "path": _PLACE, "value": failed},
        {"op": "remove", "path": _PLACE},
    ]
    try:
        await session.client.json_patch(ROLLOUTS, session.namespace, name, operations, "status")
    except Conflict as moved:
        raise Failure(
            f"Rollout {rollout.metadata.key} changed at the same moment: look, then repeat"
        ) from moved
    say(f"{NAMED}/{name}: the revision that was given up may be tried again")
