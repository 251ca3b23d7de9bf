"""Passes over a TrafficRouting whose status is refused."""

from random import Random

from controller.api.meta import ObjectMeta
from controller.api.trafficrouting import TRAFFIC_ROUTING_FINALIZER, TrafficRouting
from controller.domain import reasons
from controller.errors import Invalid
from controller.kube.ledger import WriteLedger
from controller.reconcilers.caches import Caches
from controller.reconcilers.trafficrouting import SharedWorld, TrafficRoutingReconciler
from tests.component.reconcilers.passes import StatusRefusing
from tests.component.reconcilers.test_gone_routings import KEY, Remembered, no_routes
from tests.component.runtime.virtual_time import VirtualClock, virtual_time


@virtual_time
async def test_a_status_that_a_policy_refuses_is_reported_and_written_again_within_ten_seconds() -> (
    None
):
    caches, remembered, clock, api = Caches(), Remembered(), VirtualClock(), StatusRefusing()
    meta = ObjectMeta(
        name=KEY.name, namespace=KEY.namespace, finalizers=(TRAFFIC_ROUTING_FINALIZER,)
    )
    caches.traffic_routings.put(TrafficRouting(metadata=meta))
    told: list[str] = []
    reconciler = TrafficRoutingReconciler(
        world=SharedWorld(caches, remembered, clock),
        kube=api,
        routes_for=no_routes,
        ledger=WriteLedger(),
        clock=clock,
        events=lambda routing, note: told.append(note.reason),
        metrics=remembered,
        random=Random(1),
        rights=remembered,
    )
    api.refusal = Invalid("denied by a policy", status=422)
    waits = [(await reconciler.reconcile(KEY)).wake_after or 0.0 for _ in range(6)]
    assert 0.0 < waits[0] <= 1.0
    assert waits[-1] <= 10.0
    assert set(told) == {reasons.STATUS_REFUSED}
