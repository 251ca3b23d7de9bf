"""`history`: the releases of a Rollout that were written down.

Invariant: read only; a gap in the record is shown as a gap. The approver is the user that admission saw.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import click
import msgspec

from controller.api.history import HISTORY_ROLLOUT_NAME, HistoryStep, RolloutHistory
from controller.api.workloads import label_value
from controller.cli.durations import span
from controller.cli.failures import Failure
from controller.cli.options import connection_options
from controller.cli.output import show, show_data
from controller.cli.reading.arguments import one_rollout
from controller.cli.reading.found_rollouts import read_rollout
from controller.cli.reading.kept_templates import Kept, read_kept
from controller.cli.reading.recorded_changes import change_of
from controller.cli.reading.session import Session, run
from controller.cli.render.table import plain_table
from controller.cli.render.words import NOBODY, age, counted
from controller.cli.terminal import diff_line, say
from controller.errors import MoonshiftError, NotFound
from controller.kube.resources import ROLLOUT_HISTORIES
from controller.kube.watch import read_page

NONE = (
    "no release of Rollout {name} was written down in namespace {namespace}: records are kept with the controller's "
    "flag --feature-gates=RolloutHistory=true, of releases that ended since"
)


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[rollout/]NAME")
@click.option(
    "--diff",
    "number",
    type=click.IntRange(1),
    is_flag=False,
    flag_value=1,
    metavar="[N]",
    help="Show the changes of the Nth release of the list; 1, the default, is the newest.",
)
@click.option("-o", "--output", "form", type=click.Choice(["json", "yaml"]), help="For programs.")
@connection_options
def history(words: tuple[str, ...], number: int | None, form: str | None) -> None:
    """Show the recorded releases of a Rollout, the newest first.

    For each: its outcome, the time that Moonshift worked, the time that it waited for people or timers, the verdicts
    of its gates, and the people who approved. With --diff: the change of the pod template.

    \b
    Examples:
      kubectl moonshift history web
      kubectl moonshift history web --diff
      kubectl moonshift history web --diff=3
      kubectl moonshift history web -o json
    """
    name = one_rollout(words)
    run(lambda session: _history(session, name, number, form))


async def _history(session: Session, name: str, number: int | None, form: str | None) -> None:
    records = await _records(session, name)
    if not records:
        raise Failure(NONE.format(name=name, namespace=session.namespace))
    if number is not None:
        await _changes(session, name, records, number, form)
        return
    if form is not None:
        show_data(records, form)
        return
    table = plain_table(
        "RELEASE", "OUTCOME", "STEPS", "WORKED", "WAITED", "METRICS", "APPROVED BY", "ENDED"
    )
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
            _verdicts(status.canary_steps),
            _people(approval.by or NOBODY for approval in status.approvals),
            age(status.ended_at, now),
        )
    show(table)


async def _changes(
    session: Session, name: str, records: list[RolloutHistory], number: int, form: str | None
) -> None:
    if number > len(records):
        raise Failure(
            f"{counted(len(records), 'release')} of {name} were written down, not {number}"
        )
    change = change_of(records[number - 1], records, await _kept(session, name))
    if form is not None:
        show_data(change, form)
        return
    say(f"{change.release}  {change.stable_revision} -> {change.revision}  {change.outcome}")
    if change.problem:
        say(change.problem)
    for line in change.lines:
        say(diff_line(line))


async def _kept(session: Session, name: str) -> Kept | None:
    """The templates that Kubernetes keeps; None if the Rollout or its workload is gone, or may not be read."""
    try:
        return await read_kept(session, await read_rollout(session, name))
    except (Failure, MoonshiftError):
        return None


def _verdicts(steps: Sequence[HistoryStep]) -> str:
    """How the gates of the steps ended, and their checks: `1 Passed, 2 Failed, 1 check change Passed`."""
    found = [
        f"{step.canary_step_index} {visit.analysis.partition(':')[0]}"
        for step in steps
        for visit in step.visits
        if visit.analysis
    ]
    found += [
        f"{step.canary_step_index} check {check.name} {check.verdict}"
        for step in steps
        for visit in step.visits
        for check in visit.checks
    ]
    return ", ".join(found) or "-"


def _people(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(filter(None, names))) or "-"


async def _records(session: Session, name: str) -> list[RolloutHistory]:
    found: list[RolloutHistory] = []
    selector = f"{HISTORY_ROLLOUT_NAME}={label_value(name)}"
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
