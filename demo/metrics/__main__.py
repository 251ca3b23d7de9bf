"""`python -m demo.metrics`: releases judged by a real Prometheus, played and checked on a real control plane.

Invariant: the exit status is 0 only if every check held; the program ends every process that it started.
"""

import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

import aiohttp
import click
from rich.console import Console

from demo.commands import Commands
from demo.metrics.story import Story
from demo.screen import Screen
from demo.stage import product
from demo.world import DEPLOYMENTS, PODS, ROLLOUTS
from localcluster.build import ensure_built
from localcluster.errors import ClusterError
from localcluster.extras import ensure_extra
from localcluster.metric_pages import served_page
from localcluster.plane import Plane
from localcluster.progress import ConsoleReporter
from localcluster.prometheus import PROMETHEUS, started_prometheus


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Play three releases that a real Prometheus judges, and check each."""
    folder = Path(tempfile.mkdtemp(prefix="moonshift-metrics-"))
    try:
        held = asyncio.run(play(folder))
    except (ClusterError, TimeoutError, aiohttp.ClientError) as error:
        click.echo(f"error: {error}", err=True)
        held = False
    if not held:
        click.echo(f"logs: {folder}", err=True)
        sys.exit(1)
    shutil.rmtree(folder, ignore_errors=True)


async def play(folder: Path) -> bool:
    """Play all three releases; return whether every check succeeded."""
    screen = Screen(Console(), time.monotonic())
    reporter = ConsoleReporter(screen.console)
    screen.scene("A control plane, Moonshift and Prometheus", "All of them the real ones.")
    await ensure_built(reporter)
    await ensure_extra(PROMETHEUS, reporter)
    (folder / "prometheus").mkdir(parents=True)
    async with (
        served_page("revision") as page,
        started_prometheus(folder / "prometheus", [page.target]) as prometheus,
        Plane.start(folder / "plane", reporter=reporter) as plane,
        product(plane, folder, extra=(f"--prometheus={prometheus.address}",)),
        plane.recorder(PODS, DEPLOYMENTS, ROLLOUTS) as recorder,
    ):
        commands = Commands(plane, folder / "bin")
        commands.install()
        story = Story(screen, recorder, commands, page, prometheus)
        await story.deploy()
        await story.pass_against_stable()
        await story.hold_a_bad_one()
        await story.take_a_bad_one_back()
    screen.verdict(story.claims)
    return all(claim.holds for claim in story.claims)


if __name__ == "__main__":
    main(prog_name="python -m demo.metrics")
