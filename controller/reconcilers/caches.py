"""The caches behind all decisions: the watched kinds, and the indexes that find objects by their owner or reference.

Invariant: typed views and pure indexes; a pod is found by the UID of its ReplicaSet or set, a ReplicaSet and a
ControllerRevision by the UID of their workload, never by labels, which anybody may write.
"""

from collections.abc import Iterable
from typing import TypeVar

from controller.api import names
from controller.api.analysis import AnalysisTemplate
from controller.api.meta import Key, ObjectMeta
from controller.api.networking import EndpointSlice, Service
from controller.api.notification import Notification
from controller.api.podsets import ControllerRevision
from controller.api.rollout import Rollout
from controller.api.trafficrouting import TrafficRouting
from controller.api.workloads import Deployment, Pod, ReplicaSet
from controller.domain.decision import Reference
from controller.domain.gates.templates import analyses_of, template_value
from controller.domain.observation import KeptSeen
from controller.domain.rollout.moving.config_release import record_of
from controller.domain.rollout.routes.shared_routing import shared_routing_of
from controller.domain.traffic.plan.traffic_plan import references_of, services_of
from controller.kube.store import HasMetadata, Store

V = TypeVar("V", bound=HasMetadata)

UID = "uid"
"""Index: UID of the object itself."""
OWNER = "owner"
"""Index: UID of the controller."""
ROLLOUT_UID = "rolloutUID"
"""Index: UID of the Rollout that an object was made for."""
CANARY_OF = "canaryOf"
"""Index of extra Deployments by `namespace/name` of their workload."""
WORKLOAD = "workload"
"""Index of Rollouts: the workload, by group, kind, namespace and name."""
SERVICE = "service"
"""Index of Rollouts, TrafficRoutings and EndpointSlices: `namespace/name` of a Service."""
MARKED = "marked"
"""Index of the Services that a Rollout pinned or made: their namespace."""
REFERENCE = "reference"
"""Index of Rollouts and of TrafficRoutings: a gateway object."""
SHARED_ROUTING = "sharedRouting"
"""Index of Rollouts: `namespace/name` of the TrafficRouting they share with others."""

BLUE_GREEN = "blueGreen"
"""Index of the Rollouts in blue-green style, by namespace."""
TEMPLATE = "template"
"""Index of Rollouts and of analysis templates: an analysis template that they name."""
CONFIG = "config"
"""Index of Rollouts: `namespace/Kind/name` of a ConfigMap or Secret that their pods read, from their status."""


def reference_value(api_version: str, kind: str, key: Key) -> str:
    """The name of a gateway object or a workload in an index; its group is part of it, its version is not."""
    group, slash, _ = api_version.partition("/")
    return f"{group if slash else ''}/{kind}/{key}"


def _by_owner(view: HasMetadata) -> Iterable[str]:
    uid = view.metadata.controller_uid
    return (uid,) if uid else ()


def _by_rollout_uid(view: HasMetadata) -> Iterable[str]:
    """The label alone proves nothing: in a copied namespace, objects have the UID of the first namespace's Rollout."""
    uid = view.metadata.labels.get(names.ROLLOUT_UID, "")
    return (str(Key(view.metadata.namespace, uid)),) if uid else ()


def _by_stable_deployment(view: HasMetadata) -> Iterable[str]:
    stable = view.metadata.labels.get(names.CANARY_DEPLOYMENT, "")
    return (str(Key(view.metadata.namespace, stable)),) if stable else ()


def _by_workload(rollout: Rollout) -> Iterable[str]:
    ref = rollout.spec.workload_ref
    return (reference_value(ref.api_version, ref.kind, Key(rollout.metadata.namespace, ref.name)),)


def _by_service(rollout: Rollout) -> Iterable[str]:
    plan = rollout.spec.strategy.plan
    if plan is None:
        return ()
    pairs = services_of(plan.traffic_routings, plan.disable_generate_canary_service)
    namespace = rollout.metadata.namespace
    return {str(Key(namespace, name)) for pair in pairs for name in (pair.stable, pair.canary)}


def _marked_service(service: Service) -> Iterable[str]:
    """Services that a Rollout pinned or made, by namespace."""
    meta = service.metadata
    marked = names.PINNED in meta.labels or names.ROLLOUT_UID in meta.annotations
    return (meta.namespace,) if marked else ()


def _by_reference(rollout: Rollout) -> Iterable[str]:
    plan = rollout.spec.strategy.plan
    if plan is None:
        return ()
    references = references_of(plan.traffic_routings, plan.disable_generate_canary_service)
    return _names_of(references, rollout.metadata.namespace)


def _names_of(references: Iterable[Reference], namespace: str) -> set[str]:
    """The names of gateway objects in an index, with the namespace and without.

    An index cannot know whether a kind is cluster-scoped. If it is, the objects of its events have no namespace.
    """
    return {
        reference_value(reference.api_version, reference.kind, Key(place, reference.name))
        for reference in references
        for place in (namespace, "")
    }


