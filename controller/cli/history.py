"""`history`: the releases of a Rollout that were written down.

Invariant: read only; what was not written down is said, never guessed. Who approved is whom admission saw.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import click
import msgspec

from controller.api.history import HISTORY_ROLLOUT_NAME, RolloutHistory
from controller.cli.failures import Failure
from controller.cli.options import connection_options
from controller.cli.output import show, show_data
from controller.cli.render.table import plain_table
from controller.cli.render.words import age, span
from controller.cli.session import Session, run
from controller.cli.targets import one_rollout
from controller.errors import NotFound
from controller.kube.resources import ROLLOUT_HISTORIES
from controller.kube.watch import read_page

NONE = (
    "no release of Rollout {name} was written down in namespace {namespace}: records are kept with the controller's "
    "flag --feature-gates=RolloutHistory=true, of releases that ended since"
)


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[rollout/]NAME")
@click.option("-o", "--output", "form", type=click.Choice(["json", "yaml"]), help="For programs.")
@connection_options
def history(words: tuple[str, ...], form: str | None) -> None:
    """Show the releases of a Rollout that were written down, the newest first.

    How each ended, how long Moonshift worked and how long people or timers were waited for, and who approved.

    \b
    Examples:
      kubectl moonshift history web
      kubectl moonshift history web -o json
    """
    name = one_rollout(words)
    run(lambda session: _history(session, name, form))


async def _history(session: Session, name: str, form: str | None) -> None:
    records = await _records(session, name)
    if not records:
        raise Failure(NONE.format(name=name, namespace=session.namespace))
    if form is not None:
        show_data(records, form)
        return
    table = plain_table("RELEASE", "OUTCOME", "STEPS", "WORKED", "WAITED", "APPROVED BY", "ENDED")
    now = datetime.now(UTC)
    for record in records:
        status = record.status
        visited = [step for step in status.canary_steps if step.visits]
        table.add_row(
            status.revision or record.metadata.name,
            status.outcome,
            f"{len(visited)}/{len(status.canary_steps)}",
            span(timedelta(seconds=status.working_seconds)),
            span(timedelta(seconds=status.waiting_seconds)),
            _people(approval.by for approval in status.approvals),
            age(status.ended_at, now),
        )
    show(table)


def _people(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(filter(None, names))) or "-"


async def _records(session: Session, name: str) -> list[RolloutHistory]:
    found: list[RolloutHistory] = []
    selector = f"{HISTORY_ROLLOUT_NAME}={name}"
    try:
        async for page in session.client.list_pages(ROLLOUT_HISTORIES, session.namespace, selector):
            items = read_page(page).items or ()
            found += [msgspec.json.decode(item, type=RolloutHistory) for item in items]
    except NotFound as missing:
        raise Failure(
            "this cluster has no RolloutHistories: install Moonshift's CRDs, or check --context"
        ) from missing
    return sorted(found, key=_ended, reverse=True)


def _ended(record: RolloutHistory) -> datetime:
    ended = record.status.ended_at or record.metadata.creation_timestamp
    return ended or datetime.min.replace(tzinfo=UTC)
