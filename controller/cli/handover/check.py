"""`takeover --check` and `uninstall --check`: they read and report; they change nothing.

Invariant: the exit code is 0 only when nobody has to do anything first.
"""

from collections.abc import Callable

import click

from controller.cli.failures import Failure
from controller.cli.handover.finding import Finding, Findings
from controller.cli.handover.inventory import Inventory, take_inventory
from controller.cli.handover.leaving import LAST, before_leaving
from controller.cli.handover.taking import before_taking_over
from controller.cli.options import connection_options
from controller.cli.output import show_data
from controller.cli.reading.session import Session, run
from controller.cli.terminal import say

Judge = Callable[[Inventory], tuple[Finding, ...]]


@click.command()
@click.option("--check", is_flag=True, required=True, help="Look, and change nothing.")
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="In all namespaces.")
@click.option("-o", "--output", "form", type=click.Choice(["json", "yaml"]), help="For programs.")
@connection_options
def takeover(check: bool, everywhere: bool, form: str | None) -> None:
    """Say what happens when Moonshift replaces OpenKruise Rollouts.

    Each Rollout, BatchRelease, held workload and renamed autoscaler is listed with its future and with the commands
    that you have to run first. Exit code 1 means that something has to be done.

    \b
    Examples:
      kubectl moonshift takeover --check -A
      kubectl moonshift takeover --check -n shop -o json
    """
    run(lambda session: _looked(session, everywhere, form, before_taking_over, ()))


@click.command()
@click.option("--check", is_flag=True, required=True, help="Look, and change nothing.")
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="In all namespaces.")
@click.option("-o", "--output", "form", type=click.Choice(["json", "yaml"]), help="For programs.")
@connection_options
def uninstall(check: bool, everywhere: bool, form: str | None) -> None:
    """List what would be left behind if Moonshift were removed now, and how to remove it cleanly.

    Finalizers, held workloads, pinned Services, gateway objects and autoscalers. Exit code 1 means that something has
    to be done while the controller still runs.

    \b
    Examples:
      kubectl moonshift uninstall --check -A
    """
    run(
        lambda session: _looked(
            session,
            everywhere,
            form,
            lambda seen: before_leaving(seen, session.program),
            LAST,
            routes=True,
        )
    )


async def _looked(
    session: Session,
    everywhere: bool,
    form: str | None,
    judge: Judge,
    last: tuple[str, ...],
    *,
    routes: bool = False,
) -> None:
    namespace = None if everywhere else session.namespace
    seen = await take_inventory(session.client, namespace, routes=routes)
    found = Findings(judge(seen), seen.gaps)
    if form is not None:
        show_data(found, form)
    else:
        for line in _lines(found, last):
            say(line)
    if found.open:
        raise Failure(_why(found))


def _lines(found: Findings, last: tuple[str, ...]) -> list[str]:
    lines = []
    for item in found.items:
        lines.append(f"{item.subject}: {item.says}")
        lines += [f"    {command}" for command in item.first]
    lines += [f"not seen: {gap}" for gap in found.gaps]
    if last:
        lines += ["", "When nothing is left to do:", *(f"    {command}" for command in last)]
    return lines or ["Nothing was found."]


def _why(found: Findings) -> str:
    first = sum(1 for item in found.items if item.first)
    if not first:
        return (
            f"{len(found.gaps)} kinds could not be listed, so it is not known whether all is well"
        )
    return f"{first} objects need a person first; the commands are below each of them"
