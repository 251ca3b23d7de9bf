"""Routes that several Rollouts share: lanes open with ready pods, shut before pods go, and are never left behind."""

from datetime import datetime
from itertools import pairwise

import msgspec
import pytest
from msgspec import structs

from controller.api.meta import Key, ObjectMeta
from controller.api.rollout import (
    CanaryStrategy,
    HttpRouteMatch,
    NetworkRef,
    PatchMetadata,
    Phase,
    Rollout,
    RolloutSpec,
    RolloutStatus,
    Step,
    StepState,
    Strategy,
    TrafficRoutingRef,
    ValueMatch,
    WorkloadRef,
)
from controller.api.trafficrouting import (
    PROGRESSING_FINALIZER_PREFIX,
    TRAFFIC_ROUTING_FINALIZER,
    Teardown,
    TrafficRouting,
    TrafficRoutingSpec,
    TrafficRoutingStrategy,
)
from controller.api.workloads import Deployment
from controller.domain import reasons
from controller.domain.availability import Forbidden, NotServed, Unavailable
from controller.domain.decision import EnsureRoutes, RestoreRoutes, SetFinalizers
from controller.domain.observation import RoutePresent, RouteSeen, RouteUnreadable
from controller.domain.rollout.release_context import ReleaseContext
from controller.domain.rollout.status import condition
from controller.domain.traffic.drift_policy import RETRY_AFTER_FIGHT
from controller.domain.traffic.plan import references_of
from controller.domain.trafficrouting import (
    MemberSeen,
    TrafficRoutingSeen,
    decide_traffic_routing,
    refused_routing,
)
from tests.unit.builders import (
    NAMESPACE,
    NOW,
    make_deployment,
    make_service,
    make_steps,
    template,
    wait,
)
from tests.unit.worlds import World

LANE = Key(NAMESPACE, "lane")
GRAY = TrafficRoutingStrategy(
    matches=(HttpRouteMatch(headers=(ValueMatch(name="gray", value="1"),)),)
)
A, B = Key(NAMESPACE, "a"), Key(NAMESPACE, "b")


def entry(service: str, *kinds: str) -> TrafficRoutingRef:
    """A Service and its VirtualService of the same name, or objects of these kinds."""
    refs = tuple(
        NetworkRef("networking.istio.io/v1", kind, service) for kind in kinds or ("VirtualService",)
    )
    return TrafficRoutingRef(service=service, grace_period_seconds=2, custom_network_refs=refs)


def lane(
    *services: str, strategy: TrafficRoutingStrategy = GRAY, finalizers: tuple[str, ...] = ()
) -> TrafficRouting:
    """The TrafficRouting `lane` over these Services."""
    return TrafficRouting(
        metadata=ObjectMeta(name="lane", namespace=NAMESPACE, finalizers=finalizers),
        spec=TrafficRoutingSpec(object_ref=tuple(map(entry, services)), strategy=strategy),
    )


def member(
    name: str, *, steps: tuple[Step, ...] = (), labels: str = "gray", style: str = "canary"
) -> Rollout:
    """A Rollout of the Deployment of that name that shares the lane."""
    canary = CanaryStrategy(
        steps=steps or make_steps(1, 2, traffic=False),
        traffic_routing_ref="lane",
        enable_extra_workload_for_canary=style == "canary",
        patch_pod_template_metadata=PatchMetadata(labels={"tag": labels}),
    )
    return Rollout(
        metadata=ObjectMeta(name=name, namespace=NAMESPACE),
        spec=RolloutSpec(
            workload_ref=WorkloadRef("apps/v1", "Deployment", name),
            strategy=Strategy(canary=canary),
        ),
    )


def workload(name: str) -> Deployment:
    """A Deployment of 3 whose pods only the Service of its name selects."""
    made = make_deployment(replicas=3)
    spec = structs.replace(
        made.spec,
        selector=msgspec.Raw(msgspec.json.encode({"matchLabels": {"app": name}})),
        template=template("v1", {"app": name}),
    )
    return structs.replace(made, metadata=ObjectMeta(name=name, namespace=NAMESPACE), spec=spec)


