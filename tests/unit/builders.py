"""Builders of objects and worlds for unit tests: every value has a sensible default, so a test names only the values
that it is about."""

from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import structs

from controller.api.jsontree import JsonObject, child
from controller.api.meta import Key, ObjectMeta
from controller.api.networking import Service, ServiceSpec
from controller.api.original.revision import original_revision
from controller.api.podsets import PodSet, PodSetSpec
from controller.api.quantity import IntOrPercent
from controller.api.rollout import (
    BlueGreenStrategy,
    CanaryStatus,
    CanaryStrategy,
    HttpRouteMatch,
    MoonshiftStatus,
    NetworkRef,
    PatchMetadata,
    Pause,
    Rollout,
    RolloutSpec,
    RolloutStatus,
    Step,
    Strategy,
    TrafficRoutingRef,
    WorkloadRef,
)
from controller.api.workloads import (
    Deployment,
    DeploymentMeta,
    DeploymentSpec,
    DeploymentStrategy,
    Pod,
    PodStatus,
    RollingUpdate,
    StatusCondition,
)
from controller.simulation.state import Delays
from tests.unit.worlds import World

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NAMESPACE = "shop"
KEY = Key(NAMESPACE, "web")
BLUE_GREEN = "blueGreen"
GRACE = 3
VIRTUAL_SERVICE = NetworkRef("networking.istio.io/v1", "VirtualService", "web")


def template(version: str = "v1", labels: dict[str, str] | None = None) -> msgspec.Raw:
    """A pod template that differs by its image."""
    tree = {
        "metadata": {"labels": labels or {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": f"img:{version}"}]},
    }
    return msgspec.Raw(msgspec.json.encode(tree, order="sorted"))


def original_name(version: str) -> str | None:
    """The name of a Deployment's template for clients of the original controller."""
    return original_revision(bytes(template(version)))


def make_step(
    replicas: IntOrPercent | None,
    traffic: str | None = None,
    *,
    pause: int | None = None,
    matches: tuple[HttpRouteMatch, ...] = (),
) -> Step:
    """A step; `pause` None waits for an approval, 0 goes on at once."""
    return Step(replicas=replicas, traffic=traffic, matches=matches, pause=Pause(pause))


def make_steps(
    *replicas: IntOrPercent, traffic: bool = True, pause: int | None = None
) -> tuple[Step, ...]:
    """Steps of these sizes; if a size is a percentage, it is also the step's traffic."""
    return tuple(
        make_step(size, size if traffic and isinstance(size, str) else None, pause=pause)
        for size in replicas
    )


def make_routing(service: str = "web", *refs: NetworkRef, grace: int = GRACE) -> TrafficRoutingRef:
    """A traffic routing over one VirtualService, or over `refs`."""
    return TrafficRoutingRef(
        service=service,
        grace_period_seconds=grace,
        custom_network_refs=refs or (VIRTUAL_SERVICE,),
    )


def make_strategy(
    *,
    steps: tuple[Step, ...] | None = None,
    traffic: bool = True,
    style: str = "partition",
    grace: int = GRACE,
    shared: bool = False,
    failure_threshold: IntOrPercent | None = None,
    patch: PatchMetadata | None = None,
) -> CanaryStrategy:
    """A canary strategy of either style."""
    assert style in ("partition", "canary"), style
    return CanaryStrategy(
        steps=make_steps("20%", "50%") if steps is None else steps,
        traffic_routings=(make_routing(grace=grace),) if traffic else (),
        failure_threshold=failure_threshold,
        patch_pod_template_metadata=patch,
        enable_extra_workload_for_canary=style == "canary",
        disable_generate_canary_service=shared,
    )


def make_rollout(
    *,
    strategy: CanaryStrategy | None = None,
    status: RolloutStatus | None = None,
    paused: bool = False,
    disabled: bool = False,
    ref: WorkloadRef | None = None,
    annotations: dict[str, str] | None = None,
    steps: tuple[Step, ...] | None = None,
    traffic: bool = True,
    style: str = "partition",
) -> Rollout:
    """A Rollout of the Deployment `web`, in style `partition`, `canary` or `blueGreen`."""
    canary = strategy or make_strategy(
        steps=steps, traffic=traffic, style="partition" if style == BLUE_GREEN else style
    )
    wanted = Strategy(paused=paused, canary=canary)
    if style == BLUE_GREEN:
        plan = BlueGreenStrategy(steps=canary.steps, traffic_routings=canary.traffic_routings)
        wanted = Strategy(paused=paused, blue_green=plan)
    return Rollout(
        metadata=ObjectMeta(name=KEY.name, namespace=KEY.namespace, annotations=annotations or {}),
        spec=RolloutSpec(
            workload_ref=ref or WorkloadRef("apps/v1", "Deployment", "web"),
            disabled=disabled,
            strategy=wanted,
        ),
        status=status or RolloutStatus(),
    )


def make_deployment(
    *,
    replicas: int = 10,
    version: str = "v1",
    max_surge: IntOrPercent = "25%",
    max_unavailable: IntOrPercent = "25%",
    min_ready_seconds: int = 0,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    paused: bool = False,
) -> Deployment:
    """The Deployment `web`."""
    return Deployment(
        metadata=DeploymentMeta(
            name=KEY.name,
            namespace=KEY.namespace,
            labels=labels or {},
            annotations=annotations or {},
        ),
        spec=DeploymentSpec(
            replicas=replicas,
            selector=msgspec.Raw(b'{"matchLabels":{"app":"web"}}'),
            template=template(version),
            strategy=DeploymentStrategy("RollingUpdate", RollingUpdate(max_surge, max_unavailable)),
            min_ready_seconds=min_ready_seconds,
            progress_deadline_seconds=600,
            paused=paused,
        ),
    )


SETS = {
    "StatefulSet": WorkloadRef("apps/v1", "StatefulSet", "web"),
    "Advanced StatefulSet": WorkloadRef("apps.kruise.io/v1beta1", "StatefulSet", "web"),
    "CloneSet": WorkloadRef("apps.kruise.io/v1alpha1", "CloneSet", "web"),
    "DaemonSet": WorkloadRef("apps/v1", "DaemonSet", "web"),
    "Advanced DaemonSet": WorkloadRef("apps.kruise.io/v1alpha1", "DaemonSet", "web"),
    "a kind labelled as StatefulSet": WorkloadRef("db.example/v1", "Cluster", "web"),
}
"""Sets of pods by a name for people."""
STRATEGIES: dict[str, JsonObject] = {
    "StatefulSet": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
    "Advanced StatefulSet": {"rollingUpdate": {"podUpdatePolicy": "ReCreate"}},
    "CloneSet": {"maxUnavailable": "20%"},
    "DaemonSet": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}},
    "Advanced DaemonSet": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}},
    "a kind labelled as StatefulSet": {},
}
"""Their owners' update strategies."""
GIVEN_BACK: dict[str, JsonObject] = {
    **STRATEGIES,
    "Advanced DaemonSet": {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 2, "paused": False},
    },
}
"""The same after a release."""


