"""`python -m demo`: the product's main job, played and checked on a real control plane.

Invariant: the exit status is 0 only if every check held; the program ends every process that it started, unless
`--keep` was given. It only connects the parts.
"""

import asyncio
import contextlib
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import click
from rich.console import Console

from demo import kept
from demo.commands import Cluster, Commands
from demo.elsewhere import reached
from demo.place import ELSEWHERE, NAMESPACE
from demo.rehearsal import rehearse_while
from demo.sabotage import break_the_restore
from demo.screen import Screen
from demo.stage import Product, install_gateway_kinds, served
from demo.story import Story
from demo.world import KINDS
from localcluster.build import ensure_built, is_built
from localcluster.errors import ClusterError
from localcluster.plane import Plane
from localcluster.ports import free_ports
from localcluster.progress import ConsoleReporter

KEPT_FOLDER = Path(".localcluster/demo")
LOG_LINES = 40


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """The options of the command line."""

    folder: Path
    keep: bool = False
    sabotage: str = ""
    kubeconfig: Path | None = None
    """Of an existing cluster that has Moonshift."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--keep", is_flag=True, help="Leave the cluster and Moonshift up, and say how to go on."
)
@click.option(
    "--resume", is_flag=True, help="Start the ended processes of a kept demo (--keep) again."
)
@click.option("--stop", is_flag=True, help="End a kept demo (--keep).")
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help=f"Folder for logs and kubeconfigs; {KEPT_FOLDER} with --keep, else a temporary one.",
)
@click.option(
    ELSEWHERE,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Play on an existing cluster that has Moonshift, in a new namespace.",
)
@click.option("--sabotage", type=click.Choice(["restore"]), default=None, hidden=True)
def main(
    keep: bool,
    resume: bool,
    stop: bool,
    folder: Path | None,
    kubeconfig: Path | None,
    sabotage: str | None,
) -> None:
    """Play the article's canary release with Istio on a real control plane, and check every step."""
    if stop:
        ended = asyncio.run(kept.stop((folder or KEPT_FOLDER).absolute()))
        click.echo(f"ended: {', '.join(ended)}" if ended else "nothing was left up")
        return
    if resume:
        sys.exit(_resume((folder or KEPT_FOLDER).absolute()))
    temporary = folder is None and not keep
    chosen = (
        Path(tempfile.mkdtemp(prefix="moonshift-demo-")) if temporary else folder or KEPT_FOLDER
    )
    options = DemoOptions(chosen.absolute(), keep, sabotage or "", kubeconfig)
    try:
        held = asyncio.run(
            play(options) if kubeconfig is None else play_elsewhere(options, kubeconfig)
        )
    except ClusterError as error:
        click.echo(f"error: {error}", err=True)
        held = False
    if not held:
        click.echo(f"logs, audit log and kubeconfigs: {options.folder}", err=True)
        sys.exit(1)
    if temporary:
        shutil.rmtree(options.folder, ignore_errors=True)


def _resume(folder: Path) -> int:
    """Start again the processes that have ended; return the exit code."""
    try:
        started = asyncio.run(kept.resume(folder))
    except ClusterError as error:
        click.echo(f"error: {error}", err=True)
        return 1
    click.echo(f"started: {', '.join(started)}" if started else "both processes run")
    return 0


async def play(options: DemoOptions) -> bool:
    """Play the whole demo; return whether every check succeeded."""
    if kept.is_kept(options.folder):
        raise ClusterError(
            f"a demo was left up: end it by `python -m demo --stop --dir {options.folder}`"
        )
    begun = time.monotonic()
    screen = Screen(Console(), begun)
    async with stage(screen, options) as (plane, product):
        try:
            held = await play_story(screen, plane, options)
        except (ClusterError, TimeoutError, aiohttp.ClientError) as failure:
            screen.failure(failure, {part.program.log: part.log_tail() for part in product.parts})
            held = False
        if options.keep:
            screen.note(kept.instructions(plane, _commands(plane, options), options.folder))
    return held


async def play_elsewhere(options: DemoOptions, kubeconfig: Path) -> bool:
    """Play the whole demo on an existing cluster; return whether every check succeeded."""
    screen = Screen(Console(), time.monotonic())
    screen.scene("A cluster that is there", f"Moonshift is on it; the story plays in {NAMESPACE}.")
    options.folder.mkdir(parents=True, exist_ok=True)
    reporter = ConsoleReporter(screen.console)
    async with reached(kubeconfig, options.folder, reporter) as cluster:
        try:
            return await play_story(screen, cluster, options)
        except (ClusterError, TimeoutError, aiohttp.ClientError) as failure:
            screen.failure(failure, {})
            return False


@contextlib.asynccontextmanager
async def stage(screen: Screen, options: DemoOptions) -> AsyncIterator[tuple[Plane, Product]]:
    """The cluster with Moonshift in it; ended with the block unless it is kept."""
    screen.scene(
        "A control plane with Moonshift", "kube-apiserver, etcd, controllers: the real ones."
    )
    reporter = ConsoleReporter(screen.console)
    tied = not options.keep
    if not is_built():
        await rehearse_while(screen, ensure_built(reporter))
    plane = await Plane.launch(kept.plane_folder(options.folder), tied=tied, reporter=reporter)
    product = Product(plane, options.folder, free_ports(5), tied=tied)
    stays = False
    try:
        with reporter.phase("install Istio's kinds and Moonshift's manifests", 2) as phase:
            await install_gateway_kinds(plane)
            phase.advance()
            await product.install()
            phase.advance()
        with reporter.phase("start controller and script worker", 2) as phase:
            await product.start()
            if options.keep:
                kept.write_down(product, options.folder)
            phase.advance()
            await served(plane, KINDS)
            phase.advance()
        yield plane, product
        stays = options.keep
    finally:
        if stays:
            await plane.close()
        else:
            await product.stop()
            kept.forget(options.folder)
            await plane.shut_down()


async def play_story(screen: Screen, plane: Cluster, options: DemoOptions) -> bool:
    """Play the story; return whether every check succeeded."""
    commands = _commands(plane, options)
    commands.install()
    async with plane.recorder(*KINDS) as recorder:
        story = Story(screen, recorder, plane.client("recorder"), commands)
        before = await story.deploy()
        await screen.let_read()
        await story.declare(before)
        await screen.let_read()
        first = await story.change(before)
        await screen.let_read()
        await story.approve_first(first)
        await screen.let_read()
        await story.approve_second()
        if options.sabotage:
            await break_the_restore(plane.client("developer"))
        await story.judge_the_end(before)
    screen.verdict(story.claims)
    return all(claim.holds for claim in story.claims)


def _commands(plane: Cluster, options: DemoOptions) -> Commands:
    return Commands(plane, options.folder / "bin")


if __name__ == "__main__":
    main(prog_name="python -m demo")