def shared_world(
    *names: str, routing: TrafficRouting | None = None, style: str = "canary"
) -> World:
    """Deployments, Services, VirtualServices and Rollouts of these names, and the lane over all of them."""
    world = World(NOW)
    for name in names:
        world.cluster.deployments.put(workload(name))
        service = make_service(name)
        spec = structs.replace(service.spec, selector={"app": name})
        world.cluster.services.put(structs.replace(service, spec=spec))
        world.put_route(NAMESPACE, "VirtualService", name)
    world.cluster.traffic_routings.put(routing or lane(*names))
    for name in names:
        world.cluster.rollouts.put(member(name, style=style))
    world.rest()
    return world


def change(world: World, key: Key, version: str = "v2") -> None:
    world.people.edit(key, template=template(version, {"app": key.name}))


def routing_of(world: World) -> TrafficRouting:
    return world.cluster.traffic_routings[LANE]


def led(world: World) -> list[str]:
    """Services whose VirtualService follows the lane."""
    found = []
    for name in ("a", "b"):
        (reference,) = references_of((entry(name),), disable_generate=True)
        route = world.route(NAMESPACE, reference)
        if route is not None and route.plan is not None:
            found.append(name)
    return found


def state(world: World, key: Key) -> str:
    return world.cluster.rollouts[key].status.current_step_state


def approve(world: World, key: Key) -> None:
    wait(world, 3)
    world.people.approve(key)
    world.rest()


def stalled_reason(world: World, key: Key) -> str:
    found = condition(world.cluster.rollouts[key].status, "Stalled")
    return found.reason if found is not None and found.status == "True" else ""


def test_at_rest_it_is_healthy_and_holds_itself() -> None:
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


def test_one_that_is_being_deleted_is_restored_first_and_lets_nobody_in() -> None:
    world = shared_world("a", "b")
    change(world, A)
    world.rest()
    world.cluster.traffic_routings.delete(LANE)
    world.rest()
    assert led(world) == []
    assert routing_of(world).status.phase == "Terminating"
    assert TRAFFIC_ROUTING_FINALIZER not in routing_of(world).metadata.finalizers
    change(world, B)
    world.rest()
    assert stalled_reason(world, B) == "TrafficRoutingNotFound"
    change(world, A, "v1")
    world.rest()
    assert world.cluster.traffic_routings.get(LANE) is None
    assert world.cluster.rollouts[A].status.phase == Phase.HEALTHY


def test_a_rollout_deleted_mid_way_leaves() -> None:
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
    assert "says neither weight nor matches" in routing_of(world).status.message
    assert stalled_reason(world, A) == "InvalidTrafficRouting"


def test_what_a_script_cannot_say_is_told_before_a_shared_route_opens() -> None:
    world = shared_world("a")
    world.scripts.can["VirtualService"] = {"weight"}
    world.passes.scripts_changed()
    world.rest()
    assert routing_of(world).status.message == (
        "spec.strategy cannot be carried out: VirtualService/a cannot match headers; change spec.strategy, "
        "or lead the traffic otherwise"
    )
    change(world, A)
    world.rest()
    assert stalled_reason(world, A) == "StepUnsayable"
    assert led(world) == []
    world.scripts.can["VirtualService"] = {"weight", "header"}
    world.passes.scripts_changed()
    world.rest()
    assert state(world, A) == StepState.STEP_PAUSED
    assert led(world) == ["a"]


def test_routes_are_given_back_though_what_is_asked_cannot_be_said_any_more() -> None:
    world = shared_world("a")
    change(world, A)
    world.rest()
    world.scripts.can["VirtualService"] = {"weight"}
    change(world, A, "v1")
    world.rest()
    assert led(world) == []
    assert "cannot match headers" in routing_of(world).status.message
    assert world.cluster.rollouts[A].status.phase == Phase.HEALTHY


def test_a_gateway_object_that_is_missing_is_said_and_waited_for() -> None:
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
    """What a pass over the TrafficRouting sees after argocd wrote over a weight of an open lane."""
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


# --- from the top down ------------------------------------------------------------------------------

CHAIN = ("VirtualService", "DestinationRule", "Backend")
"""Each points at the next."""


