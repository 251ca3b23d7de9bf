"""After a TrafficRouting is deleted, no data about it is kept, not even its Events."""

from random import Random

from controller.api.meta import Key
from controller.domain.decision import Reference
from controller.domain.observation import Observation, RouteSeen
from controller.effects.apply import Routes
from controller.errors import Right
from controller.kube.ledger import WriteLedger
from controller.reconcilers.caches import Caches
from controller.reconcilers.trafficrouting import SharedWorld, TrafficRoutingReconciler
from tests.component.effects.api_double import ApiDouble
from tests.component.runtime.virtual_time import VirtualClock, virtual_time

KEY = Key("shop", "web")


class Remembered:
    """The parts that store data about a TrafficRouting: observations, waits for a right, and Events."""

    def __init__(self) -> None:
        self.phases = {KEY: "Progressing"}
        self.seen = {Key("shop", "trafficrouting/web")}

    def gone(self, key: Key) -> None:
        del self.phases[key]

    def observe(self, key: Key) -> Observation | None:
        return None

    def routes(
        self, owner: Key, uid: str, references: tuple[Reference, ...], *, leads: bool
    ) -> tuple[RouteSeen, ...]:
        return ()

    def forget(self, owner: Key) -> None:
        self.seen.discard(owner)

    def wait(self, key: Key, right: Right) -> None:
        raise AssertionError("nothing is asked for")

    def drifted(self, action: str) -> None:
        raise AssertionError("nothing has drifted")


def no_routes(key: Key) -> Routes:
    raise AssertionError("no route is written")


@virtual_time
async def test_nothing_is_remembered_of_a_traffic_routing_that_is_gone() -> None:
    remembered, clock = Remembered(), VirtualClock()
    reconciler = TrafficRoutingReconciler(
        world=SharedWorld(Caches(), remembered, clock),
        kube=ApiDouble(),
        routes_for=no_routes,
        ledger=WriteLedger(),
        clock=clock,
        events=lambda routing, note: None,
        metrics=remembered,
        random=Random(1),
        rights=remembered,
        gone=remembered.gone,
    )
    await reconciler.reconcile(KEY)
    assert not remembered.phases
    assert not remembered.seen
