"""`status`: wait for the outcome of a release; its exit code is for pipelines."""

import asyncio
from datetime import UTC, datetime, timedelta

import click
import msgspec

from controller.api.decoding import decoded
from controller.api.rollout import Rollout
from controller.cli.commands.get import picture_of
from controller.cli.durations import DURATION, limit_of
from controller.cli.failures import ExitCode, Failure
from controller.cli.options import connection_options
from controller.cli.reading.arguments import one_rollout
from controller.cli.reading.controller_at_work import nobody_at_work, seems_to_stand_still
from controller.cli.reading.following import follow_rollout
from controller.cli.reading.found_rollouts import read_rollout
from controller.cli.reading.kept_templates import resource_of
from controller.cli.reading.session import Session, run
from controller.cli.reading.source import Source, named
from controller.cli.terminal import say
from controller.cli.views.any_workload import AnyWorkload
from controller.cli.views.progress import EXIT_CODES, Progress, Stage, progress_of
from controller.cli.views.waiting import wait_verb
from controller.domain.rollout.approvals.pause import awaits_approval
from controller.errors import MoonshiftError
from controller.kube.store import Store


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[rollout/]NAME")
@click.option("--watch/--no-watch", "-w", default=True, help="Wait for the outcome, or only look.")
@click.option(
    "--timeout",
    type=DURATION,
    default="0",
    metavar="5m",
    help="Give up after this long; 0 waits without end (default).",
)
@click.option(
    "--until",
    type=click.Choice(["end", "approval"]),
    default="end",
    show_default=True,
    help="Which moment to wait for; `approval` is also over at the end.",
)
@connection_options
def status(words: tuple[str, ...], watch: bool, timeout: timedelta, until: str) -> None:
    """Wait until a release has ended, and print its outcome.

    Every change is printed as a line. The command keeps waiting while the release waits for an approval; with
    --until approval it ends then, so that a pipeline can ask a person.

    \b
    Examples:
      kubectl set image deployment/web web=web:2 && kubectl moonshift status web --timeout 10m
      kubectl moonshift status web --until approval
      kubectl moonshift status web --no-watch

    \b
    Exit codes:
      0  completed (with --until approval: or waiting for one; with --no-watch: or under way)
      1  it could not be read     3  rolled back or cancelled
      4  stalled, a person has to change something     5  timed out
    """
    name = one_rollout(words)
    code = run(lambda session: _status(session, name, watch, timeout, until))
    if code != ExitCode.OK:
        raise SystemExit(int(code))


async def _status(
    session: Session, name: str, watch: bool, within: timedelta, until: str
) -> ExitCode:
    rollout = await read_rollout(session, name)
    workload = await _workload(session, rollout)
    now = datetime.now(UTC)
    waited = seems_to_stand_still(rollout, now)
    asks = watch or waited
    if asks and (unattended := (await nobody_at_work(session, now, waited=waited)).text):
        say(f"warning: {unattended}", err=True)
    if not watch:
        progress = progress_of(rollout, _present(workload))
        say(progress.text)
        return EXIT_CODES.get(progress.stage, ExitCode.OK)
    reporter = Reporter(session.program, rollout, until)
    limit = limit_of(within)
    try:
        async with asyncio.timeout(limit):
            return await follow_rollout(session.client, rollout, reporter.look, workload)
    except TimeoutError as late:
        waits = await _present_wait(session, name)
        raise Failure(
            f"Rollout {rollout.metadata.key} has not ended within {limit:g} s: {waits}",
            ExitCode.TIMED_OUT,
        ) from late


async def _present_wait(session: Session, name: str) -> str:
    """The wait with the name of the unready pod; it costs a few more requests, and is read once."""
    picture, _, rollout = await picture_of(session, name)
    now = datetime.now(UTC)
    view = picture.view(now)
    if view is None:
        return "it was deleted"
    summary, unattended = view.summary, view.unattended
    wait = f"{wait_verb(summary.stalled)} {summary.waits_for}"
    text = f"{summary.phase}, step {summary.step}/{summary.steps}, {wait}"
    if not unattended and not (awaits_approval(rollout) or rollout.spec.strategy.paused):
        unattended = (await nobody_at_work(session, now, waited=True)).text
    return f"{text}; {unattended}" if unattended else text


async def _workload(session: Session, rollout: Rollout) -> Source[AnyWorkload] | None:
    """The workload, which shows whether a release was admitted; None when it cannot be read."""
    ref = rollout.spec.workload_ref
    try:
        resource = await resource_of(session, ref)
        found = decoded(
            await session.client.get(resource, session.namespace, ref.name), AnyWorkload
        )
    except (Failure, MoonshiftError, msgspec.DecodeError):
        return None
    source = Source(
        resource, Store[AnyWorkload](), AnyWorkload,
        namespace=session.namespace, fields=named(ref.name),
    )  # fmt: skip
    source.store.put(found)
    return source


def _present(workload: Source[AnyWorkload] | None) -> AnyWorkload | None:
    return None if workload is None else next(iter(workload.store.values()), None)


class Reporter:
    """Prints each change once and knows when the wait is over."""

    def __init__(self, program: str, rollout: Rollout, until: str) -> None:
        self.last: Progress | None = None
        self._program = program
        self._uid = rollout.metadata.uid
        self._key = rollout.metadata.key
        self._until = until

    def look(self, rollout: Rollout | None, workload: AnyWorkload | None) -> ExitCode | None:
        """The exit code once the wait is over."""
        if rollout is None or rollout.metadata.uid != self._uid:
            say(f"error: Rollout {self._key} was deleted", err=True)
            return ExitCode.FAILED
        progress = progress_of(rollout, workload)
        if progress != self.last:
            self._print(progress)
            self.last = progress
        if progress.stage is Stage.AWAITING_APPROVAL:
            return ExitCode.OK if self._until == "approval" else None
        return EXIT_CODES.get(progress.stage)

    def _print(self, progress: Progress) -> None:
        text = progress.text
        if progress.stage is Stage.AWAITING_APPROVAL:
            text += f" ({self._program} approve {self._key.name} -n {self._key.namespace})"
        if progress.stage in (Stage.STALLED, Stage.ROLLED_BACK):
            say(f"{progress.stage}: {text}", err=progress.stage is Stage.STALLED)
        else:
            say(text)
