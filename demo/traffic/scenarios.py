"""The releases that are played under traffic: style, steps and ending.

Why it exists: tests and the live show play the same releases. Invariant: a scenario is a value that may be played
several times at once. It must do no I/O.
"""

from dataclasses import dataclass, replace
from enum import Enum

from localcluster.traffic.load import Sort
from localcluster.traffic.vendors import Vendor

OLD, NEW, THIRD = "shop:v1", "shop:v2", "shop:v3"
PLAIN = "plain"
MARKED = "marked"
HEADER = ("x-user", "tester")


class Ending(Enum):
    """How a release ends."""

    COMPLETED = "completed"
    ROLLED_BACK = "rolled back"
    OVERTAKEN = "overtaken by a third revision"


class Style(Enum):
    """How pods are moved."""

    CANARY = "canary"
    PARTITION = "partition"
    BLUE_GREEN = "blue-green"


@dataclass(frozen=True, slots=True)
class Step:
    """One step: new pods, and either a share of all requests or the marked ones alone."""

    pods: int
    traffic: int | None = None
    marked: bool = False

    def shares(self) -> dict[str, float]:
        """Return by sort of request the part that the new revision answers."""
        if self.marked:
            return {PLAIN: 0.0, MARKED: 1.0}
        part = (self.traffic or 0) / 100
        return {PLAIN: part, MARKED: part}


@dataclass(frozen=True, slots=True)
class Scenario:
    """A release of one application behind one route."""

    name: str
    kind: str
    style: Style
    steps: tuple[Step, ...]
    ending: Ending = Ending.COMPLETED
    last: int = 0
    """The step (1-based) after which it is rolled back or overtaken; 0 if it is neither."""
    replicas: int = 5
    grace: int = 1
    shared: bool = False
    """Both revisions share one Service; subsets distinguish them."""
    lane: bool = False
    """The routes are those of a TrafficRouting; the Rollout names it."""
    stopping: int = 5
    """Seconds for which a pod still answers after SIGTERM."""

    @property
    def played(self) -> tuple[Step, ...]:
        """The steps that are reached and measured."""
        return self.steps[: self.last or len(self.steps)]

    def ends_by_itself_at(self, number: int) -> bool:
        """Whether a step needs no approval: the last one, if it replaces all old pods."""
        takes_all = self.steps[number - 1].pods == self.replicas
        return number == len(self.steps) and takes_all and self.style is not Style.BLUE_GREEN

    @property
    def survivor(self) -> str:
        """The image that answers everything in the end."""
        ends = {Ending.COMPLETED: NEW, Ending.ROLLED_BACK: OLD, Ending.OVERTAKEN: THIRD}
        return ends[self.ending]


SORTS = (Sort(PLAIN, 9), Sort(MARKED, 1, headers=(HEADER,)))
"""Of ten requests one is marked."""

WEIGHTS = (Step(1, 20), Step(3, 50), Step(5, 100))
BATCHES = (Step(1, 20), Step(3, 50), Step(5))
TESTERS = (Step(1, marked=True), Step(2, 30))
DOUBLED = (Step(5, 0), Step(5, 50), Step(5, 100))

THROUGH_GATEWAY_API = (
    Scenario("canary", "HTTPRoute", Style.CANARY, WEIGHTS),
    Scenario("partition", "HTTPRoute", Style.PARTITION, BATCHES),
    Scenario("testers", "HTTPRoute", Style.CANARY, TESTERS),
    Scenario("back", "HTTPRoute", Style.PARTITION, BATCHES, Ending.ROLLED_BACK, last=2),
    Scenario("third", "HTTPRoute", Style.PARTITION, BATCHES, Ending.OVERTAKEN, last=2),
    Scenario("blue-green", "HTTPRoute", Style.BLUE_GREEN, DOUBLED),
    Scenario("green-back", "HTTPRoute", Style.BLUE_GREEN, DOUBLED, Ending.ROLLED_BACK, last=2),
)

THROUGH_CONTOUR = (
    Scenario("proxy", "HTTPProxy", Style.CANARY, WEIGHTS),
    Scenario("proxy-batches", "HTTPProxy", Style.PARTITION, BATCHES),
    Scenario("proxy-testers", "HTTPProxy", Style.PARTITION, TESTERS),
    Scenario("proxy-back", "HTTPProxy", Style.CANARY, WEIGHTS, Ending.ROLLED_BACK, last=2),
    Scenario("proxy-green", "HTTPProxy", Style.BLUE_GREEN, DOUBLED),
)


