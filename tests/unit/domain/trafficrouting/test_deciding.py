"""Shared routes open and close with the releases of their members, and TrafficRoutings come and go."""

from datetime import datetime

import pytest
from msgspec import structs

from controller.api.rollout import (
    Phase,
    StepState,
)
from controller.api.trafficrouting import (
    PROGRESSING_FINALIZER_PREFIX,
    TRAFFIC_ROUTING_FINALIZER,
    TrafficRoutingStrategy,
)
from controller.domain import reasons
from controller.domain.decision import EnsureRoutes
from controller.domain.fights import RETRY_AFTER_FIGHT
from controller.domain.observation import RoutePresent
from controller.domain.traffic.plan.traffic_plan import references_of
from controller.domain.trafficrouting.deciding import decide_traffic_routing
from controller.domain.trafficrouting.seen import TrafficRoutingSeen
from tests.unit.builders import (
    NAMESPACE,
)
from tests.unit.domain.trafficrouting.scenes import (
    LANE,
    A,
    B,
    approve,
    change,
    entry,
    lane,
    led,
    member,
    routing_of,
    shared_world,
    stalled_reason,
    state,
)
from tests.unit.worlds import World


def test_a_trafficrouting_at_rest_is_healthy_and_has_its_finalizer() -> None:
    world = shared_world("a")
    assert routing_of(world).status.phase == "Healthy"
    assert routing_of(world).metadata.finalizers == (TRAFFIC_ROUTING_FINALIZER,)
    assert led(world) == []


@pytest.mark.parametrize("style", ["canary", "partition"])
def test_a_release_joins_opens_its_shared_route_and_leaves(style: str) -> None:
    world = shared_world("a", style=style)
    change(world, A)
    world.rest()
    assert state(world, A) == StepState.STEP_PAUSED
    assert led(world) == ["a"]
    assert routing_of(world).status.phase == "Progressing"
    assert PROGRESSING_FINALIZER_PREFIX + "a" in routing_of(world).metadata.finalizers
    approve(world, A)
    assert led(world) == ["a"]
    approve(world, A)
    assert world.cluster.rollouts[A].status.phase == Phase.HEALTHY
    assert led(world) == []
    assert routing_of(world).status.phase == "Healthy"
    assert routing_of(world).metadata.finalizers == (TRAFFIC_ROUTING_FINALIZER,)
    assert routing_of(world).status.members == ()


def test_a_shared_route_opens_only_where_new_pods_are_ready() -> None:
    world = shared_world("a", "b")
    change(world, A)
    world.rest()
    assert led(world) == ["a"]
    change(world, B)
    seen: list[list[str]] = []
    world.watchers.append(lambda: seen.append(led(world)))
    world.rest()
    assert led(world) == ["a", "b"]
    assert all("a" in lanes for lanes in seen)


def test_no_shared_route_leads_where_no_new_pod_is_ready() -> None:
    world = shared_world("a", "b")
    bad: list[str] = []

    def look() -> None:
        for name in led(world):
            pods = [
                pod
                for pod in world.cluster.pods
                if pod.metadata.labels.get("app") == name
                and pod.metadata.labels.get("tag") == "gray"
                and pod.ready_since is not None
            ]
            if not pods:
                bad.append(name)

    world.watchers.append(look)
    for key in (A, B):
        change(world, key)
        world.rest()
    change(world, A, "v1")
    world.rest()
    assert led(world) == ["b"]
    for _ in range(2):
        approve(world, B)
    assert led(world) == []
    assert bad == []


def test_pods_go_no_sooner_than_the_grace_period_after_the_shared_route_was_shut() -> None:
    world = shared_world("a")
    change(world, A)
    world.rest()
    shut: list[datetime] = []
    gone: list[datetime] = []

    def look() -> None:
        if not led(world) and not shut:
            shut.append(world.cluster.now)
        extra = [d for d in world.cluster.deployments if d.metadata.name != "a"]
        if shut and not gone and all(d.metadata.deleting for d in extra):
            gone.append(world.cluster.now)

    world.watchers.append(look)
    change(world, A, "v1")
    world.rest()
    assert (gone[0] - shut[0]).total_seconds() >= 2


