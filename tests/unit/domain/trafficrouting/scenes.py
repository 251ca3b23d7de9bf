"""Rollouts that share one TrafficRouting, the `lane`, in a simulated world."""

import msgspec
from msgspec import structs

from controller.api.meta import Key, ObjectMeta
from controller.api.rollout import (
    CanaryStrategy,
    HttpRouteMatch,
    NetworkRef,
    PatchMetadata,
    Rollout,
    RolloutSpec,
    Step,
    Strategy,
    TrafficRoutingRef,
    ValueMatch,
    WorkloadRef,
)
from controller.api.trafficrouting import (
    TrafficRouting,
    TrafficRoutingSpec,
    TrafficRoutingStrategy,
)
from controller.api.workloads import Deployment
from controller.domain.rollout.words.status import condition
from controller.domain.traffic.plan.traffic_plan import references_of
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

TWENTY = TrafficRoutingStrategy(weight=20)


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


def workload(name: str, replicas: int = 3) -> Deployment:
    """A Deployment whose pods only the Service of its name selects."""
    made = make_deployment(replicas=replicas)
    spec = structs.replace(
        made.spec,
        selector=msgspec.Raw(msgspec.json.encode({"matchLabels": {"app": name}})),
        template=template("v1", {"app": name}),
    )
    return structs.replace(made, metadata=ObjectMeta(name=name, namespace=NAMESPACE), spec=spec)


def shared_world(
    *names: str,
    routing: TrafficRouting | None = None,
    style: str = "canary",
    replicas: int = 3,
    steps: tuple[Step, ...] = (),
) -> World:
    """Deployments, Services, VirtualServices and Rollouts of these names, and the lane over all of them."""
    world = World(NOW)
    for name in names:
        world.cluster.deployments.put(workload(name, replicas))
        service = make_service(name)
        spec = structs.replace(service.spec, selector={"app": name})
        world.cluster.services.put(structs.replace(service, spec=spec))
        world.put_route(NAMESPACE, "VirtualService", name)
    world.cluster.traffic_routings.put(routing or lane(*names))
    for name in names:
        world.cluster.rollouts.put(member(name, style=style, steps=steps))
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
