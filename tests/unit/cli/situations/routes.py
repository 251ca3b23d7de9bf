"""Situations of gateway objects: they are missing, belong to others, were changed, or cannot be written."""

from collections.abc import Callable

import msgspec
from msgspec import structs

from controller.api.jsontree import JsonObject, changed
from controller.api.meta import Key, ObjectMeta
from controller.api.names import DRIFT, ORIGINAL_SPEC
from controller.api.rollout import (
    CanaryStrategy,
    HttpRouteMatch,
    NetworkRef,
    RolloutSpec,
    Strategy,
    ValueMatch,
    WorkloadRef,
)
from controller.api.trafficrouting import TrafficRoutingStrategy
from controller.domain import availability, reasons
from controller.domain.availability import NotServed
from controller.domain.decision import OwnScript, Reference, Refusal
from controller.domain.traffic.plan.header import GroupKind
from controller.domain.traffic.plan.script_input import Cycle
from controller.effects.gateways import failed_writes as refusals
from controller.errors import Right, WebhookFailed
from controller.scripts.lookup import Script
from controller.scripts.script_outcome import Refused
from controller.simulation.state import resource_of_kind
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    VIRTUAL_SERVICE,
    make_rollout,
    make_routing,
    make_service,
    make_step,
    make_steps,
    make_strategy,
    make_world,
    release,
    with_spec,
)
from tests.unit.cli.situations.situation import Act, Situation, rollout_edited, undo
from tests.unit.domain.rollout.scenes import started
from tests.unit.domain.trafficrouting.scenes import GRAY, LANE, change, lane, workload
from tests.unit.worlds import World

OTHER = Key(NAMESPACE, "other")
SUBJECT = "VirtualService shop/web"
SCRIPT = Script("lua.traffic.routing.VirtualService.networking.istio.io", b"", "", "packaged")
ROUTE = NetworkRef("gateway.networking.k8s.io/v1", "HTTPRoute", "web")
RESOURCE = resource_of_kind(VIRTUAL_SERVICE.api_version, VIRTUAL_SERVICE.kind)
MAY_NOT_WRITE = ("update", "virtualservices")


def begun(world: World) -> World:
    """The owner changes the template."""
    release(world)
    world.rest()
    return world


def without_its_route() -> World:
    world = make_world()
    world.remove_route(NAMESPACE, "VirtualService", "web")
    world.passes.wake_all()
    return begun(world)


def without_its_route_halfway() -> World:
    world = started(watched=False)
    world.remove_route(NAMESPACE, "VirtualService", "web")
    world.passes.wake_all()
    world.rest()
    return world


def route_applied(world: World) -> None:
    """`kubectl apply -f FILE`: the manifest of the gateway object."""
    world.put_route(NAMESPACE, "VirtualService", "web")
    world.passes.wake_all()


def led_by_another_object(world: World) -> None:
    """`kubectl edit rollout web`: another gateway object, about which nothing is refused."""
    world.put_route(NAMESPACE, "HTTPRoute", "web")
    mended(world)

    def edited(spec: RolloutSpec) -> RolloutSpec:
        assert spec.strategy.canary is not None
        routings = (make_routing("web", ROUTE),)
        canary = structs.replace(spec.strategy.canary, traffic_routings=routings)
        return structs.replace(spec, strategy=structs.replace(spec.strategy, canary=canary))

    world.people.change(KEY, edited)


def mended(world: World) -> None:
    """The cause of a refusal is removed: the script's fault, the object of somebody else."""
    for action in ("RehearseRoutes", "EnsureRoutes"):
        world.people.grant(action)


# --- refusals of the first write, or of its rehearsal -------------------------------------------


def refused(action: str, refusal: Refusal) -> Callable[[], World]:
    """The product's own refusal of the gateway object."""

    def begin() -> World:
        world = make_world()
        world.people.forbid(action, refusal)
        return begun(world)

    return begin


