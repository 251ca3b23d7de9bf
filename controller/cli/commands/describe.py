"""`describe`: everything that is known about one Rollout."""

from datetime import UTC, datetime

import click
from msgspec import structs

from controller.api.rollout import Rollout
from controller.cli.commands.get import picture_of
from controller.cli.failures import Failure, explain
from controller.cli.options import connection_options
from controller.cli.output import show, show_views
from controller.cli.reading.arguments import rollout_names
from controller.cli.reading.events import read_events
from controller.cli.reading.kept_templates import read_kept, recorded_template
from controller.cli.reading.session import Session, run
from controller.cli.render.describe import rollout_description
from controller.cli.views.steps import under_way
from controller.cli.views.view import RolloutView
from controller.errors import MoonshiftError


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="NAME...")
@click.option("-o", "--output", "form", type=click.Choice(["json", "yaml"]), help="For programs.")
@connection_options
def describe(words: tuple[str, ...], form: str | None) -> None:
    """Show everything about a Rollout.

    The tree of `get`, and below it the steps with the present one marked, conditions with their ages, the approvals
    with names and times, the difference of every gateway object from its original, running timers, Events.

    \b
    Examples:
      kubectl moonshift describe web
      kubectl moonshift describe rollout/web -n shop -o yaml
    """
    names = rollout_names(words)
    run(lambda session: _describe(session, names, form))


async def _describe(session: Session, names: tuple[str, ...], form: str | None) -> None:
    if form is not None:
        show_views([await described(session, name) for name in names], form)
        return
    for name in names:
        view = await described(session, name)
        show(rollout_description(view, datetime.now(UTC), session.program))


async def described(session: Session, name: str) -> RolloutView:
    """Everything there is, Events included. Raises Failure."""
    picture, _, rollout = await picture_of(session, name)
    view = picture.view(datetime.now(UTC))
    if view is None:
        raise Failure(f"Rollout {name} was deleted while it was looked at")
    view = structs.replace(view, no_way_back=await _no_way_back(session, rollout))
    try:
        events = await read_events(session.client, rollout)
    except MoonshiftError as failure:
        return structs.replace(view, gaps=(*view.gaps, f"events: {explain(failure)}"))
    return structs.replace(view, events=events)


async def _no_way_back(session: Session, rollout: Rollout) -> str:
    """Why `undo` of a release under way would fail."""
    if not under_way(rollout.status):
        return ""
    try:
        found = recorded_template(rollout, await read_kept(session, rollout))
    except (MoonshiftError, Failure):
        return ""  # a missing or unreadable object is reported elsewhere
    return found if isinstance(found, str) else ""
