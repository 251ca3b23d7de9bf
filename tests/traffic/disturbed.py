"""`python -m tests.traffic.disturbed`: releases under real traffic while parts of the product, the gateway and pods go.

Why it exists: a request may be lost in the moment between two writes, which only a controller that ends there shows.
Invariant: webhooks are answered all the time, by an installed controller that never leads; the one that reconciles is
ended again and again. Nothing is judged here: reports and counts of disturbances are printed as JSON, a line each.
"""

import asyncio
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import click
import msgspec
from rich.console import Console

from demo.traffic.lab import Lab, lab
from demo.traffic.release import Release
from demo.traffic.scenarios import SCENARIOS, Scenario, named
from localcluster.progress import ConsoleReporter
from localcluster.traffic.namespace import inside
from localcluster.traffic.vendors import Vendor, ensure_gateway
from tests.kill.lanes import controller_behind, take_lease
from tests.traffic.disturbances import Disturbances
from tests.traffic.every_write import EveryWrite

INSIDE = "MOONSHIFT_TRAFFIC_INSIDE"
PHASE_SECONDS = 1200.0
GRACE_SECONDS = 3
"""A gateway that restarts hears of a route a little later."""


class Counts(msgspec.Struct, frozen=True):
    """How often each disturbance has happened."""

    disturbances: dict[str, int]


@click.command()
@click.option("--scenario", "chosen", multiple=True, help="All if not said.")
@click.option("--with", "others", multiple=True, type=click.Choice(["worker", "gateway", "pods"]))
@click.option("--gateway", type=click.Choice(Vendor, case_sensitive=False), default=Vendor.CONTOUR)
@click.option("--every", default=1, help="Kill the controller at every n-th write; 0: never.")
@click.option("--requests", default=0, help="Again until so many requests were sent.")
@click.option("--rate", default=60.0, help="Requests per second and release.")
@click.option("--measured", default=60, help="Rounds of ten requests per stretch.")
def main(
    chosen: tuple[str, ...],
    others: tuple[str, ...],
    gateway: Vendor,
    every: int,
    requests: int,
    rate: float,
    measured: int,
) -> None:
    """Release all scenarios side by side while things go wrong, and count requests."""
    if os.environ.get(INSIDE) != "1":
        command = inside([sys.executable, "-m", "tests.traffic.disturbed", *sys.argv[1:]])
        sys.stdout.flush()
        os.execve(command[0], command, {**os.environ, INSIDE: "1"})
    scenarios = [named(name, gateway) for name in chosen] or list(SCENARIOS[gateway])
    asyncio.run(_play(gateway, scenarios, others, every, requests, rate, measured))


async def _play(
    gateway: Vendor,
    scenarios: list[Scenario],
    others: tuple[str, ...],
    every: int,
    requests: int,
    rate: float,
    measured: int,
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="moonshift-disturbed-"))
    reporter = ConsoleReporter(Console(stderr=True))
    gateway_on = await ensure_gateway(gateway, reporter)
    kinds = {scenario.kind for scenario in scenarios}
    scenarios = [replace(one, grace=GRACE_SECONDS) for one in scenarios]
    async with (
        lab(folder, gateway_on, kinds, reporter, before_start=take_lease) as running,
        EveryWrite.serving(running.plane, "") as proxy,
    ):
        controller = await controller_behind(proxy, running.product, "", running.product.socket)
        disturbances = Disturbances(running, controller, proxy, every)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(do()) for do in disturbances.all(others)]
                await _rounds(running, scenarios, requests, rate, measured)
                for task in tasks:
                    task.cancel()
        finally:
            await controller.kill()
            _tell(Counts(dict(disturbances.counts)))
    Console(stderr=True).print(f"logs and audit log: {folder}")


async def _rounds(
    running: Lab, scenarios: list[Scenario], requests: int, rate: float, measured: int
) -> None:
    """Play them all at once, again and again until enough requests were sent."""
    sent = number = 0
    while not number or sent < requests:
        releases = [
            Release(running, one, f"r{number + place}", rate, measured, PHASE_SECONDS)
            for place, one in enumerate(scenarios, start=1)
        ]
        number += len(releases)
        for report in await asyncio.gather(*(release.play() for release in releases)):
            sent += report.requests
            _tell(report)


def _tell(value: msgspec.Struct) -> None:
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