REFUSED: dict[str, Refusal] = {
    "an object that the API server does not accept": Refusal(
        reasons.GATEWAY_OBJECT_REJECTED,
        f"the API server does not accept {SUBJECT} as the script wants it: spec.http: Required value",
        object=SUBJECT,
    ),
    "an object that leads nowhere near the Service": refusals.not_dividable(
        "no route leads to Service web", SUBJECT
    ),
    "an object that is too large": refusals.too_large("its annotations have no room", SUBJECT),
    "a companion of somebody else": refusals.somebody_elses("Ingress shop/web-canary", SUBJECT),
    "a companion that is still going": refusals.is_going(
        "Ingress shop/web-canary", ("example.dev/keep",), 30
    ),
    "two entries that want one companion": refusals.named_twice("Ingress web-canary", SUBJECT),
    "a change that is not kept": refusals.change_not_kept(SUBJECT),
    "a script that fails": refusals.script_failed(
        Refused("RUNTIME_ERROR", "boom", line=3), SCRIPT, SUBJECT
    ),
    "an answer that is refused": refusals.answer_refused("it changes metadata", SCRIPT, SUBJECT),
    "an object that cannot be read": Refusal(
        reasons.GATEWAY_OBJECT_UNREADABLE, f"{SUBJECT}: the number 1e999 is too large"
    ),
    "an object of the whole cluster": refusals.cluster_scoped(
        Reference("gw.example/v1", "Edge", "web", "web", "web-canary"), SUBJECT
    ),
    "a webhook that gives no answer": refusals.webhook_failed(
        WebhookFailed("failed calling webhook x.example.dev", status=500), SUBJECT
    ),
    "scripts that contradict each other": refusals.script_cycle(
        Cycle((GroupKind("networking.istio.io", "VirtualService"),))
    ),
    "an account without a right": refusals.account_forbidden(
        OwnScript(NAMESPACE, "scripts", "routes"),
        (Right("patch", "networking.istio.io", "virtualservices", "", NAMESPACE, "web"),),
        Reference("networking.istio.io/v1", "VirtualService", "web", "web", "web-canary"),
    ),
    "a script with two answers": refusals.not_deterministic(SCRIPT, SUBJECT),
}

WAYS: dict[str, Act] = {
    "edit configmap": mended,
    # The role and its binding are typed one after the other.
    "create role": mended,
    "edit rollout": led_by_another_object,
    "moonshift undo": undo,
}
OF_REFUSALS = {
    f"{name}, {when}": Situation(refusal.reason, refused(action, refusal), WAYS)
    for name, refusal in REFUSED.items()
    for when, action in (("before the first pod", "RehearseRoutes"), ("later", "EnsureRoutes"))
}


def with_a_step_that_says_no_share() -> World:
    steps = (make_step("20%", "a fifth"), make_step("50%", "50%"))
    return begun(make_world(make_rollout(steps=steps)))


def without_a_worker() -> World:
    world = make_world()
    world.scripts.worker_is_away = True
    return begun(world)


def led_by_another_rollout() -> World:
    """Another Rollout, of another workload, leads its traffic by the same object."""
    world = make_world()
    world.cluster.deployments.put(workload(OTHER.name))
    service = make_service(OTHER.name)
    spec = structs.replace(service.spec, selector={"app": OTHER.name})
    world.cluster.services.put(structs.replace(service, spec=spec))
    world.rest()
    routings = (make_routing(OTHER.name, VIRTUAL_SERVICE),)
    plan = structs.replace(make_strategy(), traffic_routings=routings)
    other = make_rollout(strategy=plan, ref=WorkloadRef("apps/v1", "Deployment", OTHER.name))
    meta = ObjectMeta(name=OTHER.name, namespace=NAMESPACE)
    world.cluster.rollouts.put(structs.replace(other, metadata=meta))
    world.rest()
    change(world, OTHER)
    world.rest()
    return begun(world)


# --- objects that somebody changed ------------------------------------------------------------------


def put(world: World, obj: JsonObject) -> None:
    """Somebody writes the gateway object."""
    world.cluster.server.storage.put((RESOURCE.group, RESOURCE.plural), KEY, obj)
    world.passes.wake_all()


def found(world: World) -> JsonObject:
    obj = world.raw_route(NAMESPACE, "VirtualService", "web")
    assert obj is not None
    return obj


