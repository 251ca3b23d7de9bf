"""Passes over a TrafficRouting: a status that is refused, and the time at which one looks again."""

from datetime import datetime
from random import Random

import pytest

from controller.api.meta import ObjectMeta
from controller.api.trafficrouting import TRAFFIC_ROUTING_FINALIZER, TrafficRouting
from controller.domain import reasons
from controller.domain.decision import (
    LaterSteps,
    NotYet,
    Outcome,
    Refusal,
    RestoreRoutes,
    RoutePlan,
)
from controller.errors import Invalid
from controller.kube.ledger import WriteLedger
from controller.reconcilers.caches import Caches
from controller.reconcilers.trafficrouting import SharedWorld, TrafficRoutingReconciler
from tests.component.effects.api_double import ApiDouble
from tests.component.reconcilers.passes import StatusRefusing
from tests.component.reconcilers.test_gone_routings import KEY, Remembered
from tests.component.runtime.virtual_time import VirtualClock, virtual_time
from tests.unit.domain.trafficrouting.scenes import LANE, routing_of
from tests.unit.domain.trafficrouting.test_empty_sides import LANE_GRACE, at_its_step, lose


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
        routes_for=lambda key: Answering(NotYet("no route is written")),
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


class Counting:
    """Counts nothing."""

    def drifted(self, action: str) -> None: ...


class Answering:
    """Gateway objects that give one answer to everything."""

    def __init__(self, answer: Outcome) -> None:
        self._answer = answer

    async def ensure(
        self, plan: RoutePlan, at: datetime | None = None, settles_in: float = 0.0
    ) -> Outcome:
        return self._answer

    async def confirm(self, plan: RoutePlan) -> Outcome:
        return self._answer

    async def rehearse(self, plan: RoutePlan, later: LaterSteps = ()) -> Outcome:
        return self._answer

    async def restore(self, action: RestoreRoutes) -> Outcome:
        return self._answer


@pytest.mark.parametrize(
    ("answer", "wait"),
    [
        (NotYet("another writer was faster"), LANE_GRACE),
        (NotYet("another writer was faster", wake_after=30.0), LANE_GRACE),
        (NotYet("another writer was faster", wake_after=0.5), 0.5),
        (Refusal(reasons.SCRIPT_FAILED, "line 1"), LANE_GRACE),
    ],
)
@virtual_time
async def test_a_route_that_cannot_be_written_now_does_not_make_a_pass_forget_its_next_look(
    answer: Outcome, wait: float
) -> None:
    """The new pods are not ready: their share moves at the end of the grace period, whatever holds another write."""
    world = at_its_step("canary")
    lose(world, new=True)
    world.run_until(lambda: bool(routing_of(world).status.empty_sides))
    world.replace_routes()
    reconciler = TrafficRoutingReconciler(
        world=world.passes.shared,
        kube=ApiDouble(),
        routes_for=lambda key: Answering(answer),
        ledger=WriteLedger(),
        clock=world.passes,
        events=lambda routing, note: None,
        metrics=Counting(),
        random=Random(1),
        rights=Remembered(),
    )
    assert (await reconciler.reconcile(LANE)).wake_after == pytest.approx(wait, abs=0.2)