def chained_world(*names: str) -> World:
    """As `shared_world`; the lane of each leads a VirtualService, what that points at, and what that points at."""
    routing = lane(*names)
    spec = structs.replace(routing.spec, object_ref=tuple(entry(name, *CHAIN) for name in names))
    world = shared_world(*names, routing=structs.replace(routing, spec=spec))
    for name in names:
        for depth, kind in enumerate(CHAIN):
            world.put_route(NAMESPACE, kind, name, depth=depth)
    world.rest()
    return world


def kinds_led(world: World, name: str) -> tuple[str, ...]:
    references = references_of((entry(name, *CHAIN),), disable_generate=True)
    routes = ((ref.kind, world.route(NAMESPACE, ref)) for ref in references)
    return tuple(kind for kind, route in routes if route is not None and route.plan is not None)


def first_times(world: World, name: str) -> dict[tuple[str, ...], datetime]:
    """When each set of led kinds was first seen."""
    seen: dict[tuple[str, ...], datetime] = {}

    def look() -> None:
        seen.setdefault(kinds_led(world, name), world.cluster.now)

    world.watchers.append(look)
    return seen


def apart(seen: dict[tuple[str, ...], datetime]) -> list[float]:
    times = [seen[CHAIN[depth:]] for depth in (1, 2, 3)]
    return [(after - before).total_seconds() for before, after in pairwise(times)]


def test_a_shared_route_that_is_shut_is_given_back_from_the_top_down_a_grace_period_apart() -> None:
    world = chained_world("a")
    change(world, A)
    world.rest()
    assert kinds_led(world, "a") == CHAIN
    seen = first_times(world, "a")
    change(world, A, "v1")
    world.rest()
    assert min(apart(seen)) >= 2
    assert routing_of(world).status.phase == "Healthy"
    assert routing_of(world).status.descent is None
    assert world.cluster.rollouts[A].status.phase == Phase.HEALTHY


def test_a_trafficrouting_that_is_deleted_stays_until_all_is_given_back() -> None:
    world = chained_world("a")
    change(world, A)
    world.rest()
    seen = first_times(world, "a")
    world.cluster.traffic_routings.delete(LANE)
    change(world, A, "v1")
    world.rest()
    assert world.cluster.traffic_routings.get(LANE) is None
    assert min(apart(seen)) >= 2


def test_a_shared_route_that_opens_meanwhile_is_not_kept_waiting_and_the_grace_period_begins_anew() -> (
    None
):
    world = chained_world("a", "b")
    change(world, A)
    world.rest()
    seen = first_times(world, "a")
    change(world, A, "v1")
    world.run_until(lambda: routing_of(world).status.descent is not None)
    change(world, B)
    opened = first_times(world, "b")
    world.rest()
    assert kinds_led(world, "b") == CHAIN
    assert opened[CHAIN] < seen[()]
    assert min(apart(seen)) >= 2


def test_what_is_noted_of_an_earlier_descent_is_taken_back_before_a_route_moves() -> None:
    world = chained_world("a")
    change(world, A)
    world.rest()
    routing = routing_of(world)
    kept = structs.replace(routing.status, descent=Teardown(1, world.cluster.now))
    world.cluster.traffic_routings.put(structs.replace(routing, status=kept))
    everywhere = world.passes.shared.observe(LANE)
    assert everywhere is not None
    shut = structs.replace(everywhere, members=())
    decision = decide_traffic_routing(shut, world.cluster.now)
    assert decision.actions == ()
    assert decision.status.descent is None
    noted = structs.replace(shut, routing=structs.replace(routing, status=decision.status))
    (action,) = decide_traffic_routing(noted, world.cluster.now).actions
    assert isinstance(action, RestoreRoutes)
    assert [reference.kind for reference in action.references] == ["VirtualService"]


# --- decisions alone --------------------------------------------------------------------------------


def seen(*routes: RouteSeen, routing: TrafficRouting | None = None) -> TrafficRoutingSeen:
    return TrafficRoutingSeen(routing=routing or lane("a"), routes=routes)


def test_a_member_that_has_not_begun_takes_no_pod_away_by_plan() -> None:
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
    assert isinstance(action, SetFinalizers)
    assert action.finalizers == (held[1:2] if deleting else held[1:])


