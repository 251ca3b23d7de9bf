"""The observation of a pass: everything a decision may depend on, gathered from the caches.

Invariant: an unknown fact is never passed as a missing one; the reconciler postpones instead. Values only.
"""

from datetime import datetime

import msgspec

from controller.api.autoscaling import Autoscaler
from controller.api.meta import Key
from controller.api.networking import EndpointSlice, Service
from controller.api.podsets import KeptFacts, PodSet
from controller.api.rollout import Rollout
from controller.api.trafficrouting import TrafficRouting
from controller.api.workload_kinds import KindName, WorkloadKind
from controller.api.workloads import Deployment, Pod, ReplicaSet
from controller.domain.availability import Unavailable
from controller.domain.checks.answering import CheckAnswer
from controller.domain.config.seen import ConfigState
from controller.domain.decision import Reference, Value
from controller.domain.decision.taken import Asked
from controller.domain.gates.golden import GoldenQueries
from controller.domain.gates.nesting import Templates
from controller.domain.gates.watching import Answer


class RouteAbsent(Value, frozen=True, tag=True):
    """The gateway object does not exist; `left` says that one of its companion objects still does."""

    left: bool = False


class RouteUnreadable(Value, frozen=True, tag=True):
    """The gateway object cannot be read; `why` is set if its whole kind cannot be read."""

    reason: str
    message: str
    why: Unavailable | None = None


class RoutePresent(Value, frozen=True, tag=True):
    """The gateway object exists.

    `plan` and `release` are those of our annotation on it (empty: not in use by us). `touched` is true when somebody
    changed a part that our plan changed; `edited` is true when another part was changed, which the next write adds to
    the stored original. `editor` is the field manager of the last write, where the object says so, and `edited_at` the
    time of a write to our part. `changes` are the changed places in words, `places` their paths. `held`: the owner
    wants such changes left alone. `corrected` are the places of the last put-back, at `corrected_at`, and
    `corrected_before` is the time of the one before. `announced`: proxies learn of Services from objects of this kind.
    `depth`: 0 if nothing refers to the object, else its distance from such an object. `named` stands for what our
    writes made others able to name: other content of a deeper object, companion objects; empty if there is nothing.
    `raw` is the object as read, for rules that need its content. `reported` is the object's version if somebody reports
    on the object in its status, or did before our first write; empty otherwise.
    """

    raw: msgspec.Raw
    plan: str = ""
    release: str = ""
    touched: bool = False
    in_use: bool = False
    edited: bool = False
    editor: str = ""
    edited_at: datetime | None = None
    held: bool = False
    changes: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    corrected: tuple[str, ...] = ()
    corrected_at: datetime | None = None
    corrected_before: datetime | None = None
    announced: bool = False
    depth: int = 0
    named: str = ""
    reported: str = ""


RouteState = RouteAbsent | RouteUnreadable | RoutePresent


class RouteSeen(Value, frozen=True):
    """A reference and the state of its object.

    `can` are the abilities of the reference's script (`--@can`); None if it promises everything, or is not known.
    `announces`: proxies learn of Services from objects of this kind (`--@announce`). `taken`: what the gateway says
    about the object in this version; None if nobody reports on it, or its script cannot read that.
    """

    reference: Reference
    state: RouteState
    can: frozenset[str] | None = None
    announces: bool = False
    taken: Asked | None = None


class WorkloadUnreadable(Value, frozen=True):
    """Whether the workload exists is not known, or it cannot be released; `why`: its kind cannot be read."""

    reason: str
    message: str
    why: Unavailable | None = None


class RevisionSeen(Value, frozen=True):
    """A ControllerRevision: the label of its pods, and the identity of its template."""

    name: str
    template_hash: str
    object: str = ""
    """Name of the object itself."""


class KeptSeen(Value, frozen=True):
    """A ControllerRevision of ours, owned by the Rollout: its facts, and the hash of the template in it."""

    name: str
    uid: str
    number: int
    template_hash: str
    facts: KeptFacts

    @property
    def has_template(self) -> bool:
        """It keeps the stable template, and no other one."""
        return bool(self.facts.stable_template) and self.template_hash == self.facts.stable_template


