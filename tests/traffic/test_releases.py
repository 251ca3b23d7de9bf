"""Releases by Moonshift's own processes while real requests go through Contour and Envoy, Traefik, or Istio and Envoy.

All scenarios are played side by side, in a network of their own, by `python -m demo.traffic`; here they are judged.
Contour's and a sample of Istio's belong to every run; all others, and those that go on until 300 000 requests were
sent, are `full`.
"""

import os
import sys
from collections import defaultdict

import msgspec
import pytest

from demo.traffic.report import Report, ShareSeen, complaints
from demo.traffic.scenarios import MARKED, SCENARIOS
from localcluster.traffic.vendors import Vendor
from tests.traffic.program import finished

MEASURED = 60
"""Rounds of ten requests over which a step is measured: 540 plain ones are within 8 points of 20 %."""
ALL = int(os.environ.get("MOONSHIFT_TRAFFIC_REQUESTS", "300000"))
ALL_OF_ONE = 60_000
FULL_SECONDS = 3600
SAMPLED = ("vs-testers", "subset-all", "subset-back", "lane", "example", "testers")
"""The releases through Istio that belong to every run."""
HASTY = ("subset-all", "subset-all-back", "lane", "vs-all")
"""Releases that send everything to the new revision at once, or whose routes are somebody else's."""


def _marks(vendor: Vendor) -> tuple[pytest.MarkDecorator, ...]:
    return () if vendor is Vendor.CONTOUR else (pytest.mark.full,)


PLAYED = [
    pytest.param(vendor, scenario.name, id=f"{vendor.value}-{scenario.name}", marks=_marks(vendor))
    for vendor, scenarios in SCENARIOS.items()
    for scenario in scenarios
]


class Played:
    """The reports of a run, and its trouble."""

    def __init__(self) -> None:
        self.reports: dict[str, list[Report]] = defaultdict(list)
        self.trouble = ""

    @property
    def requests(self) -> int:
        """Requests of all releases."""
        return sum(report.requests for of_one in self.reports.values() for report in of_one)


async def played(vendor: Vendor, names: tuple[str, ...], *options: str) -> Played:
    """Play scenarios of a vendor side by side and read their reports as they come."""
    command = [sys.executable, "-m", "demo.traffic", "--json", "--together", *options]
    command += ["--gateway", vendor.value]
    command += [word for name in names for word in ("--scenario", name)]
    program = await finished(*command)
    result = Played()
    for line in program.output.splitlines():
        report = msgspec.json.decode(line, type=Report)
        result.reports[report.scenario].append(report)
    result.trouble = program.errors.decode()[-3000:]
    return result


class Plays:
    """Plays the scenarios of each vendor that is asked for, or some of them, once."""

    def __init__(self, *options: str) -> None:
        self._options = options
        self._played: dict[tuple[Vendor, tuple[str, ...]], Played] = {}

    async def through(self, vendor: Vendor, names: tuple[str, ...] = ()) -> Played:
        """Return what the releases through a vendor's gateway showed; without names, all of them."""
        key = vendor, names or tuple(scenario.name for scenario in SCENARIOS[vendor])
        if key not in self._played:
            self._played[key] = await played(*key, *self._options)
        return self._played[key]


@pytest.fixture(scope="session")
def once(network_available: None) -> Plays:
    """Give scenarios played once."""
    return Plays("--rate", "120", "--measured", str(MEASURED))


@pytest.fixture(scope="session")
def fast(network_available: None) -> Plays:
    """Give scenarios played at 1000 requests a second."""
    return Plays("--rate", "1000", "--measured", str(MEASURED), "--requests", str(ALL_OF_ONE))


@pytest.fixture(scope="session")
def many(network_available: None) -> Plays:
    """Give scenarios played again and again."""
    return Plays("--rate", "160", "--measured", str(MEASURED), "--requests", str(ALL))


@pytest.mark.parametrize(("vendor", "name"), PLAYED)
async def test_releases_lose_no_request_and_divide_the_others_as_asked(
    once: Plays, vendor: Vendor, name: str
) -> None:
    found = await once.through(vendor)
    assert found.reports[name], found.trouble
    for report in found.reports[name]:
        assert complaints(report, MEASURED) == []


@pytest.mark.parametrize("name", SAMPLED)
async def test_a_sample_of_releases_through_istio_loses_no_request(once: Plays, name: str) -> None:
    found = await once.through(Vendor.ISTIO, SAMPLED)
    assert found.reports[name], found.trouble
    for report in found.reports[name]:
        assert complaints(report, MEASURED) == []


@pytest.mark.full
@pytest.mark.timeout(FULL_SECONDS)
@pytest.mark.parametrize("name", HASTY)
async def test_no_route_of_istio_names_a_subset_too_soon_at_a_thousand_requests_a_second(
    fast: Plays, name: str
) -> None:
    found = await fast.through(Vendor.ISTIO, (name,))
    assert found.requests >= ALL_OF_ONE, found.trouble
    lost = [line for report in found.reports[name] for line in complaints(report, MEASURED)]
    assert lost == []


@pytest.mark.parametrize(
    ("vendor", "names"),
    [
        pytest.param(Vendor.CONTOUR, ("testers", "proxy-testers"), id="contour"),
        pytest.param(
            *(Vendor.TRAEFIK, ("testers", "ingress-route-testers")),
            id="traefik",
            marks=pytest.mark.full,
        ),
        pytest.param(
            *(Vendor.ISTIO, ("vs-testers", "subset-testers")),
            id="istio",
            marks=pytest.mark.full,
        ),
    ],
)
async def test_releases_by_header_reach_every_marked_request_and_no_other(
    once: Plays, vendor: Vendor, names: tuple[str, ...]
) -> None:
    found = await once.through(vendor)
    seen = [
        share
        for name in names
        for report in found.reports[name]
        for share in report.shares
        if share.stretch.startswith("step 1")
    ]
    assert {(share.sort == MARKED, share.share) for share in seen} == {(True, 1.0), (False, 0.0)}


@pytest.mark.full
@pytest.mark.timeout(FULL_SECONDS)
async def test_many_releases_through_contour_lose_none_of_300_000_requests(many: Plays) -> None:
    found = await many.through(Vendor.CONTOUR)
    assert found.requests >= ALL, found.trouble
    wrong = [
        line
        for of_one in found.reports.values()
        for report in of_one
        for line in complaints(report, MEASURED)
    ]
    assert wrong == []


@pytest.mark.full
@pytest.mark.timeout(FULL_SECONDS)
@pytest.mark.parametrize("name", [scenario.name for scenario in SCENARIOS[Vendor.CONTOUR]])
async def test_many_releases_through_contour_taken_together_divide_as_asked(
    many: Plays, name: str
) -> None:
    found = await many.through(Vendor.CONTOUR)
    together: dict[tuple[str, str], list[ShareSeen]] = defaultdict(list)
    for report in found.reports[name]:
        for share in report.shares:
            together[share.stretch, share.sort].append(share)
    assert together, found.trouble
    pooled = [
        msgspec.structs.replace(
            shares[0],
            requests=sum(share.requests for share in shares),
            answered=sum(share.answered for share in shares),
        )
        for shares in together.values()
    ]
    assert complaints(Report(name, found.requests, 0, tuple(pooled), (), 0.0), MEASURED) == []
