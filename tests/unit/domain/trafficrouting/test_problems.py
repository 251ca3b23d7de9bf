"""Decisions alone: objects that cannot be read, members that cannot leave, problems that are reported once."""

import msgspec
import pytest
from msgspec import structs

from controller.api.rollout import (
    RolloutStatus,
)
from controller.api.trafficrouting import (
    PROGRESSING_FINALIZER_PREFIX,
    TRAFFIC_ROUTING_FINALIZER,
    TrafficRouting,
)
from controller.domain.availability import Forbidden, NotServed, Unavailable
from controller.domain.decision import RestoreRoutes, SetMetadata
from controller.domain.observation import RoutePresent, RouteSeen, RouteUnreadable
from controller.domain.traffic.plan.traffic_plan import references_of
from controller.domain.trafficrouting.deciding import decide_traffic_routing, refused_routing
from controller.domain.trafficrouting.seen import MemberSeen, TrafficRoutingSeen
from tests.unit.builders import (
    NOW,
)
from tests.unit.domain.trafficrouting.scenes import (
    TWENTY,
    A,
    B,
    change,
    entry,
    lane,
    routing_of,
    shared_world,
    stalled_reason,
    state,
)


def seen(*routes: RouteSeen, routing: TrafficRouting | None = None) -> TrafficRoutingSeen:
    return TrafficRoutingSeen(routing=routing or lane("a"), routes=routes)


def test_a_member_that_has_not_begun_removes_no_pod() -> None:
    world = shared_world("a", routing=lane("a", strategy=TWENTY))
    rollout = world.cluster.rollouts[A]
    unbegun = structs.replace(rollout, status=RolloutStatus())
    found = structs.replace(seen(), members=(MemberSeen(unbegun),))
    assert decide_traffic_routing(found, NOW).problem is None


def unreadable(why: Unavailable) -> RouteSeen:
    (reference,) = references_of((entry("a"),), disable_generate=True)
    return RouteSeen(reference, RouteUnreadable(why.reason, why.message, why))


@pytest.mark.parametrize(
    ("why", "problem"), [(Forbidden("no"), "Forbidden"), (NotServed("gone"), None)], ids=str
)
def test_an_object_that_cannot_be_read_is_a_problem_unless_its_kind_is_gone(
    why: Unavailable, problem: str | None
) -> None:
    found = decide_traffic_routing(seen(unreadable(why)), NOW).problem
    assert (found.reason if found is not None else None) == problem


def test_a_route_left_in_use_is_finalized() -> None:
    (reference,) = references_of((entry("a"),), disable_generate=True)
    left = RouteSeen(reference, RoutePresent(raw=msgspec.Raw(b"{}"), plan="p", in_use=True))
    decision = decide_traffic_routing(
        seen(left, routing=lane("a", finalizers=(TRAFFIC_ROUTING_FINALIZER,))), NOW
    )
    assert decision.status.phase == "Finalizing"
    (action,) = decision.actions
    assert isinstance(action, RestoreRoutes)


@pytest.mark.parametrize("deleting", [False, True])
def test_a_rollout_that_cannot_leave_by_itself_is_let_go(deleting: bool) -> None:
    stray = PROGRESSING_FINALIZER_PREFIX + "gone"
    held = (stray, PROGRESSING_FINALIZER_PREFIX + "here", TRAFFIC_ROUTING_FINALIZER)
    routing = lane("a", finalizers=held)
    meta = structs.replace(routing.metadata, deletion_timestamp=NOW if deleting else None)
    world_seen = structs.replace(
        seen(routing=structs.replace(routing, metadata=meta)), strays=("gone",)
    )
    (action,) = decide_traffic_routing(world_seen, NOW).actions
    assert isinstance(action, SetMetadata)
    assert action.finalizers == (() if deleting else held[1:])


def test_a_deleted_rollout_does_not_hold_the_lane() -> None:
    world = shared_world("a")
    routing = routing_of(world)
    stray = PROGRESSING_FINALIZER_PREFIX + "gone"
    meta = structs.replace(routing.metadata, finalizers=(*routing.metadata.finalizers, stray))
    world.cluster.traffic_routings.put(structs.replace(routing, metadata=meta))
    world.rest()
    assert routing_of(world).metadata.finalizers == (TRAFFIC_ROUTING_FINALIZER,)


def test_a_problem_is_reported_once() -> None:
    world_seen = seen(unreadable(Forbidden("why")))
    decision = decide_traffic_routing(world_seen, NOW)
    assert [note.reason for note in decision.notes] == ["Forbidden"]
    routing = structs.replace(world_seen.routing, status=decision.status)
    again = decide_traffic_routing(structs.replace(world_seen, routing=routing), NOW)
    assert again.notes == ()
    assert again.status == decision.status


def test_a_refused_write_is_reported_in_the_status() -> None:
    plain = seen()
    decision = decide_traffic_routing(plain, NOW)
    problem = decide_traffic_routing(seen(unreadable(Forbidden("why"))), NOW).problem
    assert problem is not None
    refused = refused_routing(plain, decision, problem, NOW)
    assert refused.status.message == "why"
    assert [note.reason for note in refused.notes] == ["Forbidden"]


def test_new_pods_behind_no_service_of_the_trafficrouting_are_reported() -> None:
    world = shared_world("a", "b", routing=lane("a"))
    change(world, B)
    world.rest()
    assert (state(world, B), stalled_reason(world, B)) == (
        "StepTrafficRouting",
        "ServiceSelectsNoPod",
    )
    world.cluster.traffic_routings.put(structs.replace(routing_of(world), spec=lane("a", "b").spec))
    world.rest()
    assert (state(world, B), stalled_reason(world, B)) == ("StepPaused", "")
