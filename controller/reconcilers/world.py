"""Gathering an observation: all a decision may depend on, from the caches alone.

Invariant: no request is made here. What is not known yet (a kind being looked up) postpones the pass; it is never
passed on as if it did not exist.
"""

from collections import OrderedDict
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from controller.api.autoscaling import AUTOSCALER, Autoscaler
from controller.api.meta import Key
from controller.api.names import WORKLOAD_TYPE
from controller.api.networking import EndpointSlice, Service
from controller.api.plan_hash import plan_hash_of
from controller.api.podsets import PodSet
from controller.api.rollout import Rollout, Strategy
from controller.api.trafficrouting import TrafficRouting
from controller.api.workload_kinds import KindName, WorkloadKind, workload_kind
from controller.api.workloads import Deployment, ReplicaSet, template_hash
from controller.domain.decision import Reference
from controller.domain.observation import (
    Observation,
    RevisionSeen,
    RouteSeen,
    RouteState,
    RouteUnreadable,
    WorkloadSeen,
    WorkloadUnreadable,
)
from controller.domain.pods.running import revision_name
from controller.domain.reasons import UNSUPPORTED_WORKLOAD
from controller.domain.rollout.shared_routing import shared_routing_of
from controller.domain.traffic.abilities import Headers, granted
from controller.domain.traffic.drift import name_of, see_route
from controller.domain.traffic.header import ScriptHeader
from controller.domain.traffic.made import beside, place_of
from controller.domain.traffic.plan import references_of, services_of
from controller.domain.traffic.scripts import kind_of
from controller.effects.gateways.refusals import cluster_scoped as cluster_scoped_kind
from controller.effects.gateways.refusals import unreadable
from controller.errors import Postponed
from controller.kube.dynamic import Kind, Problem, RawObject
from controller.kube.resources import Resource
from controller.reconcilers.caches import OWNER, ROLLOUT_UID, SERVICE, Caches
from controller.reconcilers.configs import TrackedObjects, config_of

REMEMBERED_TEMPLATES = 4096
REMEMBERED_ROUTES = 512
REMEMBERED_SETS = 1024
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


class _Read(NamedTuple):
    """A set of pods with the object it was read from."""

    object: RawObject
    view: PodSet


class PodSets:
    """Sets of pods as typed views, remembered: most passes meet the very object they met before."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Read] = OrderedDict()

    def read(self, found: RawObject) -> PodSet:
        """The typed view of an object."""
        uid = found.metadata.uid
        known = self._known.get(uid)
        if known is None or known.object is not found:
            view = msgspec.json.decode(found.raw, type=PodSet)
            known = self._known[uid] = _Read(found, view)
            _bound(self._known, REMEMBERED_SETS)
        return known.view


class _Judged(NamedTuple):
    """A gateway object with what was found about it."""

    object: RawObject
    reference: Reference
    made: tuple[RawObject, ...]
    state: RouteState

    def is_of(self, found: RawObject, reference: Reference, made: tuple[RawObject, ...]) -> bool:
        """Nothing that was looked at is another now."""
        return (
            self.object is found
            and self.reference == reference
            and len(self.made) == len(made)
            and all(one is other for one, other in zip(self.made, made, strict=True))
        )


class Routes:
    """States of gateway objects, remembered: most passes meet the very object they met before."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Key, str, str], _Judged] = OrderedDict()

    def see(
        self, rollout: Key, reference: Reference, found: RawObject, made: tuple[RawObject, ...]
    ) -> RouteState:
        """How the object stands for that Rollout."""
        at = (rollout, reference.kind, reference.name)
        known = self._known.get(at)
        if known is None or not known.is_of(found, reference, made):
            raws = tuple(bytes(item.raw) for item in made)
            state = see_route(
                reference,
                bytes(found.raw),
                rollout=rollout.name,
                namespace=rollout.namespace,
                made=raws,
            )
            known = self._known[at] = _Judged(found, reference, made, state)
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


