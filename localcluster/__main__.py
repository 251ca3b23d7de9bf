"""The command line: `python -m localcluster build | up | down | status`.

Why it exists: people and scripts want the cluster without a test. Invariant: `up` either leaves a whole plane or
nothing; `down` may be repeated. It only calls the package and prints.
"""

import asyncio
import shutil
import sys
import time
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from localcluster.build import Binaries, ensure_built
from localcluster.errors import ClusterError
from localcluster.extras import ensure_extra
from localcluster.graphite import VICTORIA
from localcluster.istio import ISTIO
from localcluster.node import tools
from localcluster.node.lines import BOX
from localcluster.node.plane import NodePlane
from localcluster.node.programs import ensure_node_programs
from localcluster.openkruise import KRUISE
from localcluster.plane import Plane
from localcluster.progress import ConsoleReporter
from localcluster.prometheus import PROMETHEUS, PROMTOOL
from localcluster.realtypes import Judge
from localcluster.state import read_state
from localcluster.traffic.contour import ensure_contour

DEFAULT_DIRECTORY = Path(".localcluster")
directory_option = click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_DIRECTORY,
    show_default=True,
    help="The folder of the plane: logs, audit log, kubeconfigs, state.",
)


@click.group(
    help="A real Kubernetes control plane on this machine; with --node a real node as well."
)
def cli() -> None:
    """Group the commands."""


@cli.command(help="Build the programs into the cache, unless they are there.")
@click.option(
    "--for-tests",
    is_flag=True,
    help="Build also the programs of tests: OpenKruise's manager, Prometheus, gateways, the judge of types.",
)
def build(for_tests: bool) -> None:
    """Build and print the folder."""
    click.echo(asyncio.run(_build(_reporter(), for_tests)).directory)


async def _build(reporter: ConsoleReporter, for_tests: bool) -> Binaries:
    binaries = await ensure_built(reporter)
    if for_tests:
        await ensure_extra(KRUISE, reporter)
        await ensure_extra(PROMETHEUS, reporter)
        await ensure_extra(PROMTOOL, reporter)
        await ensure_extra(VICTORIA, reporter)
        await ensure_contour(reporter)
        await ensure_extra(ISTIO, reporter)
        await Judge.ready(reporter)
        if not tools.refusal():
            await ensure_node_programs(reporter)
    return binaries


@cli.command(help="Start a plane and leave it running.")
@directory_option
@click.option(
    "--kubeconfig-out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Copy the administrator's kubeconfig to this file.",
)
@click.option("--node", is_flag=True, help="With a real node, which runs containers; needs root.")
def up(directory: Path, kubeconfig_out: Path | None, node: bool) -> None:
    """Start the plane, and print how to reach it."""
    asyncio.run(_up(NodePlane if node else Plane, directory, kubeconfig_out))


async def _up(kind: type[Plane], directory: Path, kubeconfig_out: Path | None) -> None:
    # Printed before the build, which takes minutes.
    if kind is NodePlane and (reason := tools.refusal()):
        raise ClusterError(reason)
    if read_state(directory) is not None:
        before = _attach(directory)
        running = [name for name, component in before.components.items() if component.running]
        if running:
            await before.close()
            raise ClusterError(f"a plane runs in {directory} already: {', '.join(running)}")
        await before.shut_down()
    reporter = _reporter()
    await ensure_built(reporter)
    begun = time.monotonic()
    plane = await kind.launch(directory, reporter=reporter)
    await plane.close()
    kubeconfig = plane.kubeconfig("admin")
    if kubeconfig_out is not None:
        kubeconfig_out.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(kubeconfig, kubeconfig_out)
    reporter.note(f"{plane.url} is ready after {time.monotonic() - begun:.1f} s")
    click.echo(f"export KUBECONFIG={(kubeconfig_out or kubeconfig).absolute()}")


@cli.command(help="End the plane and remove its data; logs and kubeconfigs stay.")
@directory_option
def down(directory: Path) -> None:
    """End the processes that `up` started."""
    if read_state(directory) is None:
        click.echo(f"no plane in {directory}")
        return
    begun = time.monotonic()
    asyncio.run(_down(directory))
    click.echo(f"ended in {time.monotonic() - begun:.1f} s")


async def _down(directory: Path) -> None:
    await _attach(directory).shut_down()


def _attach(directory: Path) -> Plane:
    state = read_state(directory)
    return (NodePlane if state and BOX in state.programs else Plane).attach(directory)


@cli.command(help="Show whether a plane runs and what it uses; ends with 1 if it does not.")
@directory_option
def status(directory: Path) -> None:
    """Print one line per component."""
    if read_state(directory) is None:
        click.echo(f"no plane in {directory}")
        sys.exit(1)
    sys.exit(0 if asyncio.run(_status(directory)) else 1)


async def _status(directory: Path) -> bool:
    plane = _attach(directory)
    await plane.close()
    table = Table("component", "pid", "state", "CPU s", "PSS MiB", title=plane.url)
    for name, component in plane.components.items():
        use = component.resource_use()
        state = "running" if component.running else "ended"
        memory = f"{use.pss_bytes / 2**20:.0f}"
        table.add_row(name, str(component.pid), state, f"{use.cpu_seconds:.1f}", memory)
    Console().print(table)
    return all(component.running for component in plane.components.values())


def _reporter() -> ConsoleReporter:
    return ConsoleReporter(Console(stderr=True))


if __name__ == "__main__":
    try:
        cli()
    except ClusterError as error:
        raise SystemExit(f"error: {error}") from error
