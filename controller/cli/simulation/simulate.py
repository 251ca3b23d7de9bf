"""`simulate`: the effect of every step of a release, before anybody starts it.

Invariant: offline unless --from-cluster is given, and read only then; the decisions, the checks and the scripts are the
controller's own, the scripts run in a private worker.
"""

import asyncio
from pathlib import Path

import click
from msgspec import structs

from controller.api.jsontree import JsonObject, child
from controller.api.schema import problems
from controller.cli.failures import Failure
from controller.cli.options import connection_of, connection_options, program_of
from controller.cli.output import show, show_data
from controller.cli.reading.home import controller_namespace
from controller.cli.reading.session import connected
from controller.cli.script_tools.engine import Engine
from controller.cli.script_tools.private_worker import run as run_with_worker
from controller.cli.script_tools.private_worker import worker_options
from controller.cli.simulation.analysis_templates import templates_of
from controller.cli.simulation.built_in import ROLLOUT
from controller.cli.simulation.from_cluster import completed
from controller.cli.simulation.gateway_kinds import PublishedSchemas
from controller.cli.simulation.manifests import (
    config_map,
    is_rollout,
    own_config_map,
    read_manifests,
    rollout_of,
    scene_of,
    text_of,
)
from controller.cli.simulation.neighbours import about_neighbours
from controller.cli.simulation.report import Report, for_markdown, for_terminal, report_of
from controller.cli.simulation.schema import schema_problems
from controller.cli.simulation.series import read_series
from controller.cli.terminal import say
from controller.domain.admission.rollout import admit_rollout
from controller.domain.traffic.tree import Tree
from controller.effects.gateways import ConfiguredScripts
from controller.errors import WorkerUnavailable
from controller.scripts.lookup import Script, ScriptLibrary
from controller.scripts.script_outcome import ScriptAnswer
from controller.simulation.play import play


@click.command()
@click.argument("name", required=False)
@click.option(
    "-f",
    "--filename",
    "paths",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="A file or folder of manifests; may be given several times.",
)
@click.option(
    "--from-cluster", is_flag=True, help="Read objects that are in no file from the cluster."
)
@click.option(
    "--metric",
    "metrics",
    metavar="NAME=VALUE,...",
    multiple=True,
    help="Values that a gate measures, the last one for ever; NAME/stable=... to compare with.",
)
@click.option("-o", "--output", "form", type=click.Choice(["json", "yaml", "markdown"]))
@worker_options
@connection_options
def simulate(
    name: str | None,
    paths: tuple[Path, ...],
    from_cluster: bool,
    metrics: tuple[str, ...],
    form: str | None,
) -> None:
    """Play a whole release: pods, Services and the diff of every route, step by step, and the restored objects.

    Nothing is written, and without --from-cluster no cluster is used. Exit code 0 means that the release would
    succeed and restore every gateway object; 1 that it would not, and the output says why.

    \b
    Examples:
      moonshift simulate -f rollout.yaml -f objects/
      kubectl moonshift simulate web --from-cluster
      moonshift simulate -f . --metric errors=0.001,0.02
      moonshift simulate -f . -o markdown > release.md
    """
    if not paths and not (name and from_cluster):
        raise click.UsageError("-f FILE is needed, or NAME with --from-cluster")
    ctx = click.get_current_context()
    connection, program = connection_of(ctx), program_of(ctx)
    series = read_series(metrics)

    async def work(engine: Engine) -> Report:
        objects = read_manifests(paths)
        namespace = connection.namespace or "default"
        if from_cluster:
            async with connected(connection, program) as session:
                namespace = session.namespace
                home = await controller_namespace(session)
                objects = await completed(session.client, objects, namespace, name or "", home)
        return await simulated(engine, objects, name or "", namespace, series)

    _print_report(run_with_worker(work), form)


def _print_report(report: Report, form: str | None) -> None:
    if form == "markdown":
        say(for_markdown(report))
    elif form is not None:
        show_data(report, form)
    else:
        show(for_terminal(report))
    if not report.sound:
        raise SystemExit(1)


class NoWorker(Exception):
    """No script can be run."""

    def __init__(self, why: WorkerUnavailable) -> None:
        super().__init__(str(why))
        self.why = why


class WaitingRunner:
    """Runs scripts for a thread of its own, which waits for each answer."""

    def __init__(self, engine: Engine, loop: asyncio.AbstractEventLoop) -> None:
        self._engine = engine
        self._loop = loop

    async def execute(
        self, script: Script, obj: bytes, *, tenant: str, request_id: str
    ) -> ScriptAnswer:
        """Run one call."""
        call = self._engine.execute(script, obj, tenant=tenant, request_id=request_id)
        try:
            return asyncio.run_coroutine_threadsafe(call, self._loop).result()
        except WorkerUnavailable as why:
            raise NoWorker(why) from why


def _chosen(objects: list[Tree], name: str) -> Tree:
    """The Rollout that the options choose."""
    found = [item for item in objects if is_rollout(item)]
    named = [item for item in found if not name or text_of(item, "metadata", "name") == name]
    if not named:
        raise Failure(f"there is no Rollout {name or ''} among the objects".replace("  ", " "))
    if len(named) > 1:
        raise Failure("there are several Rollouts among the objects: name one")
    return named[0]


async def simulated(
    engine: Engine,
    objects: list[Tree],
    name: str,
    namespace: str,
    series: dict[str, tuple[float | str, ...]],
) -> Report:
    """The played release of the chosen Rollout; or the refusal before it."""
    written = _chosen(objects, name)
    data = config_map(objects)
    scripts = ConfiguredScripts(
        ScriptLibrary.read(), lambda: data, lambda key: own_config_map(objects, key)
    )
    called = text_of(written, "metadata", "name")
    where = text_of(written, "metadata", "namespace") or namespace
    obj: JsonObject = {
        **written,
        "metadata": {**child({**written}, "metadata"), "namespace": where},
    }
    if refused := (*problems(obj, ROLLOUT), *schema_problems(obj)):
        return Report(f"{where}/{called}", refused)
    verdict = admit_rollout(None, obj, (), headers=scripts.header, asking=scripts.asking_header)
    if verdict.findings:
        refusals = tuple(map(str, verdict.findings))
        return Report(f"{where}/{called}", refusals, verdict.warnings)
    rollout = rollout_of(written, namespace)

    scene = structs.replace(
        scene_of(rollout, objects), series=series, templates=templates_of(objects)
    )
    waiting = WaitingRunner(engine, asyncio.get_running_loop())
    try:
        played = await asyncio.to_thread(play, scene, scripts, waiting, PublishedSchemas())
    except NoWorker as lost:
        raise lost.why from lost
    about = about_neighbours(verdict.named, objects, where)
    return report_of(rollout, played, (*verdict.warnings, *about))
