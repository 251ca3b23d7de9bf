"""Gathers an observation: everything that a decision may depend on, from the caches alone.

Invariant: no request is made here. A fact that is not known yet (a kind being looked up) postpones the pass; a fact
that cannot be known is passed on as `Unavailable`, never as a missing object. Tenants can name any kind: a kind without
a script is not watched, and Secrets never are.
"""

from collections.abc import Iterable
from typing import Protocol

import msgspec

from controller.api.autoscaling import AUTOSCALER, Autoscaler
from controller.api.meta import Key, ObjectMeta
from controller.api.names import ROLLOUT_UID as ROLLOUT_UID_LABEL
from controller.api.names import WORKLOAD_TYPE
from controller.api.networking import EndpointSlice, Service
from controller.api.quantity import parse_count
from controller.api.rollout import Rollout
from controller.api.trafficrouting import TrafficRouting
from controller.api.workload_kinds import KindName, WorkloadKind, workload_kind
from controller.api.workloads import Deployment, ReplicaSet, label_value
from controller.domain.availability import Availability, Loading, Unavailable
from controller.domain.checks.question import own_scripts_asked
from controller.domain.decision import OwnScript, Reference
from controller.domain.observation import (
    Observation,
    RevisionSeen,
    RouteSeen,
    RouteState,
    RouteUnreadable,
    WorkloadSeen,
    WorkloadUnreadable,
)
from controller.domain.pods.originals import detached_from, moved_by_the_original
from controller.domain.pods.running import revision_name
from controller.domain.reasons import SCRIPT_NOT_FOUND, UNSUPPORTED_WORKLOAD
from controller.domain.rollout.routes.shared_routing import shared_routing_of
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.traffic.companions.companion import place_of, place_of_companion
from controller.domain.traffic.drift.object_state import see_route
from controller.domain.traffic.plan.abilities import Headers, granted
from controller.domain.traffic.plan.script_input import kind_of
from controller.domain.traffic.plan.traffic_plan import references_of, services_of
from controller.effects.gateways.failed_writes import cluster_scoped as cluster_scoped_kind
from controller.effects.gateways.failed_writes import unreadable
from controller.errors import Postponed
from controller.kube.kind_watch import Kind, RawObject
from controller.kube.resources import (
    CONTROLLER_REVISIONS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    PODS,
    REPLICA_SETS,
    SERVICES,
    TRAFFIC_ROUTINGS,
    Resource,
)
from controller.reconcilers.autoscalers import autoscalers_of
from controller.reconcilers.caches import CANARY_OF, ROLLOUT_UID, SERVICE, Caches, kept_of, owned_by
from controller.reconcilers.configs import TrackedObjects, config_of
from controller.reconcilers.gates import Gates
from controller.reconcilers.known_scripts import (
    Missing,
    VerdictAbout,
    nobody_asked,
    nothing_missing,
    unknown_header,
    with_verdict,
)
from controller.reconcilers.known_sources import OwnScripts, Sources
from controller.reconcilers.remembered import Plans, PodSets, Routes, Templates
from controller.reconcilers.unclaimed import former_pins, unclaimed

REVISION = "deployment.kubernetes.io/revision"
SECRET: Kind = ("v1", "Secret")
"""Never watched as a gateway object, even if there is a script for it."""
WAIT_FOR_KIND = 5.0
"""Longest wait in seconds until a pass is repeated while a kind is being looked up; usually `ready` wakes it
earlier.
"""


class NamedKinds(Protocol):
    """The source of gateway objects, and of workloads other than Deployments."""

    def keep_watched(self, owner: Key, kinds: Iterable[Kind]) -> None:
        """`owner` needs exactly these kinds from now on."""
        ...

    def availability(self, kind: Kind) -> Availability:
        """Whether the objects of a kind are known."""
        ...

    def resource(self, kind: Kind) -> Resource | None:
        """The served resource of the kind; None when it is not served."""
        ...

    def find(self, kind: Kind, key: Key) -> RawObject | Unavailable | None:
        """The object, None when it does not exist, or why that is not known."""
        ...

    def every(self, kind: Kind, namespace: str) -> tuple[RawObject, ...] | Unavailable:
        """All objects of a namespace, or why they are not known."""
        ...

    def made_for(
        self, kind: Kind, namespace: str, rollout_uid: str
    ) -> tuple[RawObject, ...] | Unavailable:
        """The companion objects of a Rollout, of one kind."""
        ...