class NamedKinds(Protocol):
    """Where gateway objects, and workloads other than Deployments, are found."""

    def known(self, kind: Kind) -> bool:
        """The answers can be relied on."""
        ...

    def resource(self, kind: Kind) -> Resource | None:
        """How the kind is addressed; None when it is not served."""
        ...

    def find(self, kind: Kind, key: Key) -> RawObject | Problem | None:
        """The object, None when there is none, or why that is not known."""
        ...

    def every(self, kind: Kind, namespace: str) -> tuple[RawObject, ...] | Problem:
        """All objects of a namespace, or why they are not known."""
        ...

    def made_for(self, kind: Kind, namespace: str, rollout_uid: str) -> tuple[RawObject, ...]:
        """What was made for a Rollout beside its gateway objects, of one kind."""
        ...


def _no_header(_: Reference) -> ScriptHeader | None:
    """Nothing is known of scripts."""
    return None


class World:
    """Observations of Rollouts."""

    def __init__(
        self,
        caches: Caches,
        kinds: NamedKinds,
        *,
        allow_cluster_scoped: bool = False,
        histories_kept: int = 0,
        headers: Headers = _no_header,
        config_objects: TrackedObjects | None = None,
    ) -> None:
        self._config_objects = config_objects
        self._histories_kept = histories_kept
        self._headers = headers
        self._allow_cluster_scoped = allow_cluster_scoped
        self._caches = caches
        self._kinds = kinds
        self._templates = Templates()
        self._sets = PodSets()
        self._routes = Routes()
        self._plans = Plans()

    def observe(self, key: Key) -> Observation | None:
        """Everything about one Rollout; None when it is gone. Postponed while a kind is being looked up."""
        rollout = self._caches.rollouts.get(key)
        if rollout is None:
            return None
        workload, autoscalers = self._workload(rollout), self._autoscalers(rollout)
        services, slices = self._services(rollout)
        present = workload if isinstance(workload, WorkloadSeen) else None
        return Observation(
            rollout=rollout,
            plan_hash=self._plans.hash(rollout),
            workload=present,
            workload_problem=next(
                (seen for seen in (workload, autoscalers) if isinstance(seen, WorkloadUnreadable)),
                None,
            ),
            autoscalers=autoscalers if isinstance(autoscalers, tuple) else (),
            canaries=tuple(
                self._deployment(extra)
                for extra in self._caches.deployments.index(ROLLOUT_UID, rollout.metadata.uid)
            ),
            services=services,
            slices=slices,
            traffic_routing=self._shared_routing(rollout),
            config=config_of(rollout, present, self._config_objects),
            histories_kept=self._histories_kept,
            routes=self.routes(key, rollout.metadata.uid, _references(rollout)),
        )

    def _workload(self, rollout: Rollout) -> WorkloadSeen | WorkloadUnreadable | None:
        ref = rollout.spec.workload_ref
        key = Key(rollout.metadata.namespace, ref.name)
        if (ref.group, ref.kind) == ("apps", "Deployment"):
            found = self._caches.deployments.get(key)
            return self._deployment(found) if found is not None else None
        named = (ref.api_version, ref.kind)
        if not self._kinds.known(named):
            raise Postponed(WAIT_FOR_KIND, f"{ref.kind} is being looked up")
        match self._kinds.find(named, key):
            case None:
                return None
            case Problem(reason=reason, message=message):
                return WorkloadUnreadable(reason, message)
            case raw:
                return self._set_of_pods(named, raw)

    def _autoscalers(self, rollout: Rollout) -> tuple[Autoscaler, ...] | WorkloadUnreadable:
        """What sizes the workload; only a blue-green release holds it, so only then it is watched."""
        if rollout.spec.strategy.blue_green is None:
            return ()
        if not self._kinds.known(AUTOSCALER):
            raise Postponed(WAIT_FOR_KIND, f"{AUTOSCALER.kind} is being looked up")
        found = self._kinds.every(AUTOSCALER, rollout.metadata.namespace)
        if isinstance(found, Problem):
            return WorkloadUnreadable(found.reason, found.message)
        ref = rollout.spec.workload_ref
        views = (msgspec.json.decode(raw.raw, type=Autoscaler) for raw in found)
        return tuple(view for view in views if view.sizes(ref.group, ref.kind, ref.name))

    def _set_of_pods(self, named: Kind, raw: RawObject) -> WorkloadSeen | WorkloadUnreadable:
        found = self._sets.read(raw)
        kind = workload_kind(KindName(*named).group, named[1], found.metadata.labels)
        if kind is None:
            return WorkloadUnreadable(
                UNSUPPORTED_WORKLOAD,
                f"spec.workloadRef: {named[0]} {named[1]} is not a kind that can be released; if it works like a "
                f"StatefulSet, label it {WORKLOAD_TYPE}=statefulset",
            )
        owned = sorted(
            self._caches.revisions.index(OWNER, found.metadata.uid), key=lambda r: r.revision
        )
        template = self._templates.read(found.spec.template)
        return WorkloadSeen(
            object=found,
            kind=kind,
            template_hash=template.hash,
            template_labels=template.labels,
            revisions=tuple(
                RevisionSeen(revision_name(kind, r.metadata), r.template_hash, r.metadata.name)
                for r in owned
            ),
            pods=self._caches.pods.index(OWNER, found.metadata.uid),
        )

    def _deployment(self, deployment: Deployment) -> WorkloadSeen:
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
        canary = rollout.spec.strategy.plan
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

    def routes(
        self, owner: Key, uid: str, references: tuple[Reference, ...]
    ) -> tuple[RouteSeen, ...]:
        """How gateway objects stand for the Rollout, or other owner, of that name and UID."""
        for reference in references:
            if not self._kinds.known((reference.api_version, reference.kind)):
                raise Postponed(WAIT_FOR_KIND, f"{reference.kind} is being looked up")
        made = self._made(owner.namespace, uid, references)
        return tuple(
            RouteSeen(
                reference,
                self._route(owner, reference, made.get(place_of(reference), ())),
                granted(reference, references, self._headers),
            )
            for reference in references
        )

    def _made(
        self, namespace: str, uid: str, references: tuple[Reference, ...]
    ) -> dict[str, tuple[RawObject, ...]]:
        """What was made beside each object; what belongs to none of them counts to the first of its kind."""
        found: dict[str, tuple[RawObject, ...]] = {}
        places = [place_of(reference) for reference in references]
        kinds = {kind_of(reference): reference for reference in reversed(references)}
        for first in kinds.values():
            kind = (first.api_version, first.kind)
            for item in self._kinds.made_for(kind, namespace, uid):
                said = beside(item.metadata)
                place = said if said in places else place_of(first)
                found[place] = (*found.get(place, ()), item)
        return found

    def _route(self, rollout: Key, reference: Reference, made: tuple[RawObject, ...]) -> RouteState:
        kind = (reference.api_version, reference.kind)
        resource = self._kinds.resource(kind)
        cluster_scoped = resource is not None and not resource.namespaced
        if cluster_scoped and not self._allow_cluster_scoped:
            refused = cluster_scoped_kind(reference, name_of(reference, rollout.namespace))
            return RouteUnreadable(refused.reason, refused.message)
        namespace = "" if cluster_scoped else rollout.namespace
        found = self._kinds.find(kind, Key(namespace, reference.name))
        match found:
            case None:
                raws = tuple(bytes(item.raw) for item in made)
                return see_route(reference, None, rollout=rollout.name, made=raws)
            case Problem(reason=reason, message=message):
                said = unreadable(message, name_of(reference, rollout.namespace))
                return RouteUnreadable(reason, said)
            case _:
                return self._routes.see(rollout, reference, found, made)


def _references(rollout: Rollout) -> tuple[Reference, ...]:
    canary = rollout.spec.strategy.plan
    if canary is None:
        return ()
    return references_of(canary.traffic_routings, canary.disable_generate_canary_service)


def _revision_number(replica_set: ReplicaSet) -> tuple[int, str]:
    text = replica_set.metadata.annotations.get(REVISION, "")
    return (int(text) if text.isdecimal() else 0, replica_set.metadata.name)
