"""`gate test`: a metric gate measured now, or played over the past, from a person's own machine.

Invariant: reads only. The queries and the judging are the controller's; only the way to the metric source is the
person's own.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import click
import msgspec
from msgspec import structs

from controller.api.analysis import Reading
from controller.cli.durations import DURATION
from controller.cli.failures import ExitCode
from controller.cli.gates.gate_report import replay_report, tried_report
from controller.cli.gates.given import Gate, Given, chosen, read_given, with_arguments
from controller.cli.gates.live_objects import completed
from controller.cli.gates.own_scripts import FoundScripts, found_scripts
from controller.cli.gates.own_sources import (
    Access,
    Sources,
    access_of,
    given_secrets,
    sources,
)
from controller.cli.gates.past import GateReplayed, Replayed, played, span_of
from controller.cli.gates.placeholders import of_the_stable, split_values, words_of
from controller.cli.gates.trying import GateTried, Tried, exit_reading, tried
from controller.cli.options import connection_of, connection_options
from controller.cli.output import show, show_data
from controller.cli.reading.session import Session, run, to_the_end
from controller.domain.decision import Refusal
from controller.domain.gates.asking import asked_about
from controller.domain.gates.resolving import lacks_a_value
from controller.domain.gates.templates import own_script
from controller.domain.gates.watching import Asked
from controller.outbound.golden import packaged

_CODES = {
    Reading.GOOD: ExitCode.OK,
    Reading.ERROR: ExitCode.FAILED,
    Reading.BAD: ExitCode.ROLLED_BACK,
    Reading.NO_DATA: ExitCode.STALLED,
    Reading.UNCLEAR: ExitCode.STALLED,
}


class GateTestOptions(msgspec.Struct, frozen=True):
    """The request of the command line."""

    values: dict[str, str]
    step: int | None
    as_stable: bool
    replay: timedelta | None
    lasts: timedelta
    form: str | None


@click.group()
@connection_options
def gate() -> None:
    """Try metric gates before a release depends on them."""


@gate.command("test")
@click.option(
    "-f",
    "--filename",
    "paths",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="A Rollout, an Analysis, templates, and the ConfigMap and Secrets of scripts; may be given several times.",
)
@click.option(
    "--from-rollout", "name", metavar="NAME", help="Take missing values from this live Rollout."
)
@click.option(
    "--prometheus", "address", metavar="URL", help="Used instead of the metrics' own address."
)
@click.option("--arg", "values", metavar="NAME=VALUE", multiple=True, help="An argument or a word.")
@click.option(
    "--step", type=click.IntRange(0), help="Only the gate of this step; 0: the background gate."
)
@click.option("--as-stable", is_flag=True, help="Measure the stable revision as if it were new.")
@click.option(
    "--replay",
    type=DURATION,
    metavar="7d",
    help="Count how often the gate would have stopped a release in this time.",
)
@click.option(
    "--release-lasts",
    "lasts",
    type=DURATION,
    default="1h",
    show_default=True,
    help="With --replay: how long a release, or a gate's wait, takes.",
)
@click.option("--header", "headers", metavar="'NAME: VALUE'", multiple=True, help="Sent along.")
@click.option(
    "--bearer-token-file", "token", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--certificate-authority",
    "authority",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option("-o", "--output", "form", type=click.Choice(["json", "yaml"]), help="For programs.")
@connection_options
def gate_test(
    paths: tuple[Path, ...],
    name: str | None,
    address: str | None,
    values: tuple[str, ...],
    step: int | None,
    as_stable: bool,
    replay: timedelta | None,
    lasts: timedelta,
    headers: tuple[str, ...],
    token: Path | None,
    authority: Path | None,
    form: str | None,
) -> None:
    """Measure a gate now, with the controller's own queries and rules.

    Each metric is measured once, from this machine; no allow-list applies. Own scripts and Secrets come from -f files,
    or, with --from-rollout, from the cluster if you may read them. With --replay the gate is played over the past.

    \b
    Examples:
      moonshift gate test -f analysis.yaml --prometheus http://localhost:9090 --arg canary.service=web
      kubectl moonshift gate test --from-rollout web --prometheus http://localhost:9090
      moonshift gate test -f rollout.yaml --step 2 --prometheus http://localhost:9090 --replay 7d --as-stable

    \b
    Exit codes:
      0  every value is good; with --replay: no release would have been stopped
      1  a source or a gate could not be asked
      3  a value is bad; with --replay: some release would have been stopped
      4  no value is bad, but one is missing or unclear
    """
    if not paths and not name:
        raise click.UsageError("-f FILE is needed, or --from-rollout NAME")
    options = GateTestOptions(_values(values), step, as_stable, _past(replay), lasts, form)
    access = access_of(address, headers, token, authority)
    given = read_given(paths, connection_of(click.get_current_context()).namespace or "default")
    if code := int(_run(name, given, lambda place: _tested(place, options, access))):
        raise SystemExit(code)


def _past(length: timedelta | None) -> timedelta | None:
    if length is not None and not length:
        raise click.UsageError("--replay: give a duration, for example 7d")
    return length


def _values(texts: tuple[str, ...]) -> dict[str, str]:
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.UsageError(f"--arg {text}: write it as NAME=VALUE")
        values[name] = value
    return values


class Place(msgspec.Struct, frozen=True):
    """The gates with their facts, and the cluster if there is one."""

    given: Given
    namespace: str
    session: Session | None = None


def _run(name: str | None, given: Given, work: Callable[[Place], Awaitable[ExitCode]]) -> ExitCode:
    """Run the work with a cluster's client if the live Rollout is needed, else without a client."""
    if name is None:
        own = connection_of(click.get_current_context()).namespace

        async def alone() -> ExitCode:
            return await work(Place(given, own or _namespace_of(given)))

        return to_the_end(alone())

    async def connected(session: Session) -> ExitCode:
        found = await completed(session, given, name)
        return await work(Place(found, session.namespace, session))

    return run(connected)