def _by_shared_routing(rollout: Rollout) -> Iterable[str]:
    name = shared_routing_of(rollout)
    return (str(Key(rollout.metadata.namespace, name)),) if name else ()


def config_value(namespace: str, written: str) -> str:
    """The name of a ConfigMap or Secret, written as `Kind/name`, in the index."""
    return f"{namespace}/{written}"


def _by_config(rollout: Rollout) -> Iterable[str]:
    record = record_of(rollout.status)
    pairs = (pair for pair in (record.stable, record.update) if pair is not None)
    namespace = rollout.metadata.namespace
    return {config_value(namespace, written) for pair in pairs for written in pair.contents}


def _shared_services(routing: TrafficRouting) -> Iterable[str]:
    namespace = routing.metadata.namespace
    return {str(Key(namespace, entry.service)) for entry in routing.spec.object_ref}


def _shared_references(routing: TrafficRouting) -> Iterable[str]:
    references = references_of(routing.spec.object_ref, disable_generate=True)
    return _names_of(references, routing.metadata.namespace)


def _slice_service(part: EndpointSlice) -> Iterable[str]:
    return (str(Key(part.metadata.namespace, part.service)),)


def _by_template(rollout: Rollout) -> Iterable[str]:
    namespace = rollout.metadata.namespace
    return {
        template_value(namespace, ref)
        for analysis in analyses_of(rollout)
        for ref in analysis.templates
    }


def _by_named_template(template: AnalysisTemplate) -> Iterable[str]:
    namespace = template.metadata.namespace
    return {template_value(namespace, ref) for ref in template.spec.templates}


def _blue_green_by_namespace(rollout: Rollout) -> Iterable[str]:
    return (rollout.metadata.namespace,) if rollout.spec.strategy.blue_green else ()


class Caches:
    """One store per kind."""

    def __init__(self) -> None:
        self.rollouts: Store[Rollout] = Store(
            {
                UID: lambda r: (r.metadata.uid,),
                WORKLOAD: _by_workload,
                SERVICE: _by_service,
                REFERENCE: _by_reference,
                SHARED_ROUTING: _by_shared_routing,
                CONFIG: _by_config,
                TEMPLATE: _by_template,
                BLUE_GREEN: _blue_green_by_namespace,
            }
        )
        self.traffic_routings: Store[TrafficRouting] = Store(
            {
                UID: lambda r: (r.metadata.uid,),
                SERVICE: _shared_services,
                REFERENCE: _shared_references,
            }
        )
        self.deployments: Store[Deployment] = Store(
            {
                UID: lambda d: (d.metadata.uid,),
                ROLLOUT_UID: _by_rollout_uid,
                CANARY_OF: _by_stable_deployment,
            }
        )
        self.replica_sets: Store[ReplicaSet] = Store(
            {UID: lambda r: (r.metadata.uid,), OWNER: _by_owner}
        )
        self.revisions: Store[ControllerRevision] = Store({OWNER: _by_owner})
        self.analysis_templates: Store[AnalysisTemplate] = Store({TEMPLATE: _by_named_template})
        self.cluster_analysis_templates: Store[AnalysisTemplate] = Store(
            {TEMPLATE: _by_named_template}
        )
        self.notifications: Store[Notification] = Store()
        self.cluster_notifications: Store[Notification] = Store()
        self.pods: Store[Pod] = Store({OWNER: _by_owner})
        self.services: Store[Service] = Store({MARKED: _marked_service})
        self.slices: Store[EndpointSlice] = Store({SERVICE: _slice_service})

    def pods_of(self, *owners: ObjectMeta) -> tuple[tuple[Pod, ...], tuple[Pod, ...]]:
        """The pods of these owners: those that count, and those that have ended."""
        found = [pod for owner in owners for pod in owned_by(self.pods, owner)]
        ended = tuple(pod for pod in found if pod.ended)
        return tuple(pod for pod in found if not pod.ended) if ended else tuple(found), ended


def kept_of(caches: Caches, rollout: ObjectMeta) -> tuple[KeptSeen, ...]:
    """The ControllerRevisions of ours that this Rollout owns; the newest last."""
    found = [
        KeptSeen(r.metadata.name, r.metadata.uid, r.revision, r.template_hash, r.kept)
        for r in owned_by(caches.revisions, rollout)
        if r.kept is not None and not r.metadata.deleting
    ]
    return tuple(sorted(found, key=lambda kept: (kept.number, kept.name)))


def owned_by(store: Store[V], owner: ObjectMeta) -> list[V]:
    """The objects that this one controls.

    As for Kubernetes, an ownerReference across namespaces counts for nothing: anybody may write one into an object.
    """
    return [
        view for view in store.index(OWNER, owner.uid) if view.metadata.namespace == owner.namespace
    ]