def make_pod_set(
    which: str = "StatefulSet",
    *,
    replicas: int = 5,
    version: str = "v1",
    strategy: JsonObject | None = None,
    scale_strategy: JsonObject | None = None,
    min_ready_seconds: int | None = None,
) -> PodSet:
    """The set of pods `web` of one of `SETS`."""
    ref = SETS[which]
    labelled = which.startswith("a kind")
    return PodSet(
        api_version=ref.api_version,
        kind=ref.kind,
        metadata=ObjectMeta(
            name=KEY.name,
            namespace=KEY.namespace,
            labels={"rollouts.kruise.io/workload-type": "StatefulSet"} if labelled else {},
        ),
        spec=PodSetSpec(
            replicas=None if "Daemon" in which else replicas,
            selector=msgspec.Raw(b'{"matchLabels":{"app":"web"}}'),
            template=template(version),
            update_strategy=msgspec.Raw(
                msgspec.json.encode(STRATEGIES[which] if strategy is None else strategy)
            ),
            scale_strategy=msgspec.Raw(msgspec.json.encode(scale_strategy or {})),
            min_ready_seconds=min_ready_seconds,
        ),
    )


def make_set_world(
    which: str = "StatefulSet",
    pod_set: PodSet | None = None,
    *,
    strategy: CanaryStrategy | BlueGreenStrategy | None = None,
    annotations: dict[str, str] | None = None,
) -> World:
    """A world at rest: the set of pods runs, the Rollout is Healthy."""
    world = World(NOW)
    cluster = world.cluster
    cluster.pod_sets.put(pod_set or make_pod_set(which))
    cluster.services.put(make_service("web"))
    world.put_route(NAMESPACE, "VirtualService", "web")
    world.rest()
    canary = None if isinstance(strategy, BlueGreenStrategy) else strategy
    rollout = make_rollout(
        strategy=canary or make_strategy(steps=make_steps("20%", "40%")),
        ref=SETS[which],
        annotations=annotations,
    )
    if isinstance(strategy, BlueGreenStrategy):
        rollout = with_spec(rollout, strategy=Strategy(blue_green=strategy))
    cluster.rollouts.put(rollout)
    world.rest()
    return world


def set_of(world: World) -> PodSet:
    """The set of pods under the Rollout."""
    return world.cluster.pod_sets[KEY]


def strategy_of(world: World) -> JsonObject:
    """The update strategy in force."""
    found: JsonObject = msgspec.json.decode(set_of(world).spec.update_strategy)
    return found


def release_set(world: World, version: str = "v2") -> None:
    """The owner changes the template of the set."""
    world.people.edit_set(KEY, template=template(version))


