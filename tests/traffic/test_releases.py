"""Releases by Moonshift's own processes while real requests go through Contour and Envoy.

All scenarios are played side by side, in a network of their own, by `python -m demo.traffic`; here they are judged.
A bounded share belongs to every run; the `full` one goes on until 300 000 requests were sent.
"""

import asyncio
import os
import sys
from collections import defaultdict

import msgspec
import pytest

from demo.stage import ROOT
from demo.traffic.report import Report, ShareSeen, complaints
from demo.traffic.scenarios import MARKED, SCENARIOS

MEASURED = 60
"""Rounds of ten requests over which a step is measured: 540 plain ones are within 8 points of 20 %."""
ALL = 300_000
SECONDS = 240
FULL_SECONDS = 3600
NAMES = [scenario.name for scenario in SCENARIOS]


class Played:
    """The reports of a run, and its trouble."""

    def __init__(self) -> None:
        self.reports: dict[str, list[Report]] = defaultdict(list)
        self.trouble = ""

    @property
    def requests(self) -> int:
        """Requests of all releases."""
        return sum(report.requests for of_one in self.reports.values() for report in of_one)


async def played(*options: str) -> Played:
    """Play all scenarios side by side and read their reports as they come."""
    command = [sys.executable, "-m", "demo.traffic", "--json", "--together", *options]
    command += [word for name in NAMES for word in ("--scenario", name)]
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=ROOT,
        env=os.environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    result = Played()
    for line in output.splitlines():
        report = msgspec.json.decode(line, type=Report)
        result.reports[report.scenario].append(report)
    result.trouble = errors.decode()[-3000:]
    return result


@pytest.fixture(scope="session")
async def once(network_available: None) -> Played:
    """Give each scenario played once."""
    return await played("--rate", "120", "--measured", str(MEASURED))


@pytest.fixture(scope="session")
async def many(network_available: None) -> Played:
    """Give scenarios played again and again."""
    return await played("--rate", "160", "--measured", str(MEASURED), "--requests", str(ALL))


@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize("name", NAMES)
def test_releases_lose_no_request_and_divide_the_others_as_asked(once: Played, name: str) -> None:
    assert once.reports[name], once.trouble
    for report in once.reports[name]:
        assert complaints(report, MEASURED) == []


@pytest.mark.timeout(SECONDS)
def test_releases_by_header_reach_every_marked_request_and_no_other(once: Played) -> None:
    seen = [
        share
        for name in ("testers", "proxy-testers")
        for report in once.reports[name]
        for share in report.shares
        if share.stretch.startswith("step 1")
    ]
    assert {(share.sort == MARKED, share.share) for share in seen} == {(True, 1.0), (False, 0.0)}


@pytest.mark.full
@pytest.mark.timeout(FULL_SECONDS)
def test_many_releases_lose_none_of_300_000_requests(many: Played) -> None:
    assert many.requests >= ALL, many.trouble
    wrong = [
        line
        for of_one in many.reports.values()
        for report in of_one
        for line in complaints(report, MEASURED)
    ]
    assert wrong == []


@pytest.mark.full
@pytest.mark.timeout(FULL_SECONDS)
@pytest.mark.parametrize("name", NAMES)
def test_many_releases_taken_together_divide_as_asked(many: Played, name: str) -> None:
    together: dict[tuple[str, str], list[ShareSeen]] = defaultdict(list)
    for report in many.reports[name]:
        for share in report.shares:
            together[share.stretch, share.sort].append(share)
    assert together, many.trouble
    pooled = [
        msgspec.structs.replace(
            shares[0],
            requests=sum(share.requests for share in shares),
            answered=sum(share.answered for share in shares),
        )
        for shares in together.values()
    ]
    assert complaints(Report(name, many.requests, 0, tuple(pooled), (), 0.0), MEASURED) == []
