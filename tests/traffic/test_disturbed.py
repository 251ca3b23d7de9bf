"""Releases under real traffic while the controller ends at its writes, the worker and the gateway end, and pods go.

A small share belongs to every run. The `full` one plays all scenarios with the controller killed at every write, until
300 000 requests were sent.
"""

import os
import sys

import msgspec
import pytest

from demo.traffic.report import Report, complaints
from demo.traffic.scenarios import SCENARIOS as BY_VENDOR
from localcluster.traffic.vendors import Vendor
from tests.traffic.program import finished

FULL_SECONDS = 5400
MEASURED, MEASURED_SHORTLY = 60, 20
ALL = int(os.environ.get("MOONSHIFT_TRAFFIC_REQUESTS", "300000"))
SCENARIOS = BY_VENDOR[Vendor.CONTOUR]


async def disturbed(*options: str) -> tuple[list[Report], dict[str, int]]:
    """Play scenarios and return their reports, and how often each disturbance has happened."""
    result = await finished(sys.executable, "-m", "tests.traffic.disturbed", *options)
    assert result.code == 0, result.errors.decode()[-3000:]
    *reports, counts = map(msgspec.json.decode, result.output.splitlines())
    happened: dict[str, int] = counts["disturbances"]
    print(f"\n{sum(r['requests'] for r in reports)} requests; {happened}")  # noqa: T201 - what was covered
    return [msgspec.convert(report, Report) for report in reports], happened


async def test_a_release_loses_no_request_while_its_controller_worker_and_pods_go() -> None:
    (report,), happened = await disturbed(
        *("--scenario", "proxy-green", "--every", "6", "--measured", str(MEASURED_SHORTLY)),
        *("--with", "worker", "--with", "pods"),
    )
    assert complaints(report, MEASURED_SHORTLY) == []
    assert min(happened[name] for name in ("controller killed", "worker killed", "pod deleted")) > 2


@pytest.mark.full
async def test_the_wait_between_a_subset_and_its_route_outlives_the_controller() -> None:
    reports, happened = await disturbed(
        *("--gateway", Vendor.ISTIO.value, "--every", "1", "--measured", str(MEASURED_SHORTLY)),
        *("--scenario", "subset-all", "--scenario", "subset-back", "--scenario", "lane"),
        *("--with", "worker"),
    )
    wrong = [f"{r.scenario}: {line}" for r in reports for line in complaints(r, MEASURED_SHORTLY)]
    assert wrong == []
    assert min(happened[name] for name in ("controller killed", "worker killed")) > 9


@pytest.mark.full
@pytest.mark.timeout(FULL_SECONDS)
async def test_no_request_of_300_000_is_lost_while_the_controller_is_killed_at_every_write() -> (
    None
):
    reports, happened = await disturbed(
        *("--every", "1", "--rate", "30", "--measured", str(MEASURED), "--requests", str(ALL)),
        *("--with", "worker", "--with", "gateway", "--with", "pods"),
    )
    assert sum(report.requests for report in reports) >= ALL
    assert {report.scenario for report in reports} == {scenario.name for scenario in SCENARIOS}
    wrong = [f"{r.scenario}: {line}" for r in reports for line in complaints(r, MEASURED)]
    assert wrong == []
    assert happened["controller killed"] > 10 * len(SCENARIOS)
    assert min(happened[name] for name in ("worker killed", "gateway restarted", "pod deleted")) > 9