class World:
    """Observations of Rollouts."""

    def __init__(
        self,
        caches: Caches,
        kinds: NamedKinds,
        sources: Sources,
        *,
        headers: Headers = unknown_header,
        missing: Missing = nothing_missing,
        own_scripts: OwnScripts | None = None,
        allow_cluster_scoped: bool = False,
        histories_kept: int = 0,
        appends_pod_labels: bool = False,
        config_objects: TrackedObjects | None = None,
        gates: Gates | None = None,
        taken: VerdictAbout = nobody_asked,
    ) -> None:
        self._taken = taken
        self._gates = gates
        self._config_objects = config_objects
        self._histories_kept = histories_kept
        self._appends_pod_labels = appends_pod_labels
        self._headers = headers
        self._missing = missing
        self._own_scripts = own_scripts
        self._allow_cluster_scoped = allow_cluster_scoped
        self._caches = caches
        self._kinds = kinds
        self._sources = sources
        self._templates = Templates()
        self._sets = PodSets()
        self._routes = Routes()
        self._plans = Plans()

    def observe(self, key: Key) -> Observation | None:
        """Everything about one Rollout; None when it is gone. Postponed while a kind is being looked up."""
        rollout = self._caches.rollouts.get(key)
        if rollout is None:
            self.forget(key)
            return None
        self._hold_scripts(key, _references(rollout), own_scripts_asked(rollout))
        self._hold(key, self._kinds_of(rollout))
        workload, autoscalers = self._workload(rollout), self._autoscalers(rollout)
        shared = self._shared_routing(rollout)
        services, slices = self._services(rollout, shared)
        present = workload if isinstance(workload, WorkloadSeen) else None
        originals = present is not None and moved_by_the_original(present.object, key.name)
        gates = self._gates
        return Observation(
            rollout=rollout,
            measured=gates.answers(rollout) if gates is not None else (),
            templates=gates.templates(rollout) if gates is not None else {},
            checked=gates.checked(rollout) if gates is not None else (),
            golden=gates.golden if gates is not None else {},
            plan_hash=self._plans.hash(rollout),
            workload=present,
            workload_problem=workload if isinstance(workload, WorkloadUnreadable) else None,
            kept=kept_of(self._caches, rollout.metadata),
            autoscalers=autoscalers,
            canaries=self._canaries(rollout.metadata),
            unclaimed=unclaimed(self._caches, self._kinds, rollout, _references(rollout)),
            former_pins=former_pins(self._caches, rollout),
            originals_canaries=self._originals_canaries(rollout) if originals else (),
            detached_autoscalers=self._detached_autoscalers(rollout) if originals else (),
            services=services,
            slices=slices,
            traffic_routing=shared,
            config=config_of(rollout, present, self._config_objects),
            histories_kept=self._histories_kept,
            appends_pod_labels=self._appends_pod_labels,
            routes=self._seen_routes(
                key, rollout.metadata.uid, _references(rollout), _leads(rollout)
            ),
        )

    def forget(self, owner: Key) -> None:
        """A Rollout, or other owner, is gone: its kinds need not be watched, and nothing of it is remembered."""
        self._plans.forget(owner)
        self._routes.forget(owner)
        self._kinds.keep_watched(owner, ())
        if self._own_scripts is not None:
            self._own_scripts.keep_watched(owner, ())
        if self._gates is not None:
            self._gates.forget(owner)
        if self._config_objects is not None:
            self._config_objects.release(owner)

    def _hold_scripts(
        self, owner: Key, references: tuple[Reference, ...], others: tuple[OwnScript, ...] = ()
    ) -> None:
        """Keep the namespace's own scripts watched; postpones the pass until each is known."""
        if self._own_scripts is None:
            return
        wanted = {r.own_script.config_map_key for r in references if r.own_script is not None}
        wanted |= {own.config_map_key for own in others}
        self._own_scripts.keep_watched(owner, wanted)
        for config_map in wanted:
            if isinstance(state := self._own_scripts.availability(config_map), Loading):
                raise Postponed(WAIT_FOR_KIND, state.message)

    def _hold(self, owner: Key, kinds: frozenset[Kind]) -> None:
        """Keep these kinds watched; postpones the pass until the state of each is known."""
        self._kinds.keep_watched(owner, kinds)
        for kind in kinds:
            if isinstance(state := self._kinds.availability(kind), Loading):
                raise Postponed(WAIT_FOR_KIND, state.message)

    def _kinds_of(self, rollout: Rollout) -> frozenset[Kind]:
        """The kinds that a Rollout needs, without those that are watched from the start."""
        ref = rollout.spec.workload_ref
        wanted = self._led_by(_references(rollout), _leads(rollout))
        if rollout.spec.strategy.blue_green is not None:
            wanted |= {AUTOSCALER}
        if "/" in ref.api_version and (ref.group, ref.kind) != ("apps", "Deployment"):
            wanted |= {(ref.api_version, ref.kind)}
        return wanted

    def _led_by(self, references: tuple[Reference, ...], leads: bool) -> frozenset[Kind]:
        """Kinds of gateway objects that have a script, or may have an object that follows us."""
        return frozenset(
            (reference.api_version, reference.kind)
            for reference in references
            if self._may_be_watched(reference, leads)
        )

    def _may_be_watched(self, reference: Reference, leads: bool) -> bool:
        if (reference.api_version, reference.kind) == SECRET:
            return False
        return leads or not self._missing(reference)

    def _workload(self, rollout: Rollout) -> WorkloadSeen | WorkloadUnreadable | None:
        ref = rollout.spec.workload_ref
        key = Key(rollout.metadata.namespace, ref.name)
        named = (ref.api_version, ref.kind)
        deployment = (ref.group, ref.kind) == ("apps", "Deployment")
        unknown = self._sources.unavailable(_sources_of(rollout, deployment=deployment))
        if unknown is not None:
            return WorkloadUnreadable(unknown.reason, unknown.message, unknown)
        if deployment:
            found = self._caches.deployments.get(key)
            return self._deployment(found) if found is not None else None
        if "/" not in ref.api_version:
            return _unsupported(named)
        match self._kinds.find(named, key):
            case None:
                return None
            case RawObject() as raw:
                return self._readable_set(named, raw)
            case unavailable:
                return WorkloadUnreadable(unavailable.reason, unavailable.message, unavailable)

    def _autoscalers(self, rollout: Rollout) -> tuple[Autoscaler, ...] | Unavailable:
        """The autoscalers of the workload; watched only for a blue-green release, which pauses them."""
        found, ref = autoscalers_of(self._kinds, rollout), rollout.spec.workload_ref
        if not isinstance(found, tuple):
            return found
        return tuple(view for view in found if view.sizes(ref.group, ref.kind, ref.name))

    def _canaries(self, rollout: ObjectMeta) -> tuple[WorkloadSeen, ...]:
        made_here = str(Key(rollout.namespace, rollout.uid))
        found = self._caches.deployments.index(ROLLOUT_UID, made_here)
        return tuple(map(self._deployment, found))

    def _originals_canaries(self, rollout: Rollout) -> tuple[WorkloadSeen, ...]:
        """Extra Deployments beside the workload that are not ours yet."""
        named = label_value(rollout.spec.workload_ref.name)
        beside = str(Key(rollout.metadata.namespace, named))
        return tuple(
            self._deployment(extra)
            for extra in self._caches.deployments.index(CANARY_OF, beside)
            if ROLLOUT_UID_LABEL not in extra.metadata.labels
        )

    def _detached_autoscalers(self, rollout: Rollout) -> tuple[Autoscaler, ...]:
        """Autoscalers whose target the original renamed; they are watched for blue-green only."""
        found, ref = autoscalers_of(self._kinds, rollout), rollout.spec.workload_ref
        views = found if isinstance(found, tuple) else ()
        return tuple(view for view in views if detached_from(view, ref.group, ref.kind, ref.name))

    def _readable_set(self, named: Kind, raw: RawObject) -> WorkloadSeen | WorkloadUnreadable:
        """A kind of somebody else's may have other types in the fields of a set of pods: its owner has to be told."""
        try:
            return self._set_of_pods(named, raw)
        except (msgspec.MsgspecError, RecursionError) as failure:
            text = f"spec.workloadRef: {named[0]} {named[1]} cannot be read as a set of pods: {failure}"
            return WorkloadUnreadable(UNSUPPORTED_WORKLOAD, text)

    def _set_of_pods(self, named: Kind, raw: RawObject) -> WorkloadSeen | WorkloadUnreadable:
        found = self._sets.read(raw)
        kind = workload_kind(KindName(*named).group, named[1], found.metadata.labels)
        if kind is None:
            return _unsupported(named)
        owned = owned_by(self._caches.revisions, found.metadata)
        owned.sort(key=lambda revision: revision.revision)
        template = self._templates.read(found.spec.template)
        pods, ended = self._caches.pods_of(found.metadata)
        return WorkloadSeen(
            object=found,
            kind=kind,
            template_hash=template.hash,
            template_labels=template.labels,
            revisions=tuple(
                RevisionSeen(revision_name(kind, r.metadata), r.template_hash, r.metadata.name)
                for r in owned
            ),
            pods=pods,
            ended_pods=ended,
        )

    def _deployment(self, deployment: Deployment) -> WorkloadSeen:
        owned = owned_by(self._caches.replica_sets, deployment.metadata)
        owned.sort(key=_revision_number)
        template = self._templates.read(deployment.spec.template)
        pods, ended = self._caches.pods_of(*(rs.metadata for rs in owned))
        return WorkloadSeen(
            object=deployment,
            kind=WorkloadKind.DEPLOYMENT,
            template_hash=template.hash,
            template_name=self._templates.name(deployment.spec.template),
            template_labels=template.labels,
            replica_sets=tuple((rs, self._templates.hash(rs.spec.template)) for rs in owned),
            pods=pods,
            ended_pods=ended,
        )

    def _services(
        self, rollout: Rollout, shared: TrafficRouting | None
    ) -> tuple[dict[str, Service], tuple[EndpointSlice, ...]]:
        """The Services that its routes name, and those of the TrafficRouting that it shares."""
        plan = rollout.spec.strategy.plan
        if plan is None:
            return {}, ()
        found: dict[str, Service] = {}
        slices: list[EndpointSlice] = []
        pairs = services_of(plan.traffic_routings, plan.disable_generate_canary_service)
        led = [name for pair in pairs for name in (pair.stable, pair.canary)]
        led += [entry.service for entry in shared.spec.object_ref] if shared is not None else []
        for name in dict.fromkeys(led):
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

    def routes(
        self, owner: Key, uid: str, references: tuple[Reference, ...], *, leads: bool
    ) -> tuple[RouteSeen, ...]:
        """The states of gateway objects for an owner other than a Rollout; `leads`: they may follow it."""
        self._hold_scripts(owner, references)
        self._hold(owner, self._led_by(references, leads))
        return self._seen_routes(owner, uid, references, leads)

    def _not_watched(self, reference: Reference, subject: str) -> RouteUnreadable:
        if (reference.api_version, reference.kind) == SECRET:
            text = "a Secret leads no traffic and is never read: correct the reference"
            return RouteUnreadable(SCRIPT_NOT_FOUND, f"{subject}: {text}")
        return RouteUnreadable(SCRIPT_NOT_FOUND, f"{subject}: {self._missing(reference)}")

    def _seen_routes(
        self, owner: Key, uid: str, references: tuple[Reference, ...], leads: bool
    ) -> tuple[RouteSeen, ...]:
        raw_companions = self._raw_companions(owner.namespace, uid, references)
        found: list[RouteSeen] = []
        for reference in references:
            header = self._headers(reference)
            state = (
                self._route(owner, reference, raw_companions.get(place_of(reference), ()))
                if self._may_be_watched(reference, leads)
                else self._not_watched(reference, reference.name_in(owner.namespace))
            )
            can = granted(reference, references, self._headers)
            announces = header is not None and header.announces
            seen = RouteSeen(reference, state, can, announces=announces)
            found.append(with_verdict(seen, header, owner.namespace, self._taken))
        return tuple(found)

    def _raw_companions(
        self, namespace: str, uid: str, references: tuple[Reference, ...]
    ) -> dict[str, tuple[RawObject, ...] | Unavailable]:
        """The companion objects of each gateway object, or why they are not known; one without a reference is assigned
        to the first of its kind.
        """
        known: dict[str, tuple[RawObject, ...]] = {}
        unknown: dict[str, Unavailable] = {}
        places = [place_of(reference) for reference in references]
        kinds = {kind_of(reference): reference for reference in reversed(references)}
        for first in kinds.values():
            items = self._kinds.made_for((first.api_version, first.kind), namespace, uid)
            if not isinstance(items, tuple):
                of_kind = (each for each in references if kind_of(each) == kind_of(first))
                unknown |= dict.fromkeys(map(place_of, of_kind), items)
                continue
            for item in items:
                named = place_of_companion(item.metadata)
                place = named if named in places else place_of(first)
                known[place] = (*known.get(place, ()), item)
        return known | unknown

    def _route(
        self,
        rollout: Key,
        reference: Reference,
        raw_companions: tuple[RawObject, ...] | Unavailable,
    ) -> RouteState:
        kind = (reference.api_version, reference.kind)
        resource = self._kinds.resource(kind)
        cluster_scoped = resource is not None and not resource.namespaced
        if cluster_scoped and not self._allow_cluster_scoped:
            refused = cluster_scoped_kind(reference, reference.name_in(rollout.namespace))
            return RouteUnreadable(refused.reason, refused.message)
        namespace = "" if cluster_scoped else rollout.namespace
        if not isinstance(raw_companions, tuple):
            return _unreadable_route(reference, rollout, raw_companions)
        match self._kinds.find(kind, Key(namespace, reference.name)):
            case None:
                raws = tuple(bytes(item.raw) for item in raw_companions)
                return see_route(reference, None, rollout=rollout.name, raw_companions=raws)
            case RawObject() as found:
                return self._routes.see(rollout, reference, found, raw_companions)
            case unknown:
                return _unreadable_route(reference, rollout, unknown)


