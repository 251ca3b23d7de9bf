"""Maps a changed object to the Rollouts that depend on it, and wakes them.

Invariant: every object that a decision depends on wakes the Rollout; nothing is polled. Both the old and the new state
of an object are mapped, so that a Rollout is also woken when an object stops referring to it. A Rollout that a person
did something to is woken urgently: a thousand others may be ready.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar, assert_never

from controller.api import names
from controller.api.analysis import AnalysisTemplate, TemplateRef
from controller.api.autoscaling import AUTOSCALER
from controller.api.config import ConfigKind, ConfigObject
from controller.api.meta import Key, ObjectMeta
from controller.api.networking import EndpointSlice, Service
from controller.api.rollout import Rollout
from controller.api.trafficrouting import TrafficRouting
from controller.api.workload_kinds import DEPLOYMENT
from controller.api.workloads import Deployment, Pod, ReplicaSet
from controller.domain.config.references import named
from controller.domain.gates.templates import template_value
from controller.domain.rollout.approvals.changes_by_people import (
    changed_in_release,
    somebody_changed,
)
from controller.domain.rollout.moving.config_release import follows_config
from controller.domain.rollout.routes.shared_routing import shared_routing_of
from controller.domain.traffic.companions.companion import makers_of
from controller.domain.trafficrouting.seen import OWNER_PREFIX
from controller.kube.store import HasMetadata, Store
from controller.reconcilers import relevance
from controller.reconcilers.caches import (
    BLUE_GREEN,
    CONFIG,
    REFERENCE,
    SERVICE,
    SHARED_ROUTING,
    TEMPLATE,
    UID,
    WORKLOAD,
    Caches,
    config_value,
    reference_value,
)
from controller.reconcilers.relevance import Relevance

Wake = Callable[[Key], None]
V = TypeVar("V", bound=HasMetadata)


class Wiring:
    """Listens to the caches and wakes Rollouts."""

    def __init__(
        self,
        caches: Caches,
        wake: Wake,
        wake_routing: Wake,
        *,
        wake_urgently: Wake | None = None,
        wake_soon: Wake | None = None,
    ) -> None:
        """`wake_soon` wakes a Rollout within `relevance.SOON_SECONDS`; without it, it is woken at once."""
        self._caches = caches
        self._wake = wake
        self._wake_routing = wake_routing
        self._wake_urgently = wake_urgently or wake
        self._wake_soon = wake_soon or wake

    def connect(self) -> None:
        """Listen to every cache."""
        self._caches.rollouts.subscribe(self._rollout_changed)
        self._listen(self._caches.traffic_routings, self._members_of)
        self._listen_routings()
        self._caches.deployments.subscribe(self._deployment_changed)
        self._listen_by_relevance(
            self._caches.replica_sets, self._of_replica_set, relevance.of_replica_set
        )
        self._listen(self._caches.revisions, self._of_owner)
        self._listen_by_relevance(self._caches.pods, self._of_pod, relevance.of_pod)
        self._listen(self._caches.services, self._of_service)
        self._listen_by_relevance(self._caches.slices, self._of_slice, relevance.of_slice)
        self._listen(self._caches.analysis_templates, self._of_template)
        self._listen(self._caches.cluster_analysis_templates, self._of_template)

    def named_object_changed(self, kind: tuple[str, str], metadata: ObjectMeta) -> None:
        """A gateway object, a workload that Rollouts name, or a companion object changed."""
        if kind == AUTOSCALER:
            self._wake_blue_green(metadata.namespace)
            return
        named = reference_value(*kind, metadata.key)
        for rollout in self._caches.rollouts.index(REFERENCE, named):
            self._wake(rollout.metadata.key)
        for rollout in self._caches.rollouts.index(WORKLOAD, named):
            self._wake_for(rollout, metadata, Relevance.NOW)
        for routing in self._caches.traffic_routings.index(REFERENCE, named):
            self._wake_routing(routing.metadata.key)
        for uid in makers_of(metadata):
            for rollout in self._caches.rollouts.index(UID, uid):
                self._wake(rollout.metadata.key)
            for routing in self._caches.traffic_routings.index(UID, uid):
                self._wake_routing(routing.metadata.key)

    def _wake_blue_green(self, namespace: str) -> None:
        """The workload of an autoscaler can change; only blue-green releases read autoscalers."""
        for rollout in self._caches.rollouts.index(BLUE_GREEN, namespace):
            self._wake(rollout.metadata.key)

    def kind_availability_changed(self, owner: Key) -> None:
        """A kind that this Rollout (or TrafficRouting) needs can be read now, or cannot be read any more."""
        if owner.name.startswith(OWNER_PREFIX):
            self._wake_routing(Key(owner.namespace, owner.name.removeprefix(OWNER_PREFIX)))
        else:
            self._wake(owner)

    def cache_availability_changed(self) -> None:
        """A cache that all Rollouts depend on became synced, or is no longer synced."""
        for rollout in self._caches.rollouts.values():
            self._wake(rollout.metadata.key)
        for routing in self._caches.traffic_routings.values():
            self._wake_routing(routing.metadata.key)

    def config_changed(self, kind: ConfigKind, found: ConfigObject) -> None:
        """The content of a ConfigMap or Secret, or of a copy of ours, changed."""
        meta = found.metadata
        read = config_value(meta.namespace, named(kind, meta.name))
        for rollout in self._caches.rollouts.index(CONFIG, read):
            self._wake(rollout.metadata.key)
        for rollout in self._caches.rollouts.index(UID, meta.labels.get(names.ROLLOUT_UID, "")):
            self._wake(rollout.metadata.key)

    def config_ready(self) -> None:
        """The caches of ConfigMaps and Secrets are synced."""
        for rollout in self._caches.rollouts.values():
            if follows_config(rollout):
                self._wake(rollout.metadata.key)

    def scripts_changed(self) -> None:
        """The ConfigMap of scripts changed: Rollouts that a script stopped look again."""
        for rollout in self._caches.rollouts.values():
            if any(c.type == "Stalled" and c.status == "True" for c in rollout.status.conditions):
                self._wake(rollout.metadata.key)
        for routing in self._caches.traffic_routings.values():
            self._wake_routing(routing.metadata.key)

    def _listen_routings(self) -> None:
        """The dependencies of a TrafficRouting: itself, its members, and the pods behind its Services."""
        wake = self._wake_routing
        self._listen(self._caches.traffic_routings, _its_key, wake)
        self._listen(self._caches.rollouts, _shared_routing, wake)
        self._listen(
            self._caches.services, lambda found: self._shared_routings(found.metadata.key), wake
        )
        self._listen(
            self._caches.slices,
            lambda part: self._shared_routings(Key(part.metadata.namespace, part.service)),
            wake,
        )

    def _shared_routings(self, service: Key) -> Iterable[Key]:
        found = self._caches.traffic_routings.index(SERVICE, str(service))
        return [routing.metadata.key for routing in found]

    def _of_template(self, template: AnalysisTemplate) -> Iterable[Key]:
        """The Rollouts that name the template, or another one that leads to it."""
        waiting, known = [template], {template.metadata.key}
        while waiting:
            meta = waiting.pop().metadata
            ref = TemplateRef(meta.name, cluster_scope=not meta.namespace)
            value = template_value(meta.namespace, ref)
            for rollout in self._caches.rollouts.index(TEMPLATE, value):
                yield rollout.metadata.key
            for store in (self._caches.analysis_templates, self._caches.cluster_analysis_templates):
                others = store.index(TEMPLATE, value)
                waiting += (other for other in others if other.metadata.key not in known)
                known |= {other.metadata.key for other in others}

    def _members_of(self, routing: TrafficRouting) -> Iterable[Key]:
        found = self._caches.rollouts.index(SHARED_ROUTING, str(routing.metadata.key))
        return [rollout.metadata.key for rollout in found]

    def _listen(
        self,
        store: Store[V],
        owners: Callable[[V], Iterable[Key]],
        wake: Wake | None = None,
    ) -> None:
        def listen(old: V | None, new: V | None) -> None:
            for view in (old, new):
                if view is not None:
                    for key in owners(view):
                        (wake or self._wake)(key)

        store.subscribe(listen)

    def _listen_by_relevance(
        self,
        store: Store[V],
        owners: Callable[[V], Iterable[Key]],
        relevance_of: Callable[[V | None, V | None], Relevance],
    ) -> None:
        def listen(old: V | None, new: V | None) -> None:
            relevant = relevance_of(old, new)
            for key in {key for view in (old, new) if view is not None for key in owners(view)}:
                self._wake_by(relevant, key)

        store.subscribe(listen)

    def _wake_by(self, relevant: Relevance, key: Key) -> None:
        match relevant:
            case Relevance.NOW:
                self._wake(key)
            case Relevance.WHERE_PODS_COUNT:
                at_once = relevance.waits_for_single_pods(self._caches.rollouts.get(key))
                (self._wake if at_once else self._wake_soon)(key)
            case Relevance.SOON:
                self._wake_soon(key)
            case Relevance.NEVER:
                pass
            case other:
                assert_never(other)

    def _rollout_changed(self, old: Rollout | None, new: Rollout | None) -> None:
        if new is not None and somebody_changed(old, new):
            self._wake_urgently(new.metadata.key)
        elif (view := new or old) is not None:
            self._wake_by(relevance.of_rollout(old, new), view.metadata.key)

    def _deployment_changed(self, old: Deployment | None, new: Deployment | None) -> None:
        relevant = relevance.of_deployment(old, new)
        for view in (old, new):
            if view is not None:
                for rollout in self._rollouts_of(view):
                    self._wake_for(rollout, view.metadata, relevant)

    def _wake_for(self, rollout: Rollout, workload: ObjectMeta, relevant: Relevance) -> None:
        key = rollout.metadata.key
        if changed_in_release(rollout, workload):
            self._wake_urgently(key)
        else:
            self._wake_by(relevant, key)

    def _rollouts_of(self, deployment: Deployment) -> Iterable[Rollout]:
        uid = deployment.metadata.labels.get(names.ROLLOUT_UID, "")
        named = reference_value(*DEPLOYMENT, deployment.metadata.key)
        governed = self._caches.rollouts.index(WORKLOAD, named)
        made_for = self._caches.rollouts.index(UID, uid) if uid else ()
        return (*governed, *made_for)

    def _of_deployment(self, deployment: Deployment) -> Iterable[Key]:
        return [rollout.metadata.key for rollout in self._rollouts_of(deployment)]

    def _of_replica_set(self, replica_set: ReplicaSet) -> Iterable[Key]:
        owners = self._caches.deployments.index(UID, replica_set.metadata.controller_uid)
        return [key for owner in owners for key in self._of_deployment(owner)]

    def _of_pod(self, pod: Pod) -> Iterable[Key]:
        owners = self._caches.replica_sets.index(UID, pod.metadata.controller_uid)
        if owners:
            return [key for owner in owners for key in self._of_replica_set(owner)]
        return self._of_owner(pod)

    def _of_owner(self, owned: HasMetadata) -> Iterable[Key]:
        """Rollouts of the set of pods that owns an object."""
        owner = owned.metadata.controller
        if owner is None:
            return ()
        key = Key(owned.metadata.namespace, owner.name)
        named = reference_value(owner.api_version, owner.kind, key)
        return [r.metadata.key for r in self._caches.rollouts.index(WORKLOAD, named)]

    def _of_service(self, service: Service) -> Iterable[Key]:
        """Rollouts whose routes name it, and those that share a TrafficRouting that does: an end may wait for it."""
        key = service.metadata.key
        shared = self._caches.traffic_routings.index(SERVICE, str(key))
        members = (member for routing in shared for member in self._members_of(routing))
        return (*self._by_service(key), *members)

    def _of_slice(self, part: EndpointSlice) -> Iterable[Key]:
        return self._by_service(Key(part.metadata.namespace, part.service))

    def _by_service(self, key: Key) -> Iterable[Key]:
        return [r.metadata.key for r in self._caches.rollouts.index(SERVICE, str(key))]


def _its_key(routing: TrafficRouting) -> Iterable[Key]:
    return (routing.metadata.key,)


def _shared_routing(rollout: Rollout) -> Iterable[Key]:
    name = shared_routing_of(rollout)
    return (Key(rollout.metadata.namespace, name),) if name else ()