THROUGH_TRAEFIK = (
    Scenario("ingress-route", "IngressRoute", Style.CANARY, WEIGHTS),
    Scenario("ingress-route-batches", "IngressRoute", Style.PARTITION, BATCHES),
    Scenario("ingress-route-testers", "IngressRoute", Style.PARTITION, TESTERS),
    Scenario("ingress-route-back", "IngressRoute", Style.CANARY, WEIGHTS, Ending.ROLLED_BACK, 2),
    Scenario("ingress-route-green", "IngressRoute", Style.BLUE_GREEN, DOUBLED),
    Scenario("traefik-service", "TraefikService", Style.CANARY, WEIGHTS),
    Scenario(
        "traefik-service-back", "TraefikService", Style.PARTITION, BATCHES, Ending.ROLLED_BACK, 2
    ),
    Scenario("traefik-service-green", "TraefikService", Style.BLUE_GREEN, DOUBLED),
)

ALL_AT_ONCE = (Step(3, 100), Step(5, 100))
"""The first step sends everything to the new revision: a route that is a moment too early loses everything."""
IN_THE_LANE = (Step(1, 20), Step(3, 20))
ONE_POD = (Step(1, 20), Step(1, marked=True))
"""The steps of examples/istio-canary."""

THROUGH_ISTIO = (
    Scenario("vs", "VirtualService", Style.CANARY, WEIGHTS),
    Scenario("vs-batches", "VirtualService", Style.PARTITION, BATCHES),
    Scenario("vs-testers", "VirtualService", Style.PARTITION, TESTERS),
    Scenario("vs-back", "VirtualService", Style.CANARY, WEIGHTS, Ending.ROLLED_BACK, last=2),
    Scenario("vs-third", "VirtualService", Style.PARTITION, BATCHES, Ending.OVERTAKEN, last=2),
    Scenario("vs-green", "VirtualService", Style.BLUE_GREEN, DOUBLED),
    Scenario("vs-green-back", "VirtualService", Style.BLUE_GREEN, DOUBLED, Ending.ROLLED_BACK, 2),
    Scenario("vs-all", "VirtualService", Style.CANARY, ALL_AT_ONCE),
    *(
        replace(scenario, shared=True)
        for scenario in (
            Scenario("subset", "VirtualService", Style.CANARY, WEIGHTS),
            Scenario("example", "VirtualService", Style.CANARY, ONE_POD, replicas=1),
            Scenario("subset-testers", "VirtualService", Style.CANARY, TESTERS),
            Scenario("subset-back", "VirtualService", Style.CANARY, WEIGHTS, Ending.ROLLED_BACK, 2),
            Scenario("subset-third", "VirtualService", Style.CANARY, WEIGHTS, Ending.OVERTAKEN, 2),
            Scenario("subset-all", "VirtualService", Style.CANARY, ALL_AT_ONCE),
            Scenario(
                *("subset-all-back", "VirtualService", Style.CANARY, ALL_AT_ONCE),
                *(Ending.ROLLED_BACK, 1),
            ),
            Scenario("lane", "VirtualService", Style.CANARY, IN_THE_LANE, lane=True),
            Scenario(
                *("lane-back", "VirtualService", Style.CANARY, IN_THE_LANE),
                *(Ending.ROLLED_BACK, 1),
                lane=True,
            ),
        )
    ),
)

SCENARIOS = {
    Vendor.CONTOUR: (*THROUGH_GATEWAY_API, *THROUGH_CONTOUR),
    # It looks at changes every two seconds; on two busy processors it learned of a pod's end after more than five.
    Vendor.TRAEFIK: tuple(
        replace(scenario, stopping=10) for scenario in (*THROUGH_GATEWAY_API, *THROUGH_TRAEFIK)
    ),
    Vendor.ISTIO: (*THROUGH_ISTIO, *THROUGH_GATEWAY_API),
    Vendor.ISTIO_WEBHOOK: (*THROUGH_ISTIO, *THROUGH_GATEWAY_API),
}


def named(name: str, vendor: Vendor = Vendor.CONTOUR) -> Scenario:
    """Return the scenario of that name as it is played through a vendor's gateway."""
    return next(scenario for scenario in SCENARIOS[vendor] if scenario.name == name)
