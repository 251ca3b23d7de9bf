"""Gathering an observation: all a decision may depend on, from the caches alone.

Invariant: no request is made here. What is not known yet (a kind being looked up) postpones the pass; it is never
passed on as if it did not exist.
"""

from collections import OrderedDict

import msgspec

from controller.api.meta import Key
from controller.api.networking import EndpointSlice, Service
from controller.api.plan_hash import plan_hash_of
from controller.api.rollout import Rollout
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
from controller.domain.traffic.drift import name_of, see_route
from controller.domain.traffic.plan import references_of, services_of
from controller.effects.gateways.refusals import cluster_scoped as cluster_scoped_kind
from controller.errors import Postponed
from controller.kube.dynamic import DynamicKinds, Problem
from controller.reconcilers.caches import OWNER, ROLLOUT_UID, SERVICE, Caches

REMEMBERED_TEMPLATES = 4096
REVISION = "deployment.kubernetes.io/revision"
WAIT_FOR_KIND = 5.0
"""Seconds at most until a pass is tried again while a kind is being looked up; `ready` comes first."""


class _TemplateHead(msgspec.Struct, frozen=True):
    metadata: "_TemplateMeta | None" = None


class _TemplateMeta(msgspec.Struct, frozen=True):
    labels: dict[str, str] | None = None


class Templates:
    """Hashes of templates, remembered: the same bytes come with every event of a workload."""

    def __init__(self) -> None:
        self._hashes: OrderedDict[bytes, str] = OrderedDict()

    def hash(self, template: msgspec.Raw) -> str:
        """Identity of a pod template."""
        raw = bytes(template)
        known = self._hashes.get(raw)
        if known is None:
            known = self._hashes[raw] = template_hash(raw)
            if len(self._hashes) > REMEMBERED_TEMPLATES:
                self._hashes.popitem(last=False)
        return known


class World:
    """Observations of Rollouts."""

    def __init__(
        self, caches: Caches, kinds: DynamicKinds, *, allow_cluster_scoped: bool = False
    ) -> None:
        self._allow_cluster_scoped = allow_cluster_scoped
        self._caches = caches
        self._kinds = kinds
        self._templates = Templates()

    def observe(self, key: Key) -> Observation | None:
        """Everything about one Rollout; None when it is gone. Postponed while a kind is being looked up."""
        rollout = self._caches.rollouts.get(key)
        if rollout is None:
            return None
        workload = self._caches.deployments.get(Key(key.namespace, rollout.spec.workload_ref.name))
        services, slices = self._services(rollout)
        return Observation(
            rollout=rollout,
            plan_hash=plan_hash_of(rollout.spec.strategy),
            workload=self._workload(workload) if workload is not None else None,
            canaries=tuple(
                self._workload(extra)
                for extra in self._caches.deployments.index(ROLLOUT_UID, rollout.metadata.uid)
            ),
            services=services,
            slices=slices,
            routes=tuple(
                RouteSeen(reference, self._route(key, reference))
                for reference in _references(rollout)
            ),
        )

    def _workload(self, deployment: Deployment) -> WorkloadSeen:
        owned = sorted(
            self._caches.replica_sets.index(OWNER, deployment.metadata.uid), key=_revision_number
        )
        head = msgspec.json.decode(deployment.spec.template, type=_TemplateHead)
        labels = head.metadata.labels if head.metadata is not None else None
        return WorkloadSeen(
            deployment=deployment,
            template_hash=self._templates.hash(deployment.spec.template),
            template_labels=labels or {},
            replica_sets=tuple((rs, self._templates.hash(rs.spec.template)) for rs in owned),
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

    def _route(self, rollout: Key, reference: Reference) -> RouteState:
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
                return see_route(reference, bytes(found.raw), rollout=rollout.name)


def _references(rollout: Rollout) -> tuple[Reference, ...]:
    canary = rollout.spec.strategy.canary
    if canary is None:
        return ()
    return references_of(canary.traffic_routings, canary.disable_generate_canary_service)


def _revision_number(replica_set: ReplicaSet) -> tuple[int, str]:
    text = replica_set.metadata.annotations.get(REVISION, "")
    return (int(text) if text.isdecimal() else 0, replica_set.metadata.name)