def test_a_deleted_rollout_does_not_hold_the_lane() -> None:
    world = shared_world("a")
    routing = routing_of(world)
    stray = PROGRESSING_FINALIZER_PREFIX + "gone"
    meta = structs.replace(routing.metadata, finalizers=(*routing.metadata.finalizers, stray))
    world.cluster.traffic_routings.put(structs.replace(routing, metadata=meta))
    world.rest()
    assert routing_of(world).metadata.finalizers == (TRAFFIC_ROUTING_FINALIZER,)


def test_a_problem_is_said_once() -> None:
    world_seen = seen(unreadable(Forbidden("why")))
    decision = decide_traffic_routing(world_seen, NOW)
    assert [note.reason for note in decision.notes] == ["Forbidden"]
    routing = structs.replace(world_seen.routing, status=decision.status)
    again = decide_traffic_routing(structs.replace(world_seen, routing=routing), NOW)
    assert again.notes == ()
    assert again.status == decision.status


def test_a_refused_write_is_said_in_the_status() -> None:
    plain = seen()
    decision = decide_traffic_routing(plain, NOW)
    problem = decide_traffic_routing(seen(unreadable(Forbidden("why"))), NOW).problem
    assert problem is not None
    refused = refused_routing(plain, decision, problem, NOW)
    assert refused.status.message == "why"
    assert [note.reason for note in refused.notes] == ["Forbidden"]


# --- sides without ready pods -------------------------------------------------------------------


TWENTY = TrafficRoutingStrategy(weight=20)
LANE_GRACE = 2


def at_its_step(style: str) -> World:
    world = shared_world("a", routing=lane("a", strategy=TWENTY), style=style)
    change(world, A)
    world.rest()
    assert weights(world) == {20}
    return world


def weights(world: World) -> set[float | None]:
    return {route.plan.weight if route.plan is not None else None for route in world.routes}


def lose(world: World, *, new: bool) -> None:
    """No pod of one revision is ready any more."""
    found = world.observe(A)
    assert found is not None
    pods = ReleaseContext(seen=found, now=world.cluster.now).new_pods
    uids = {pod.metadata.uid for pod in pods}
    others = {pod.metadata.uid for pod in world.cluster.pods} - uids
    world.people.fail_pods(frozenset(uids if new else others))


def test_a_shared_route_gives_everything_to_the_side_that_lives() -> None:
    world = at_its_step("canary")
    lose(world, new=False)
    wait(world, LANE_GRACE - 0.5)
    assert weights(world) == {20}
    wait(world, 1)
    assert weights(world) == {100}
    assert stalled_reason(world, A) == reasons.SIDE_WITHOUT_ENDPOINTS
    world.people.heal()
    wait(world, LANE_GRACE - 0.5)
    assert weights(world) == {100}
    wait(world, 1)
    assert weights(world) == {20}
    assert stalled_reason(world, A) == ""


def test_a_shared_route_is_shut_after_the_grace_period_and_no_sooner() -> None:
    world = at_its_step("canary")
    lose(world, new=True)
    wait(world, LANE_GRACE - 0.5)
    assert weights(world) == {20}
    wait(world, 1)
    assert weights(world) == {None}
    assert stalled_reason(world, A) == reasons.SIDE_WITHOUT_ENDPOINTS
    world.people.heal()
    wait(world, LANE_GRACE - 0.5)
    assert weights(world) == {None}
    wait(world, 1)
    assert weights(world) == {20}


def test_a_shared_route_does_not_move_for_a_moment_without_ready_pods() -> None:
    world = at_its_step("canary")
    seen_weights: list[set[float | None]] = []
    world.watchers.append(lambda: seen_weights.append(weights(world)))
    for new in (True, False):
        lose(world, new=new)
        wait(world, LANE_GRACE - 1)
        world.people.heal()
        wait(world, 2 * LANE_GRACE)
    assert all(found == {20} for found in seen_weights)


def test_a_member_that_leaves_shuts_its_shared_route_at_once_though_its_pods_were_lost() -> None:
    world = at_its_step("canary")
    lose(world, new=True)
    wait(world, LANE_GRACE / 2)
    world.cluster.rollouts.delete(A)
    world.tick()
    world.pass_over(A)
    wait(world, 0.1)
    assert weights(world) == {None}