class WorkloadSeen(Value, frozen=True):
    """A workload with all that belongs to it.

    `template_hash` and `template_labels` are of its present template; `template_name` is the original's name
    for the template of a Deployment, empty if it has none. A Deployment comes with its ReplicaSets of any
    size, each with the hash of its template; a set of pods with its ControllerRevisions. Both oldest first by number.
    `pods` are those that its controller counts; `ended_pods` stay as objects only, of any revision.
    """

    object: Deployment | PodSet
    kind: WorkloadKind
    template_hash: str
    template_name: str = ""
    template_labels: dict[str, str] = {}
    replica_sets: tuple[tuple[ReplicaSet, str], ...] = ()
    revisions: tuple[RevisionSeen, ...] = ()
    pods: tuple[Pod, ...] = ()
    ended_pods: tuple[Pod, ...] = ()

    @property
    def deployment(self) -> Deployment:
        """The Deployment; callers know that it is one."""
        assert isinstance(self.object, Deployment)
        return self.object

    @property
    def pod_set(self) -> PodSet:
        """The set of pods; callers know that it is one."""
        assert isinstance(self.object, PodSet)
        return self.object


class Unclaimed(Value, frozen=True):
    """An object with the UID of a former Rollout, in a label or (`labelled` is false) in an annotation."""

    kind: KindName
    object: Key
    resource_version: str
    labelled: bool = True


class Observation(Value, frozen=True):
    """One Rollout and its world."""

    rollout: Rollout
    plan_hash: str
    workload: WorkloadSeen | None = None
    """None while it does not exist."""
    workload_problem: WorkloadUnreadable | None = None
    """Why it is not known whether the workload exists: nothing may be concluded from its absence."""
    kept: tuple[KeptSeen, ...] = ()
    """The ControllerRevisions of ours that the release keeps; the newest last."""
    autoscalers: tuple[Autoscaler, ...] | Unavailable = ()
    """The autoscalers of the workload, or why they are not known; read in blue-green style only."""
    canaries: tuple[WorkloadSeen, ...] = ()
    """Extra Deployments that carry this Rollout's UID."""
    unclaimed: tuple[Unclaimed, ...] = ()
    """Extra Deployments, canary Services and companion objects of a former Rollout in the place of this one."""
    former_pins: tuple[Service, ...] = ()
    """Services that a former Rollout pinned or made, and that no Rollout names."""
    originals_canaries: tuple[WorkloadSeen, ...] = ()
    """Extra Deployments that the original controller made; looked for while its release is under way."""
    detached_autoscalers: tuple[Autoscaler, ...] = ()
    """Autoscalers whose target the original renamed under blue-green; read in blue-green style only."""
    services: dict[str, Service] = {}
    """By name: the stable and canary Services that exist."""
    slices: tuple[EndpointSlice, ...] = ()
    """EndpointSlices of these Services."""
    traffic_routing: TrafficRouting | None = None
    """The TrafficRouting that the Rollout names."""
    config: ConfigState | None = None
    """The ConfigMaps and Secrets that the workload's pods read; None if the Rollout does not track them."""
    appends_pod_labels: bool = False
    """The canary Service selects by all labels that the new pods get besides their template's (`AppendPodSelector`)."""
    histories_kept: int = 0
    """How many records of releases are kept of a Rollout; 0 keeps none."""
    routes: tuple[RouteSeen, ...] = ()
    measured: tuple[Answer, ...] = ()
    """Answers to measurements of this Rollout's gates that were asked for."""
    templates: Templates = {}
    """Templates that its gates name: the template, why it cannot be read, or None if it does not exist."""
    golden: GoldenQueries = {}
    """The packaged queries."""
    checked: tuple[CheckAnswer, ...] = ()
    """Answers of this Rollout's checks that were asked for."""
