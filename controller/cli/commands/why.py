"""`why`: the short answer for a person who is paged, or wants to know."""

from datetime import UTC, datetime

import click

from controller.cli.commands.describe import described
from controller.cli.options import connection_options
from controller.cli.output import show, show_views
from controller.cli.reading.arguments import rollout_names
from controller.cli.reading.session import Session, run
from controller.cli.remedies.remedy_table import remedies
from controller.cli.render.why import answer
from controller.cli.render.words import hint
from controller.cli.views.problems import Why
from controller.cli.views.problems import why as why_of


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="NAME...")
@click.option("-o", "--output", "form", type=click.Choice(["json", "yaml"]), help="For programs.")
@connection_options
def why(words: tuple[str, ...], form: str | None) -> None:
    """Say why a release does not continue: its present wait, its problems, the commands to type.

    \b
    Examples:
      kubectl moonshift why web
      kubectl moonshift why web -o json
    """
    names = rollout_names(words)
    run(lambda session: _why(session, names, form))


async def _why(session: Session, names: tuple[str, ...], form: str | None) -> None:
    if form is not None:
        show_views([await _as_data(session, name) for name in names], form)
        return
    for name in names:
        view = await described(session, name)
        show(answer(view, datetime.now(UTC), session.program), lines=True)


async def _as_data(session: Session, name: str) -> Why:
    view = await described(session, name)
    command = hint(view.summary, session.program)
    return why_of(view, command, remedies(view, session.program))
