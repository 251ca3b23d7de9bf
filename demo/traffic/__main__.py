"""`python -m demo.traffic`: releases under real traffic, shown live or printed as JSON.

Why two stages: programs are built with the outer network, everything runs in one of its own. Invariant: the
exit status is 0 only if every share was right and no request was lost; the program ends every process that it started.
It must leave every judgement to `report`.
"""

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.live import Live

from demo.traffic.board import Board, verdict
from demo.traffic.lab import Lab, lab
from demo.traffic.release import Release
from demo.traffic.report import Report, complaints
from demo.traffic.scenarios import SCENARIOS, Scenario, named
from localcluster.build import ensure_built
from localcluster.errors import ClusterError
from localcluster.progress import ConsoleReporter
from localcluster.traffic.namespace import inside, refusal
from localcluster.traffic.vendors import Vendor, ensure_gateway

SHOWN = {
    Vendor.CONTOUR: ("canary", "testers", "back"),
    Vendor.TRAEFIK: ("canary", "testers", "back"),
    Vendor.ISTIO: ("vs", "subset", "subset-back"),
    Vendor.ISTIO_WEBHOOK: ("vs", "subset", "subset-back"),
}
INSIDE = "MOONSHIFT_TRAFFIC_INSIDE"
FRAME_SECONDS = 0.25
LOG_LINES = 30


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--gateway",
    "vendor",
    type=click.Choice(Vendor, case_sensitive=False),
    default=Vendor.CONTOUR,
    show_default=True,
    help="The gateway that the requests go through.",
)
@click.option(
    "--scenario",
    "chosen",
    multiple=True,
    type=click.Choice(sorted({one.name for each in SCENARIOS.values() for one in each})),
    help="A scenario to play; may be repeated. By default, three of them.",
)
@click.option(
    "--together", is_flag=True, help="Play all scenarios at the same time behind one gateway."
)
@click.option(
    "--requests",
    default=0,
    help="Play the scenarios again until this number of requests was sent in all; without it, once.",
)
@click.option("--rate", default=300.0, show_default=True, help="Requests per second and release.")
@click.option(
    "--measured",
    default=200,
    show_default=True,
    help="Rounds of ten requests over which each step is measured.",
)
@click.option("--json", "as_json", is_flag=True, help="One line of JSON per release, nothing else.")
def main(
    vendor: Vendor,
    chosen: tuple[str, ...],
    together: bool,
    requests: int,
    rate: float,
    measured: int,
    as_json: bool,
) -> None:
    """Release applications while real requests go through a real gateway, and count."""
    console = Console(stderr=as_json)
    try:
        if os.environ.get(INSIDE) != "1":
            _go_inside(console, vendor)
        if foreign := set(chosen) - {scenario.name for scenario in SCENARIOS[vendor]}:
            raise click.UsageError(f"not through {vendor.value}: {', '.join(sorted(foreign))}")
        scenarios = [named(name, vendor) for name in chosen or SHOWN[vendor]]
        player = Player(console, vendor, rate, measured, as_json)
        held = asyncio.run(player.play(scenarios, together, requests))
    except ClusterError as error:
        click.echo(f"error: {error}", err=True)
        held = False
    sys.exit(0 if held else 1)


def _go_inside(console: Console, vendor: Vendor) -> None:
    """Build what is missing, then become this program in a network of its own."""
    if reason := refusal():
        raise ClusterError(f"real traffic needs a network namespace of its own: {reason}")

    async def build() -> None:
        reporter = ConsoleReporter(console)
        await ensure_built(reporter)
        await ensure_gateway(vendor, reporter)

    asyncio.run(build())
    command = inside([sys.executable, "-m", "demo.traffic", *sys.argv[1:]])
    sys.stdout.flush()
    os.execve(command[0], command, {**os.environ, INSIDE: "1"})


class Player:
    """Plays scenarios and reports their results."""

    def __init__(
        self, console: Console, vendor: Vendor, rate: float, measured: int, as_json: bool
    ) -> None:
        self._console = console
        self._vendor = vendor
        self._rate, self._measured = rate, measured
        self._as_json = as_json
        self._count = 0

    async def play(self, scenarios: list[Scenario], together: bool, requests: int) -> bool:
        """Return whether every check succeeded; the logs are kept if one failed."""
        folder = Path(tempfile.mkdtemp(prefix="moonshift-traffic-"))
        reporter = ConsoleReporter(self._console)
        batches = [scenarios] if together else [[scenario] for scenario in scenarios]
        held = False
        try:
            gateway_on = await ensure_gateway(self._vendor, reporter)
            kinds = {scenario.kind for scenario in scenarios}
            async with lab(folder, gateway_on, kinds, reporter) as running:
                held = await self._rounds(running, batches, requests)
        finally:
            if held:
                shutil.rmtree(folder, ignore_errors=True)
            else:
                click.echo(f"logs and audit log: {folder}", err=True)
        return held

    async def _rounds(self, running: Lab, batches: list[list[Scenario]], requests: int) -> bool:
        held, stuck, sent = True, False, 0
        while True:
            for batch in batches:
                reports = await self._batch(running, batch)
                sent += sum(report.requests for report in reports)
                passed = [self._show_result(report) for report in reports]
                held = held and all(passed)
                stuck = stuck or any(report.trouble for report in reports)
            if stuck or sent >= requests:
                self._console.print(f"{sent} requests in all")
                return held

    async def _batch(self, running: Lab, scenarios: list[Scenario]) -> list[Report]:
        releases = [self._release(running, scenario) for scenario in scenarios]
        if self._as_json or not self._console.is_terminal:
            return await asyncio.gather(*(release.play() for release in releases))
        return await self._shown(releases)

    def _release(self, running: Lab, scenario: Scenario) -> Release:
        self._count += 1
        # Contour hashes long cluster names: a short namespace keeps them legible.
        return Release(running, scenario, f"r{self._count}", self._rate, self._measured)

    async def _shown(self, releases: list[Release]) -> list[Report]:
        board = Board(releases)
        playing = asyncio.gather(*(release.play() for release in releases))
        with Live(board.draw(), console=self._console, auto_refresh=False) as live:
            while not playing.done():
                live.update(board.draw(), refresh=True)
                await asyncio.wait({playing}, timeout=FRAME_SECONDS)
        return await playing

    def _show_result(self, report: Report) -> bool:
        if self._as_json:
            sys.stdout.write(msgspec.json.encode(report).decode() + "\n")
            sys.stdout.flush()
        else:
            self._console.print(verdict(report, self._measured))
        return not complaints(report, self._measured)


if __name__ == "__main__":
    main()