def with_a_damaged_record() -> World:
    world = started(watched=False)
    put(world, changed(found(world), ("metadata", "annotations", ORIGINAL_SPEC), "{"))
    world.rest()
    return world


def repaired(world: World) -> None:
    """`kubectl edit virtualservice web`: its owner's content, without our annotations."""
    put(world, {**found(world), "metadata": {"name": "web", "namespace": NAMESPACE}, "spec": {}})


def with_a_change_that_cannot_be_separated() -> World:
    """The owner's list was changed by the release and by somebody else."""
    header = HttpRouteMatch(headers=(ValueMatch(name="a", value="1"),))
    steps = (make_step("20%", matches=(header,)), make_step("50%", "50%"))
    own = {"spec": {"plan": {"matches": [{"x": 1}, {"x": 2}, {"x": 3}]}}}
    world = begun(make_world(make_rollout(steps=steps), raw=msgspec.json.encode(own)))
    put(world, changed(found(world), ("spec", "plan", "matches"), [{"x": 9}, {"x": 8}]))
    world.rest()
    return world


def with_a_change_that_its_owner_holds() -> World:
    asked = {"metadata": {"annotations": {DRIFT: "hold"}}}
    world = begun(make_world(raw=msgspec.json.encode(asked)))
    world.touch_routes()
    world.rest()
    return world


def hold_taken_off(world: World) -> None:
    """`kubectl annotate virtualservice web moonshift.dev/drift-`."""
    put(world, changed(found(world), ("metadata", "annotations", DRIFT), None))


def with_a_gateway_that_refuses() -> World:
    """The gateway had taken the owner's own object."""
    world = make_world()
    world.scripts.confirming.add("VirtualService")
    put(world, changed(found(world), ("status",), {"generation": 0, "says": True}))
    world = begun(world)
    refused = {"generation": 99, "says": {"refused": "Service web-canary has no port 81"}}
    put(world, changed(found(world), ("status",), refused))
    world.rest()
    return world


def corrected_for_its_gateway(world: World) -> None:
    """`kubectl edit virtualservice web`, and the gateway looks at it again."""
    put(world, changed(found(world), ("status",), {"generation": 99, "says": True}))


# --- scripts, rights and kinds ----------------------------------------------------------------------


def without_a_script() -> World:
    world = make_world()
    world.scripts.missing_of["VirtualService"] = (
        "the key VirtualService.networking.istio.io of ConfigMap kruise-rollout/scripts is missing"
    )
    return begun(world)


def script_added(world: World) -> None:
    """The script of the kind is put into the ConfigMap of scripts."""
    world.scripts.missing_of.clear()
    world.passes.wake_all()


def with_a_script_that_cannot_divide() -> World:
    world = make_world()
    world.scripts.can["VirtualService"] = {"matches"}
    return begun(world)


def without_shares(spec: RolloutSpec) -> RolloutSpec:
    """Steps that the object can follow."""
    steps = make_steps("20%", "50%", traffic=False)
    return structs.replace(spec, strategy=Strategy(canary=make_strategy(steps=steps)))


def without_the_right() -> World:
    world = make_world()
    world.cluster.server.forbidden.add(MAY_NOT_WRITE)
    return begun(world)


def granted(world: World) -> None:
    """`kubectl apply -k`: the missing right."""
    world.cluster.server.forbidden.clear()


def of_a_kind_that_is_not_served() -> World:
    world = make_world()
    text = "VirtualService (networking.istio.io/v1) is not served by this cluster: install its CRD"
    world.cannot_be_read("VirtualService", NotServed(text))
    return begun(world)


def served(world: World) -> None:
    """`kubectl apply -f FILE`: the CRD of the kind."""
    world.can_be_read("VirtualService")


# --- a TrafficRouting -------------------------------------------------------------------------------


def without_its_traffic_routing() -> World:
    plan = CanaryStrategy(steps=make_steps(1, 2, traffic=False), traffic_routing_ref="lane")
    return begun(make_world(with_spec(make_rollout(), strategy=Strategy(canary=plan))))


