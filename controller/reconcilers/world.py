"""Gathering an observation: all a decision may depend on, from the caches alone.

Invariant: no request is made here. What is not known yet (a kind being looked up) postpones the pass; it is never
passed on as if it did not exist.
"""

from collections import OrderedDict
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from controller.api.meta import Key
from controller.api.networking import EndpointSlice, Service
from controller.api.plan_hash import plan_hash_of
from controller.api.rollout import Rollout, Strategy
from controller.api.trafficrouting import TrafficRouting
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Deployment, ReplicaSet, template_hash
from controller.domain.decision import Reference
from controller.domain.observation import (
    Observation,
    RouteAbsent,
    RouteSeen,
    RouteState,
    RouteUnreadable,
    WorkloadSeen,
)
from controller.domain.rollout.shared_routing import shared_routing_of
from controller.domain.traffic.drift import name_of, see_route
from controller.domain.traffic.plan import references_of, services_of
from controller.effects.gateways.refusals import cluster_scoped as cluster_scoped_kind
from controller.errors import Postponed
from controller.kube.dynamic import Kind, Problem, RawObject
from controller.kube.resources import Resource
from controller.reconcilers.caches import OWNER, ROLLOUT_UID, SERVICE, Caches

REMEMBERED_TEMPLATES = 4096
REMEMBERED_ROUTES = 512
REMEMBERED_PLANS = 4096
REVISION = "deployment.kubernetes.io/revision"
WAIT_FOR_KIND = 5.0
"""Seconds at most until a pass is tried again while a kind is being looked up; `ready` comes first."""

K = TypeVar("K")
V = TypeVar("V")


class _TemplateHead(msgspec.Struct, frozen=True):
    metadata: "_TemplateMeta | None" = None


class _TemplateMeta(msgspec.Struct, frozen=True):
    labels: dict[str, str] | None = None


class Template(NamedTuple):
    """What is known of a pod template: its identity and its labels."""

    hash: str
    labels: dict[str, str]


class Templates:
    """Templates that were read, remembered: the same bytes come with every event of a workload."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, Template] = OrderedDict()

    def read(self, template: msgspec.Raw) -> Template:
        """Identity and labels of a pod template."""
        raw = bytes(template)
        known = self._known.get(raw)
        if known is None:
            head = msgspec.json.decode(raw, type=_TemplateHead)
            labels = head.metadata.labels if head.metadata is not None else None
            known = self._known[raw] = Template(template_hash(raw), labels or {})
            _bound(self._known, REMEMBERED_TEMPLATES)
        return known


class _Judged(NamedTuple):
    """A gateway object with what was found about it."""

    object: RawObject
    reference: Reference
    state: RouteState


class Routes:
    """States of gateway objects, remembered: most passes meet the very object they met before."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Key, str, str], _Judged] = OrderedDict()

    def see(self, rollout: Key, reference: Reference, found: RawObject) -> RouteState:
        """How the object stands for that Rollout."""
        at = (rollout, reference.kind, reference.name)
        known = self._known.get(at)
        if known is None or known.object is not found or known.reference != reference:
            state = see_route(reference, bytes(found.raw), rollout=rollout.name)
            known = self._known[at] = _Judged(found, reference, state)
            _bound(self._known, REMEMBERED_ROUTES)
        return known.state


class _Hashed(NamedTuple):
    """A plan with its hash."""

    strategy: Strategy
    hash: str


class Plans:
    """Hashes of plans, remembered: a plan hardly ever changes.

    The generation does not tell: a change through v1alpha1 can change the plan by an annotation.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Hashed] = OrderedDict()

    def hash(self, rollout: Rollout) -> str:
        """Hash of the Rollout's plan."""
        uid, strategy = rollout.metadata.uid, rollout.spec.strategy
        known = self._known.get(uid)
        if known is None or known.strategy != strategy:
            known = self._known[uid] = _Hashed(strategy, plan_hash_of(strategy))
            _bound(self._known, REMEMBERED_PLANS)
        return known.hash


def _bound(remembered: OrderedDict[K, V], most: int) -> None:
    if len(remembered) > most:
        remembered.popitem(last=False)


class GatewayKinds(Protocol):
    """Where gateway objects are found: the controller's caches of kinds, or a person's look-ups."""

    def known(self, kind: Kind) -> bool:
        """The answers can be relied on."""
        ...

    def resource(self, kind: Kind) -> Resource | None:
        """How the kind is addressed; None when it is not served."""
        ...

    def find(self, kind: Kind, key: Key) -> RawObject | Problem | None:
        """The object, None when there is none, or why that is not known."""
        ...