def _namespace_of(given: Given) -> str:
    return given.rollout.metadata.namespace if given.rollout is not None else "default"


async def _tested(place: Place, options: GateTestOptions, access: Access) -> ExitCode:
    found, namespace = chosen(place.given, options.step), place.namespace
    access = structs.replace(
        access,
        reads_secrets=place.session is not None,
        given=given_secrets(found.objects, namespace),
    )
    ready = [_asked(found, namespace, one, options, access) for one in found.gates]
    scripts = await _scripts(place, ready)
    client = place.session.client if place.session is not None else None
    async with sources(access, client, scripts) as asking:
        if options.replay is not None:
            return await _replayed(asking, ready, namespace, options)
        return await _tried(asking, ready, namespace, options)


Ready = tuple[Gate, tuple[Asked, ...] | Refusal]


async def _scripts(place: Place, ready: list[Ready]) -> FoundScripts | None:
    """The scripts that the gates may name; None if no metric has one."""
    asking = [
        one.metric.source
        for _, asked in ready
        if not isinstance(asked, Refusal)
        for one in asked
        if one.metric.source is not None
    ]
    if not asking:
        return None
    own = [own_script(one, place.namespace) for one in asking if one.script_ref is not None]
    return await found_scripts(place.given.objects, own, place.session)


def _asked(
    given: Given, namespace: str, gate: Gate, options: GateTestOptions, access: Access
) -> Ready:
    words = words_of(given.rollout, given.workload, namespace, gate)
    words, arguments = split_values(words, options.values)
    if options.as_stable:
        words = of_the_stable(words)
    gate = with_arguments(gate, arguments)
    asked = asked_about(gate.analysis, given.templates, given.workload, words, packaged())
    if isinstance(asked, Refusal):
        return gate, asked
    return gate, tuple(access.applied(one) for one in asked)


async def _tried(
    asking: Sources, ready: list[Ready], namespace: str, options: GateTestOptions
) -> ExitCode:
    gates: list[GateTried] = []
    for gate, asked in ready:
        if isinstance(asked, Refusal):
            gates.append(GateTried(gate.named, problem=_hinted(asked)))
            continue
        metrics = await asyncio.gather(*(tried(asking, namespace, one) for one in asked))
        gates.append(GateTried(gate.named, tuple(metrics)))
    found = tuple(gates)
    if options.form is not None:
        show_data(Tried(found), options.form)
    else:
        show(tried_report(found))
    return _CODES[exit_reading(found)]


async def _replayed(
    asking: Sources, ready: list[Ready], namespace: str, options: GateTestOptions
) -> ExitCode:
    assert options.replay is not None
    span = span_of(options.replay, options.lasts)
    gates: list[GateReplayed] = []
    for gate, asked in ready:
        if isinstance(asked, Refusal):
            problem = _hinted(asked)
            gates.append(GateReplayed(gate.named, span.since, span.until, problem=problem))
        else:
            gates.append(await played(asking, namespace, gate, asked, span))
    found = tuple(gates)
    if options.form is not None:
        show_data(Replayed(found), options.form)
    else:
        show(replay_report(found))
    if any(gate.problem for gate in found):
        return ExitCode.FAILED
    return ExitCode.ROLLED_BACK if any(gate.stopped for gate in found) else ExitCode.OK


def _hinted(refusal: Refusal) -> str:
    if not lacks_a_value(refusal):
        return refusal.message
    return f"{refusal.message} (say it with --arg NAME=VALUE, or fill it with --from-rollout)"