def versions_of(world: World) -> dict[str, int]:
    """Pods of the set that are not terminating, by version."""
    by_revision = {revision_of(world, v): v for v in ("v1", "v2", "v3", "v4")}
    sizes: dict[str, int] = {}
    for pod in world.cluster.pods_of(set_of(world)):
        if not pod.metadata.deleting:
            name = by_revision[pod.revision.removeprefix("web-")]
            sizes[name] = sizes.get(name, 0) + 1
    return sizes


def make_service(name: str = "web") -> Service:
    """A Service that selects the pods of `web`."""
    return Service(
        metadata=ObjectMeta(name=name, namespace=NAMESPACE),
        spec=ServiceSpec(selector={"app": "web"}),
    )


def make_pod(
    name: str = "web-1",
    *,
    ready_since: datetime | None = None,
    revision: str = "r2",
    deleting: bool = False,
    labels: dict[str, str] | None = None,
    created: datetime | None = None,
) -> Pod:
    """A pod of `web`, ready since then, or not ready."""
    conditions: tuple[StatusCondition, ...] = ()
    if ready_since is not None:
        conditions = (
            StatusCondition(type="Ready", status="True", last_transition_time=ready_since),
        )
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=NAMESPACE,
            uid=f"uid-{name}",
            labels={"app": "web", "pod-template-hash": revision, **(labels or {})},
            creation_timestamp=created or NOW,
            deletion_timestamp=NOW if deleting else None,
        ),
        status=PodStatus(phase="Running", conditions=conditions),
    )


def make_world(
    rollout: Rollout | None = None,
    deployment: Deployment | None = None,
    *,
    delays: Delays | None = None,
    services: tuple[str, ...] = ("web",),
    raw: bytes = b"{}",
) -> World:
    """A world at rest: the Deployment runs, the Rollout is Healthy."""
    world = World(NOW, delays)
    cluster = world.cluster
    cluster.deployments.put(deployment or make_deployment())
    for name in services:
        cluster.services.put(make_service(name))
    world.put_route(NAMESPACE, "VirtualService", "web", raw)
    world.rest()
    cluster.rollouts.put(rollout or make_rollout())
    world.rest()
    return world


def status_of(world: World) -> RolloutStatus:
    """The Rollout's status."""
    return world.cluster.rollouts[KEY].status


def inner_of(world: World) -> CanaryStatus:
    """The sub-status clients read."""
    found = status_of(world).canary_status
    assert isinstance(found, CanaryStatus)
    return found


def lose_kept(world: World) -> None:
    """Somebody who may do everything deletes what the release keeps."""
    for found in list(world.cluster.revisions):
        if found.kept is not None:
            world.cluster.revisions.remove(found.metadata.key)


def kept_template_of(world: World) -> msgspec.Raw | None:
    """The template that the release keeps in a ControllerRevision of ours."""
    raw = [
        world.cluster.revisions.raw(found.metadata.key)
        for found in world.cluster.revisions
        if found.kept is not None
    ]
    if not raw:
        return None
    return msgspec.Raw(msgspec.json.encode(child(raw[-1], "data", "spec", "template")))


def ours_of(world: World) -> MoonshiftStatus:
    """Our own position."""
    found = status_of(world).moonshift
    assert isinstance(found, MoonshiftStatus)
    return found


def workload_of(world: World) -> Deployment:
    """The Deployment under the Rollout."""
    return world.cluster.deployments[KEY]


def sizes_of(world: World) -> dict[str, int]:
    """Pods that are not terminating, by version of their own Deployment's template (`+v2` in an extra one)."""
    sizes: dict[str, int] = {}
    for replica_set in world.cluster.replica_sets:
        image = msgspec.json.decode(replica_set.spec.template)["spec"]["containers"][0]["image"]
        extra = not replica_set.metadata.name.startswith(f"web-{replica_set.revision}")
        name = ("+" if extra else "") + image.removeprefix("img:")
        pods = world.cluster.pods_of(replica_set)
        alive = [p for p in pods if not p.metadata.deleting and not p.ended]
        if alive:
            sizes[name] = len(alive)
    return sizes


def release(world: World, version: str = "v2") -> None:
    """The owner changes the template."""
    world.people.edit(KEY, template=template(version))


def wait(world: World, seconds: float) -> None:
    """Time passes, and everything that is due in this time happens."""
    world.run_to(world.cluster.now + timedelta(seconds=seconds))


def revision_of(world: World, version: str) -> str:
    """pod-template-hash of a version."""
    return world.cluster.revision_of(template(version))


def weight_of(world: World) -> float | None:
    """Share of the new revision in percent; None while the gateway object is the original."""
    plan = world.routes[0].plan
    return None if plan is None else plan.weight


def with_spec(rollout: Rollout, **changes: object) -> Rollout:
    """The Rollout with another spec."""
    return structs.replace(rollout, spec=structs.replace(rollout.spec, **changes))
