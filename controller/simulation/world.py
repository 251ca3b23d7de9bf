"""A cluster with its controllers and ours, run on a virtual clock to rest.

Invariant: our pass runs only when something changed since the last one, or at the instant it asked for; so a
forgotten wake-up shows as a world at rest too early. A pass is observe, decide, apply, status, as in the real
reconciler.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
from msgspec import structs

from controller.api.autoscaling import Autoscaler
from controller.api.meta import Key
from controller.api.names import ROLLOUT_UID
from controller.api.networking import EndpointSlice, Service
from controller.api.plan_hash import plan_hash_of
from controller.api.podsets import PodSet
from controller.api.rollout import CanaryStrategy, Rollout, RolloutStatus
from controller.api.trafficrouting import TrafficRouting
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Deployment
from controller.domain.config.seen import ConfigWatched
from controller.domain.decision import (
    Action,
    ConfigAction,
    Decision,
    Done,
    NotYet,
    Reference,
    Refusal,
)
from controller.domain.observation import (
    Observation,
    RevisionSeen,
    RouteAbsent,
    RoutePresent,
    RouteSeen,
    RouteState,
    RouteUnreadable,
    WorkloadSeen,
)
from controller.domain.pods.running import revision_name
from controller.domain.rollout.config_release import follows_config
from controller.domain.rollout.phases import decide, refused
from controller.domain.rollout.routing import GATEWAY_OBJECT_IN_USE
from controller.domain.rollout.shared_routing import shared_routing_of
from controller.domain.traffic.abilities import Headers, granted
from controller.domain.traffic.plan import references_of, services_of
from controller.errors import MoonshiftError
from controller.simulation.cluster import Cluster, Delays, Route
from controller.simulation.deployments import DeploymentController
from controller.simulation.people import People
from controller.simulation.pods import (
    EndpointController,
    Kubelet,
    ReplicaSetController,
    available_at,
)
from controller.simulation.podsets import PodSetController, kind_of
from controller.simulation.shared_routes import SharedRoutes
from controller.simulation.writes import Writes

RETRY = timedelta(seconds=1)
"""How long a pass that failed (a conflict, say) waits for the next."""


class NoRest(Exception):
    """The world goes on for ever, or came to rest without what was waited for."""


class World:
    """One cluster."""

    def __init__(self, now: datetime, delays: Delays | None = None) -> None:
        self.cluster = Cluster(now, delays)
        self.people = People(self.cluster)
        self.watchers: list[Callable[[], None]] = []
        """Called after every write and every round of the controllers."""
        self.intended: dict[Key, RolloutStatus] = {}
        """What was last decided for a Rollout, whether or not its status could be written."""
        self.headers: Headers = lambda _: None
        """Headers of the scripts there are; without them every step can be said."""
        self._deployments = DeploymentController(self.cluster)
        self._replica_sets = ReplicaSetController(self.cluster)
        self._pod_sets = PodSetController(self.cluster)
        self._kubelet = Kubelet(self.cluster)
        self._endpoints = EndpointController(self.cluster)
        self._shared = SharedRoutes(self.cluster, self.observe, self._route)
        self._wakes: dict[Key, datetime] = {}
        self._looked: dict[Key, int] = {}

    # --- looking --------------------------------------------------------------------------------

    def observe(self, key: Key) -> Observation | None:
        """All that a decision about this Rollout may depend on."""
        rollout = self.cluster.rollouts.get(key)
        if rollout is None:
            return None
        canary = rollout.spec.strategy.plan
        services, slices = self._services(rollout, canary)
        workload = self._workload(rollout)
        return Observation(
            rollout=rollout,
            plan_hash=plan_hash_of(rollout.spec.strategy),
            workload=workload,
            autoscalers=self._autoscalers(rollout),
            canaries=tuple(
                self._seen(extra)
                for extra in self.cluster.deployments
                if extra.metadata.labels.get(ROLLOUT_UID) == rollout.metadata.uid
            ),
            services=services,
            histories_kept=self.cluster.histories_kept,
            traffic_routing=self._shared_routing(rollout),
            slices=slices,
            config=self._config(rollout, workload),
            routes=self._routes(rollout, canary),
        )

    def _config(self, rollout: Rollout, workload: WorkloadSeen | None) -> ConfigWatched | None:
        if workload is None or not follows_config(rollout):
            return None
        meta, template = rollout.metadata, bytes(workload.object.spec.template)
        return self.cluster.configs.see(meta.namespace, meta.uid, template)

    def _workload(self, rollout: Rollout) -> WorkloadSeen | None:
        ref = rollout.spec.workload_ref
        key = Key(rollout.metadata.namespace, ref.name)
        if (ref.group, ref.kind) == ("apps", "Deployment"):
            found = self.cluster.deployments.get(key)
            return self._seen(found) if found is not None else None
        pod_set = self.cluster.pod_sets.get(key)
        return self._seen_set(pod_set) if pod_set is not None else None

    def _autoscalers(self, rollout: Rollout) -> tuple[Autoscaler, ...]:
        if rollout.spec.strategy.blue_green is None:
            return ()
        ref = rollout.spec.workload_ref
        return tuple(
            found
            for found in self.cluster.autoscalers
            if found.sizes(ref.group, ref.kind, ref.name)
        )

    def _seen_set(self, pod_set: PodSet) -> WorkloadSeen:
        kind = kind_of(pod_set)
        return WorkloadSeen(
            object=pod_set,
            kind=kind,
            template_hash=self.cluster.hash_of(pod_set.spec.template),
            template_labels=msgspec.json.decode(pod_set.spec.template)["metadata"]["labels"],
            revisions=tuple(
                RevisionSeen(
                    revision_name(kind, entry.metadata), entry.template_hash, entry.metadata.name
                )
                for entry in self.cluster.revisions_of(pod_set)
            ),
            pods=self.cluster.pods_of_set(pod_set),
        )

    def _seen(self, deployment: Deployment) -> WorkloadSeen:
        owned = self.cluster.replica_sets_of(deployment)
        template = msgspec.json.decode(deployment.spec.template)
        return WorkloadSeen(
            object=deployment,
            kind=WorkloadKind.DEPLOYMENT,
            template_hash=self.cluster.hash_of(deployment.spec.template),
            template_labels=template["metadata"]["labels"],
            replica_sets=tuple((rs, self.cluster.hash_of(rs.spec.template)) for rs in owned),
            pods=tuple(pod for rs in owned for pod in self.cluster.pods_of(rs)),
        )

    def _services(
        self, rollout: Rollout, canary: CanaryStrategy | None
    ) -> tuple[dict[str, Service], tuple[EndpointSlice, ...]]:
        if canary is None:
            return {}, ()
        pairs = services_of(canary.traffic_routings, canary.disable_generate_canary_service)
        wanted = dict.fromkeys(name for pair in pairs for name in (pair.stable, pair.canary))
        space = rollout.metadata.namespace
        found = {name: self.cluster.services.get(Key(space, name)) for name in wanted}
        slices = tuple(
            part
            for part in self.cluster.slices
            if part.metadata.namespace == space and part.service in wanted
        )
        return {name: service for name, service in found.items() if service is not None}, slices

    def _routes(self, rollout: Rollout, canary: CanaryStrategy | None) -> tuple[RouteSeen, ...]:
        if canary is None:
            return ()
        space = rollout.metadata.namespace
        references = references_of(canary.traffic_routings, canary.disable_generate_canary_service)
        return tuple(
            RouteSeen(
                reference,
                self._route(space, reference, rollout.metadata.name),
                granted(reference, references, self.headers),
            )
            for reference in references
        )

    def _route(self, namespace: str, reference: Reference, owner: str) -> RouteState:
        return _route_state(self.cluster.route(namespace, reference), owner)

    def _shared_routing(self, rollout: Rollout) -> TrafficRouting | None:
        name = shared_routing_of(rollout)
        key = Key(rollout.metadata.namespace, name)
        return self.cluster.traffic_routings.get(key) if name else None

    # --- controllers ----------------------------------------------------------------------------

    def tick(self) -> bool:
        """Every controller of the cluster has one look; answers whether anything changed."""
        before = self.cluster.versions.last
        for deployment in self.cluster.deployments:
            self._deployments.sync(deployment)
        for replica_set in self.cluster.replica_sets:
            self._replica_sets.sync(replica_set)
        for pod_set in self.cluster.pod_sets:
            self._pod_sets.sync(pod_set)
        self._replica_sets.collect_garbage()
        for pod in self.cluster.pods:
            self._kubelet.sync(pod)
        self._endpoints.sync()
        self._tell()
        return self.cluster.versions.last != before

    def apply(self, key: Key, action: Action) -> Done | NotYet | Refusal:
        """One action alone, on behalf of a Rollout."""
        return Writes(self.cluster, self.cluster.rollouts[key]).apply(action)

    def pass_over(
        self,
        key: Key,
        *,
        crash_after: int | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> Decision | None:
        """One pass of ours. With `crash_after` the process dies after so many actions; `meanwhile` happens between
        the look and the first action."""
        self._looked[key] = self.cluster.versions.last
        self._wakes.pop(key, None)
        seen = self.observe(key)
        if seen is None:
            return None
        decision = decide(seen, self.cluster.now)
        self.intended[key] = decision.status
        if decision.wake_at is not None:
            self._wakes[key] = decision.wake_at
        if meanwhile is not None:
            meanwhile()
        try:
            return self._carry_out(key, seen, decision, crash_after)
        except MoonshiftError:
            self._wakes[key] = self.cluster.now + RETRY
            return decision

    def restart(self) -> None:
        """Another process takes over: what was only remembered is gone, and everything is looked at."""
        self._wakes.clear()
        self._looked.clear()

    def _carry_out(
        self, key: Key, seen: Observation, decision: Decision, crash_after: int | None
    ) -> Decision:
        writes = Writes(self.cluster, seen.rollout)
        for number, action in enumerate(decision.actions):
            if number == crash_after:
                return decision
            written = self.cluster.versions.last
            outcome = writes.apply(action)
            if self.cluster.versions.last != written:
                self._tell()
            match outcome:
                case Done():
                    continue
                case NotYet():
                    break
                case Refusal(retry_after=after) as refusal:
                    decision = refused(seen, decision, refusal, self.cluster.now)
                    if after is not None:
                        self._wakes[key] = self.cluster.now + timedelta(seconds=after)
                    if not isinstance(action, ConfigAction):
                        break
        if crash_after is None:
            writes.write_status(decision.status)
            self._tell()
        return decision

    def _tell(self) -> None:
        for watcher in self.watchers:
            watcher()

    # --- time -----------------------------------------------------------------------------------

    def _due(self) -> datetime | None:
        """The next instant at which something happens by itself."""
        now = self.cluster.now
        times = [self._kubelet.due(pod) for pod in self.cluster.pods]
        times += [available_at(self.cluster, rs) for rs in self.cluster.replica_sets]
        times += [self._pod_sets.due(found) for found in self.cluster.pod_sets]
        times += self._wakes.values()
        times += (due for due in self._shared.wakes.values() if due > now)
        return min((max(due, now) for due in times if due is not None), default=None)

    def _passes(self) -> bool:
        """Every Rollout that has a reason gets a pass; answers whether one had."""
        keys = [rollout.metadata.key for rollout in self.cluster.rollouts]
        woken = [key for key in keys if self._is_woken(key)]
        for key in woken:
            self.pass_over(key)
        for key in self._wakes.keys() - keys:
            del self._wakes[key]
        return self._shared.pass_over_all() or bool(woken)

    def _is_woken(self, key: Key) -> bool:
        due = self._wakes.get(key)
        changed = self._looked.get(key) != self.cluster.versions.last
        return changed or (due is not None and due <= self.cluster.now)

    def advance(self) -> bool:
        """Do the next thing: passes, controllers, or else the clock. False at rest."""
        if self._passes() or self.tick():
            return True
        due = self._due()
        if due is None:
            return False
        self.cluster.set_clock(due)
        self.tick()
        return True

    def run_until(self, done: Callable[[], bool], most: int = 4000) -> None:
        """Run until `done`; NoRest when the world comes to rest before, or does not end."""
        for _ in range(most):
            if done():
                return
            if not self.advance():
                break
        if not done():
            raise NoRest(self.describe())

    def run_to(self, instant: datetime, most: int = 4000) -> None:
        """Run everything that is due up to `instant`, and stop there."""
        for _ in range(most):
            if self._passes() or self.tick():
                continue
            due = self._due()
            if due is None or due > instant:
                self.cluster.set_clock(instant)
                return
            self.cluster.set_clock(due)
            self.tick()
        raise NoRest(self.describe())

    def rest(self, most: int = 4000) -> None:
        """Run until nothing happens by itself any more."""
        for _ in range(most):
            if not self.advance():
                return
        raise NoRest(self.describe())

    def describe(self) -> str:
        """Where everything stands, for messages."""
        lines = [f"at {self.cluster.now.time()}"]
        for rollout in self.cluster.rollouts:
            status = structs.asdict(rollout.status)
            lines.append(f"Rollout {rollout.metadata.name}: {status}")
        for deployment in self.cluster.deployments:
            sizes = [
                f"{rs.revision}={rs.spec.replicas}/{rs.status.ready_replicas}"
                for rs in self.cluster.replica_sets_of(deployment)
            ]
            lines.append(f"Deployment {deployment.metadata.name}: {sizes} {deployment.spec}")
        for pod_set in self.cluster.pod_sets:
            pods = [
                f"{pod.metadata.name}={pod.revision}{'' if pod.ready_since else '?'}"
                for pod in self.cluster.pods_of_set(pod_set)
            ]
            lines.append(f"{pod_set.kind} {pod_set.metadata.name}: {pods} {pod_set}")
        lines += [f"Service {s.metadata.name}: {s.spec.selector}" for s in self.cluster.services]
        return "\n".join(lines)


def _route_state(route: Route | None, owner: str) -> RouteState:
    if route is None:
        return RouteAbsent()
    if route.unreadable:
        return RouteUnreadable(route.unreadable, "it cannot be read")
    plan = route.plan
    if plan is None:
        return RoutePresent(raw=route.raw)
    if plan.rollout != owner:
        return RouteUnreadable(
            GATEWAY_OBJECT_IN_USE, f"Rollout {plan.rollout} leads traffic with it"
        )
    return RoutePresent(
        raw=route.raw,
        plan=plan.identity,
        release=plan.release,
        touched=route.touched,
        in_use=True,
        announced=route.announces,
        depth=route.depth,
    )