def test_two_that_join_at_once_both_stay() -> None:
    world = shared_world("a", "b")
    change(world, A)
    change(world, B)
    world.rest()
    finalizers = set(routing_of(world).metadata.finalizers)
    assert {PROGRESSING_FINALIZER_PREFIX + name for name in "ab"} <= finalizers
    assert led(world) == ["a", "b"]


def test_a_rollout_waits_for_a_trafficrouting_that_does_not_exist() -> None:
    world = shared_world("a")
    world.cluster.traffic_routings.remove(LANE)
    change(world, A)
    world.rest()
    assert stalled_reason(world, A) == "TrafficRoutingNotFound"
    assert len(list(world.cluster.deployments)) == 1
    world.cluster.traffic_routings.put(lane("a"))
    world.rest()
    assert state(world, A) == StepState.STEP_PAUSED
    assert led(world) == ["a"]


def test_a_trafficrouting_that_is_deleted_is_restored_and_does_not_wait_for_its_members() -> None:
    world = shared_world("a", "b")
    change(world, A)
    world.rest()
    shut: list[datetime] = []
    world.watchers.append(lambda: None if led(world) else shut.append(world.cluster.now))
    world.cluster.traffic_routings.delete(LANE)
    world.run_until(lambda: world.cluster.traffic_routings.get(LANE) is None)
    assert led(world) == []
    assert (world.cluster.now - shut[0]).total_seconds() >= 2
    change(world, B)
    world.rest()
    assert stalled_reason(world, B) == "TrafficRoutingNotFound"
    change(world, A, "v1")
    world.rest()
    assert world.cluster.rollouts[A].status.phase == Phase.HEALTHY
    world.cluster.traffic_routings.put(lane("a", "b"))
    world.rest()
    assert led(world) == ["b"]


def test_a_paused_release_joins_the_trafficrouting_that_is_made_again() -> None:
    world = shared_world("a")
    change(world, A)
    world.rest()
    world.cluster.traffic_routings.delete(LANE)
    world.rest()
    assert (state(world, A), stalled_reason(world, A)) == ("StepPaused", "TrafficRoutingNotFound")
    world.cluster.traffic_routings.put(lane("a"))
    world.rest()
    assert (led(world), stalled_reason(world, A)) == (["a"], "")


def test_a_trafficrouting_under_deletion_that_another_tool_holds_admits_no_member() -> None:
    world = shared_world("a", routing=lane("a", finalizers=("other.tool/holds",)))
    world.cluster.traffic_routings.delete(LANE)
    world.rest()
    assert routing_of(world).metadata.finalizers == ("other.tool/holds",)
    assert routing_of(world).status.phase == "Terminating"
    change(world, A)
    world.rest()
    assert stalled_reason(world, A) == "TrafficRoutingNotFound"


def test_a_rollout_deleted_during_a_release_leaves() -> None:
    world = shared_world("a")
    change(world, A)
    world.rest()
    world.cluster.rollouts.delete(A)
    world.rest()
    assert led(world) == []
    assert routing_of(world).metadata.finalizers == (TRAFFIC_ROUTING_FINALIZER,)
    assert world.cluster.rollouts.get(A) is None


def test_members_that_label_their_pods_differently_are_refused() -> None:
    world = shared_world("a", "b")
    world.cluster.rollouts.put(
        structs.replace(world.cluster.rollouts[B], spec=member("b", labels="green").spec)
    )
    change(world, A)
    change(world, B)
    world.rest()
    assert "give their new pods different labels" in routing_of(world).status.message
    assert {stalled_reason(world, A), stalled_reason(world, B)} == {"InvalidTrafficRouting"}


def test_a_strategy_that_says_nothing_is_refused() -> None:
    world = shared_world("a", routing=lane("a", strategy=TrafficRoutingStrategy()))
    change(world, A)
    world.rest()
    assert "has neither weight nor matches" in routing_of(world).status.message
    assert stalled_reason(world, A) == "InvalidTrafficRouting"