def with_a_traffic_routing_that_says_nothing() -> World:
    world = without_its_traffic_routing()
    world.cluster.traffic_routings.put(lane("web", strategy=TrafficRoutingStrategy()))
    world.rest()
    return world


def traffic_routing_corrected(world: World) -> None:
    """`kubectl edit trafficrouting lane`: it has matches."""
    found = world.cluster.traffic_routings[LANE]
    spec = structs.replace(found.spec, strategy=GRAY)
    world.cluster.traffic_routings.put(structs.replace(found, spec=spec))


def traffic_routing_applied(world: World) -> None:
    """`kubectl apply -f FILE`: the manifest of the TrafficRouting."""
    world.cluster.traffic_routings.put(lane("web"))


def by_itself(spec: RolloutSpec) -> RolloutSpec:
    """The Rollout names no TrafficRouting."""
    return structs.replace(spec, strategy=Strategy(canary=make_strategy()))


SITUATIONS: dict[str, Situation] = {
    **OF_REFUSALS,
    "no gateway object": Situation(
        reasons.GATEWAY_OBJECT_NOT_FOUND,
        without_its_route,
        {"apply -f": route_applied, "edit rollout": led_by_another_object},
    ),
    "a gateway object that is gone": Situation(
        reasons.GATEWAY_OBJECT_NOT_FOUND,
        without_its_route_halfway,
        {"apply -f": route_applied, "moonshift undo": undo},
    ),
    "a record that somebody damaged": Situation(
        reasons.ORIGINAL_CORRUPT,
        with_a_damaged_record,
        {"edit virtualservice web": repaired},
    ),
    "a change that the owner holds": Situation(
        reasons.ROUTE_HELD,
        with_a_change_that_its_owner_holds,
        {"annotate virtualservice web": hold_taken_off, "moonshift undo": undo},
    ),
    "an object that its gateway refuses": Situation(
        reasons.ROUTE_REFUSED_BY_GATEWAY,
        with_a_gateway_that_refuses,
        {"edit virtualservice web": corrected_for_its_gateway, "moonshift undo": undo},
    ),
    "a change that cannot be separated": Situation(
        reasons.AMBIGUOUS_CHANGE, with_a_change_that_cannot_be_separated, {"moonshift undo": undo}
    ),
    "an object that another Rollout uses": Situation(
        reasons.GATEWAY_OBJECT_IN_USE,
        led_by_another_rollout,
        {"edit rollout": led_by_another_object, "moonshift undo": undo},
    ),
    "a step that says no share": Situation(
        reasons.TRAFFIC_UNREADABLE,
        with_a_step_that_says_no_share,
        {"edit rollout": rollout_edited(by_itself), "moonshift undo": undo},
    ),
    "no script worker": Situation(reasons.WORKER_UNAVAILABLE, without_a_worker, {}),
    "no script": Situation(
        reasons.SCRIPT_NOT_FOUND,
        without_a_script,
        {
            "edit configmap": script_added,
            "create configmap": script_added,
            "edit rollout": led_by_another_object,
            "moonshift undo": undo,
        },
    ),
    "a step that the object cannot follow": Situation(
        reasons.UNSUPPORTED_STEP,
        with_a_script_that_cannot_divide,
        {"edit rollout": rollout_edited(without_shares), "moonshift undo": undo},
    ),
    "no right to write the object": Situation(
        availability.Forbidden.reason, without_the_right, {"apply -k": granted}
    ),
    "a kind that is not served": Situation(
        availability.NotServed.reason,
        of_a_kind_that_is_not_served,
        {"apply -f": served, "edit rollout": led_by_another_object},
    ),
    "a TrafficRouting that says nothing": Situation(
        reasons.INVALID_TRAFFIC_ROUTING,
        with_a_traffic_routing_that_says_nothing,
        {"edit trafficrouting lane": traffic_routing_corrected, "moonshift undo": undo},
    ),
    "no TrafficRouting": Situation(
        reasons.TRAFFIC_ROUTING_NOT_FOUND,
        without_its_traffic_routing,
        {"apply -f": traffic_routing_applied, "edit rollout": rollout_edited(by_itself)},
    ),
}