class World:
    """Observations of Rollouts."""

    def __init__(
        self,
        caches: Caches,
        kinds: GatewayKinds,
        *,
        allow_cluster_scoped: bool = False,
        histories_kept: int = 0,
    ) -> None:
        self._histories_kept = histories_kept
        self._allow_cluster_scoped = allow_cluster_scoped
        self._caches = caches
        self._kinds = kinds
        self._templates = Templates()
        self._routes = Routes()
        self._plans = Plans()

    def observe(self, key: Key) -> Observation | None:
        """Everything about one Rollout; None when it is gone. Postponed while a kind is being looked up."""
        rollout = self._caches.rollouts.get(key)
        if rollout is None:
            return None
        workload = self._caches.deployments.get(Key(key.namespace, rollout.spec.workload_ref.name))
        services, slices = self._services(rollout)
        return Observation(
            rollout=rollout,
            plan_hash=self._plans.hash(rollout),
            workload=self._workload(workload) if workload is not None else None,
            canaries=tuple(
                self._workload(extra)
                for extra in self._caches.deployments.index(ROLLOUT_UID, rollout.metadata.uid)
            ),
            services=services,
            slices=slices,
            traffic_routing=self._shared_routing(rollout),
            histories_kept=self._histories_kept,
            routes=tuple(
                RouteSeen(reference, self.route(key, reference))
                for reference in _references(rollout)
            ),
        )

    def _workload(self, deployment: Deployment) -> WorkloadSeen:
        owned = sorted(
            self._caches.replica_sets.index(OWNER, deployment.metadata.uid), key=_revision_number
        )
        template = self._templates.read(deployment.spec.template)
        return WorkloadSeen(
            object=deployment,
            kind=WorkloadKind.DEPLOYMENT,
            template_hash=template.hash,
            template_labels=template.labels,
            replica_sets=tuple((rs, self._templates.read(rs.spec.template).hash) for rs in owned),
            pods=tuple(
                pod for rs in owned for pod in self._caches.pods.index(OWNER, rs.metadata.uid)
            ),
        )

    def _services(self, rollout: Rollout) -> tuple[dict[str, Service], tuple[EndpointSlice, ...]]:
        canary = rollout.spec.strategy.canary
        if canary is None:
            return {}, ()
        found: dict[str, Service] = {}
        slices: list[EndpointSlice] = []
        for pair in services_of(canary.traffic_routings, canary.disable_generate_canary_service):
            for name in dict.fromkeys((pair.stable, pair.canary)):
                key = Key(rollout.metadata.namespace, name)
                service = self._caches.services.get(key)
                if service is not None:
                    found[name] = service
                slices += self._caches.slices.index(SERVICE, str(key))
        return found, tuple(slices)

    def _shared_routing(self, rollout: Rollout) -> TrafficRouting | None:
        name = shared_routing_of(rollout)
        key = Key(rollout.metadata.namespace, name)
        return self._caches.traffic_routings.get(key) if name else None

    def route(self, rollout: Key, reference: Reference) -> RouteState:
        """How a gateway object stands for that Rollout, or for another owner of that name."""
        kind = (reference.api_version, reference.kind)
        if not self._kinds.known(kind):
            raise Postponed(WAIT_FOR_KIND, f"{reference.kind} is being looked up")
        resource = self._kinds.resource(kind)
        cluster_scoped = resource is not None and not resource.namespaced
        if cluster_scoped and not self._allow_cluster_scoped:
            refused = cluster_scoped_kind(reference, name_of(reference, rollout.namespace))
            return RouteUnreadable(refused.reason, refused.message)
        namespace = "" if cluster_scoped else rollout.namespace
        found = self._kinds.find(kind, Key(namespace, reference.name))
        match found:
            case None:
                return RouteAbsent()
            case Problem(reason=reason, message=message):
                return RouteUnreadable(reason, message)
            case _:
                return self._routes.see(rollout, reference, found)


def _references(rollout: Rollout) -> tuple[Reference, ...]:
    canary = rollout.spec.strategy.canary
    if canary is None:
        return ()
    return references_of(canary.traffic_routings, canary.disable_generate_canary_service)


def _revision_number(replica_set: ReplicaSet) -> tuple[int, str]:
    text = replica_set.metadata.annotations.get(REVISION, "")
    return (int(text) if text.isdecimal() else 0, replica_set.metadata.name)