def test_a_step_that_a_script_cannot_express_is_reported_before_a_shared_route_opens() -> None:
    world = shared_world("a")
    world.scripts.can["VirtualService"] = {"weight"}
    world.passes.scripts_changed()
    world.rest()
    assert routing_of(world).status.message == (
        "spec.strategy cannot be carried out: VirtualService/a cannot match headers; change spec.strategy, "
        "or route the traffic by another object"
    )
    change(world, A)
    world.rest()
    assert stalled_reason(world, A) == "UnsupportedStep"
    assert led(world) == []
    world.scripts.can["VirtualService"] = {"weight", "header"}
    world.passes.scripts_changed()
    world.rest()
    assert state(world, A) == StepState.STEP_PAUSED
    assert led(world) == ["a"]


def test_routes_are_restored_though_they_cannot_express_the_step_any_more() -> None:
    world = shared_world("a")
    change(world, A)
    world.rest()
    world.scripts.can["VirtualService"] = {"weight"}
    change(world, A, "v1")
    world.rest()
    assert led(world) == []
    assert "cannot match headers" in routing_of(world).status.message
    assert world.cluster.rollouts[A].status.phase == Phase.HEALTHY


def test_a_gateway_object_that_is_missing_is_reported_and_waited_for() -> None:
    world = shared_world("a")
    world.remove_route(NAMESPACE, "VirtualService", "a")
    change(world, A)
    world.rest()
    assert stalled_reason(world, A) == "GatewayObjectNotFound"
    world.put_route(NAMESPACE, "VirtualService", "a")
    world.rest()
    assert state(world, A) == StepState.STEP_PAUSED
    assert stalled_reason(world, A) == ""


def test_a_weight_is_a_share_of_the_requests() -> None:
    world = shared_world("a", routing=lane("a", strategy=TrafficRoutingStrategy(weight=30)))
    change(world, A)
    world.rest()
    (reference,) = references_of((entry("a"),), disable_generate=True)
    route = world.route(NAMESPACE, reference)
    assert route is not None
    assert route.plan is not None
    assert (route.plan.weight, route.plan.pod_labels) == (30, {"tag": "gray"})


def test_routes_that_somebody_touched_are_put_back() -> None:
    world = shared_world("a")
    change(world, A)
    world.rest()
    world.touch_routes()
    world.rest()
    assert not any(route.touched for route in world.routes)


def touched_lane(world: World, **changes: object) -> TrafficRoutingSeen:
    """The observation of a pass over the TrafficRouting after argocd overwrote a weight of an open lane."""
    observed = world.passes.shared.observe(LANE)
    assert observed is not None
    place = "spec.http[0].route[1].weight"
    given: dict[str, object] = {
        "touched": True,
        "editor": "argocd",
        "edited_at": world.cluster.now,
        "places": (place,),
    } | changes
    (route,) = observed.routes
    assert isinstance(route.state, RoutePresent)
    state = structs.replace(route.state, **given)
    return structs.replace(observed, routes=(structs.replace(route, state=state),))


def test_a_shared_route_that_another_writer_insists_on_is_held() -> None:
    world = shared_world("a")
    change(world, A)
    world.rest()
    now = world.cluster.now
    first = decide_traffic_routing(touched_lane(world), now)
    (action,) = first.actions
    assert isinstance(action, EnsureRoutes)
    assert action.at == now
    assert [note.reason for note in first.notes] == [reasons.ROUTE_PUT_BACK]
    place = ("spec.http[0].route[1].weight",)
    again = touched_lane(world, corrected=place, corrected_at=now, corrected_before=now)
    second = decide_traffic_routing(again, now)
    assert second.actions == ()
    assert second.problem is not None
    assert second.problem.reason == reasons.ROUTE_HELD
    assert second.wake_at == now + RETRY_AFTER_FIGHT


def test_a_rollout_that_never_was_a_member_has_nothing_to_leave() -> None:
    world = shared_world("a")
    world.people.disable(A)
    world.rest()
    assert world.cluster.rollouts[A].status.phase == Phase.DISABLED
    assert routing_of(world).status.members == ()


def test_an_object_that_is_missing_while_its_shared_route_is_open_is_a_problem_and_no_action() -> (
    None
):
    world = shared_world("a", "b")
    change(world, A)
    world.rest()
    world.remove_route(NAMESPACE, "VirtualService", "b")
    world.rest()
    assert routing_of(world).status.message.startswith("VirtualService shop/b does not exist")
    assert led(world) == ["a"]