def _unreadable_route(reference: Reference, rollout: Key, unknown: Unavailable) -> RouteUnreadable:
    text = unreadable(unknown.message, reference.name_in(rollout.namespace))
    return RouteUnreadable(unknown.reason, text, unknown)


def _references(rollout: Rollout) -> tuple[Reference, ...]:
    plan = rollout.spec.strategy.plan
    if plan is None:
        return ()
    return references_of(
        plan.traffic_routings, plan.disable_generate_canary_service, rollout.metadata.namespace
    )


def _leads(rollout: Rollout) -> bool:
    """Gateway objects may follow a plan of this Rollout."""
    ours = moonshift_status(rollout.status)
    return bool(ours.route_plan or ours.endpoints_ready_since)


def _sources_of(rollout: Rollout, *, deployment: bool) -> tuple[Resource, ...]:
    """The caches on which the Rollout depends, among the caches that are filled from the start."""
    plan = rollout.spec.strategy.plan
    found: tuple[Resource, ...] = (CONTROLLER_REVISIONS, PODS)
    if deployment:
        found = (DEPLOYMENTS, REPLICA_SETS, CONTROLLER_REVISIONS, PODS)
    if plan is not None and plan.traffic_routings:
        found += (SERVICES, ENDPOINT_SLICES)
    return (*found, TRAFFIC_ROUTINGS) if shared_routing_of(rollout) else found


def _unsupported(named: Kind) -> WorkloadUnreadable:
    return WorkloadUnreadable(
        UNSUPPORTED_WORKLOAD,
        f"spec.workloadRef: {named[0]} {named[1]} is not a kind that can be released; if it works like a "
        f"StatefulSet, label it {WORKLOAD_TYPE}=statefulset",
    )


def _revision_number(replica_set: ReplicaSet) -> tuple[int, str]:
    text = replica_set.metadata.annotations.get(REVISION, "")
    return (parse_count(text) or 0, replica_set.metadata.name)
