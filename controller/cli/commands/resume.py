"""`resume`: end the pause that `pause` began."""

import click

from controller.cli.commands.pause import switch_all
from controller.cli.options import connection_options
from controller.cli.reading.arguments import rollout_names
from controller.cli.reading.session import run


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[rollout/]NAME...")
@connection_options
def resume(words: tuple[str, ...]) -> None:
    """Continue a paused release.

    This ends `pause`; the step itself may still wait for `approve`.

    \b
    Example:
      kubectl moonshift resume web
    """
    names = rollout_names(words)
    run(lambda session: switch_all(session, names, paused=False))
