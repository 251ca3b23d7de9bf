"""What a pass decided: the next status, the facts to bring about, when to look again, what to say.

Invariant: every action is a *desired fact*, safe to repeat; `Done` from an effect only lets the next action start,
that a thing *is so* is judged by the next observation. Values only: nothing here decides or does anything.
"""

from datetime import datetime
from enum import StrEnum

import msgspec

from controller.api.config import ConfigKind
from controller.api.history import RolloutHistory
from controller.api.meta import Key, OwnerReference
from controller.api.names import HOLD_MIN_READY_SECONDS, HOLD_PROGRESS_DEADLINE_SECONDS
from controller.api.quantity import IntOrPercent
from controller.api.rollout import (
    HeaderModifier,
    HttpRouteMatch,
    OwnersValues,
    PatchMetadata,
    RolloutStatus,
)
from controller.api.workload_kinds import DEPLOYMENT, KindName
from controller.api.workloads import ReplicaSet
from controller.errors import Right


class Value(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base of all decision values: immutable, comparable, printable."""


# --- traffic ------------------------------------------------------------------------------------


class Reference(Value, frozen=True):
    """One gateway object a Rollout leads traffic with, and the Services it tells apart.

    `class_type` is set for an Ingress (sibling style) only. `script` is `""` (default look-up), `packaged` or
    `configMap`. `params` is JSON of the reference's own parameters.
    """

    api_version: str
    kind: str
    name: str
    stable_service: str
    canary_service: str
    class_type: str = ""
    script: str = ""
    params: msgspec.Raw = msgspec.Raw(b"{}")

    @property
    def group(self) -> str:
        """API group: empty for the core group."""
        group, slash, _ = self.api_version.partition("/")
        return group if slash else ""

    @property
    def shared(self) -> bool:
        """Old and new share one Service on purpose; a subset of the gateway object tells them apart."""
        return self.stable_service == self.canary_service

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class RoutePlan(Value, frozen=True):
    """What all gateway objects of a Rollout have to say during one step.

    `weight` is the share of the new revision in percent, None when the step names matches only. `identity` is given
    by the planner: equal identities mean that nothing has to be written. `left_out` are the references that cannot say
    the plan's matches: they send everything to the stable revision.
    """

    identity: str
    namespace: str
    rollout: str
    release: str
    references: tuple[Reference, ...]
    weight: float | None = None
    matches: tuple[HttpRouteMatch, ...] = ()
    header_modifier: HeaderModifier | None = None
    pod_metadata: PatchMetadata = PatchMetadata()
    rollout_uid: str = ""
    left_out: tuple[Reference, ...] = ()
    announces: bool = False
    """Nothing goes to the new revision yet, or any more; proxies only get to know its Services."""


# --- actions ------------------------------------------------------------------------------------


class PrepareRollout(Value, frozen=True, tag=True):
    """The Rollout carries our finalizer and the hash of its plan."""

    plan_hash: str


class RemoveFinalizer(Value, frozen=True, tag=True):
    """The Rollout no longer carries our finalizer."""


class LabelWorkload(Value, frozen=True, tag=True):
    """The workload carries the workload-type label, or (with an empty type) no longer does."""

    workload: Key
    workload_type: str
    kind: KindName = DEPLOYMENT


class PinService(Value, frozen=True, tag=True):
    """The Service selects one revision only."""

    service: Key
    resource_version: str
    label: str
    revision: str


class UnpinService(Value, frozen=True, tag=True):
    """The Service selects what its owner wrote."""

    service: Key
    resource_version: str
    label: str


class EnsureCanaryService(Value, frozen=True, tag=True):
    """A copy of the stable Service selects the new revision."""

    stable: Key
    name: str
    label: str
    revision: str
    rollout_uid: str
    selector_patch: dict[str, str] = {}


class DeleteCanaryService(Value, frozen=True, tag=True):
    """The canary Service made for this Rollout is gone."""

    service: Key
    uid: str


class EnsureCanaryDeployment(Value, frozen=True, tag=True):
    """An extra Deployment of the new template exists; `body` is what it is made of."""

    deployment: Key
    body: msgspec.Raw


class ScaleCanaryDeployment(Value, frozen=True, tag=True):
    """The extra Deployment has so many replicas."""

    deployment: Key
    uid: str
    replicas: int


class DeleteCanaryDeployment(Value, frozen=True, tag=True):
    """An extra Deployment made for this Rollout is gone."""

    deployment: Key
    uid: str


class PaceDeployment(Value, frozen=True, tag=True):
    """The workload rolls between these knobs; `latch` is the token to take off, empty when there is none.

    Held, unless the owner's own readiness is given: the hold is never on the revision that runs.

    `generation` is of the spec that was looked at: a late writer changes nothing.
    """

    workload: Key
    generation: int
    max_surge: IntOrPercent
    max_unavailable: IntOrPercent
    latch: str = ""
    min_ready_seconds: int = HOLD_MIN_READY_SECONDS
    progress_deadline_seconds: int = HOLD_PROGRESS_DEADLINE_SECONDS


class ReleaseDeployment(Value, frozen=True, tag=True):
    """The workload has its owner's own values again, and none of the named annotations and labels of ours."""

    workload: Key
    generation: int
    owners: OwnersValues | None
    annotations: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


class FieldOfSpec(Value, frozen=True):
    """A field of a spec and what it should say (raw JSON); None takes out one that is there."""

    name: str
    value: msgspec.Raw | None


class MoveSet(Value, frozen=True, tag=True):
    """A set of pods has this update strategy (raw JSON); `latch` is the token to take off, empty when there is none.

    `fields` of the spec change in the same write. `generation` is of the spec that was looked at: a late writer changes
    nothing.
    """

    kind: KindName
    workload: Key
    generation: int
    strategy: msgspec.Raw
    latch: str = ""
    fields: tuple[FieldOfSpec, ...] = ()


class ReleaseSet(Value, frozen=True, tag=True):
    """A set of pods has its owner's own values again, and none of the named annotations and labels of ours."""

    kind: KindName
    workload: Key
    generation: int
    owners: OwnersValues | None
    annotations: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    fields: tuple[FieldOfSpec, ...] = ()


class HoldAutoscaler(Value, frozen=True, tag=True):
    """An autoscaler sizes nothing, and its owner's `behavior` (JSON) is kept on it."""

    autoscaler: Key
    resource_version: str
    original: str


class FreeAutoscaler(Value, frozen=True, tag=True):
    """An autoscaler has its owner's `behavior` again; None: it has none."""

    autoscaler: Key
    resource_version: str
    behavior: msgspec.Raw | None


class DeletePod(Value, frozen=True, tag=True):
    """A pod is gone, so that its set's controller makes another."""

    pod: Key
    uid: str


class ScaleReplicaSet(Value, frozen=True, tag=True):
    """A ReplicaSet wants so many pods: an abandoned one none."""

    replica_set: Key
    uid: str
    replicas: int


class DeleteReplicaSet(Value, frozen=True, tag=True):
    """A ReplicaSet is gone, with its pods if it has any: else a workload scaled from zero would begin with it."""

    replica_set: Key
    uid: str


class HoldWorkload(Value, frozen=True, tag=True):
    """The workload is labelled, marked, held and latched for its release, as admission would have done it.

    `record` is what was kept of its owner's own values (JSON); what the workload itself still records comes first. The
    limits of a Deployment are the step's, where they are given.
    """

    kind: KindName
    workload: Key
    generation: int
    rollout: str
    release: str
    record: str = ""
    stable_revision: str = ""
    beside: bool = False
    max_surge: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None


class SetCurrentRevision(Value, frozen=True, tag=True):
    """The status of a set of pods names this revision as its current one: what lost pods come back as."""

    kind: KindName
    workload: Key
    uid: str
    revision: str


class HoldReplicaSet(Value, frozen=True, tag=True):
    """No pod of a ReplicaSet counts as available."""

    replica_set: Key
    uid: str


class LabelPod(Value, frozen=True, tag=True):
    """A pod says which release and batch made it."""

    pod: Key
    uid: str
    rollout_id: str
    batch: int


class MarkPod(Value, frozen=True, tag=True):
    """A pod says that it never left the revision which a release goes back to; an empty id takes that away."""

    pod: Key
    uid: str
    rollout_id: str


class EnsureRoutes(Value, frozen=True, tag=True):
    """All gateway objects follow the plan, written in dependency order.

    `at` is noted on objects in which somebody's change of our part is put back.
    """

    plan: RoutePlan
    at: datetime | None = None


class RehearseRoutes(Value, frozen=True, tag=True):
    """Everything that `EnsureRoutes` of this plan finds out before its first write is fine; nothing is written."""

    plan: RoutePlan


class RestoreRoutes(Value, frozen=True, tag=True):
    """These gateway objects are what they were before the release, restored in reverse order.

    With `rollout` given, an object that another Rollout leads traffic with is left alone. What was made beside them
    for the Rollout of `rollout_uid` is gone.
    """

    namespace: str
    references: tuple[Reference, ...]
    release: str
    rollout: str = ""
    rollout_uid: str = ""


class RevertTemplate(Value, frozen=True, tag=True):
    """The workload has the template that a ReplicaSet, or a ControllerRevision, keeps; held as admission would."""

    kind: KindName
    workload: Key
    generation: int
    source: Key
    replica_sets: tuple[ReplicaSet, ...] = ()


class StampTemplate(Value, frozen=True, tag=True):
    """The pod template says which content it is released for (empty: nothing); held as admission would hold it."""

    kind: KindName
    workload: Key
    generation: int
    stamp: str
    replica_sets: tuple[ReplicaSet, ...] = ()


class KeepConfig(Value, frozen=True, tag=True):
    """A copy of a ConfigMap or Secret of this digest exists, beside it."""

    kind: ConfigKind
    source: Key
    digest: str
    copy: str
    rollout: OwnerReference


class RestoreConfig(Value, frozen=True, tag=True):
    """A ConfigMap or Secret has the content of this digest again, from our copy."""

    kind: ConfigKind
    target: Key
    resource_version: str
    digest: str
    copy: str


class DropConfig(Value, frozen=True, tag=True):
    """A copy that nobody would go back to is gone."""

    kind: ConfigKind
    copy: Key
    uid: str


ConfigAction = KeepConfig | RestoreConfig | DropConfig
"""Facts about ConfigMaps and Secrets: nothing else waits for them, least of all a way back."""


class AskWhyNotMade(Value, frozen=True, tag=True):
    """Why the pods of this set are not made is known, or nobody has said it; `counts` begins the sentence."""

    workload: Key
    uid: str
    counts: str


class SetFinalizers(Value, frozen=True, tag=True):
    """A TrafficRouting carries exactly these finalizers."""

    traffic_routing: Key
    resource_version: str
    finalizers: tuple[str, ...]


class RecordRelease(Value, frozen=True, tag=True):
    """A release that is over is written down, and no more than `keep` of its Rollout are kept."""

    history: RolloutHistory
    keep: int


Action = (
    PrepareRollout
    | RemoveFinalizer
    | LabelWorkload
    | PinService
    | UnpinService
    | EnsureCanaryService
    | DeleteCanaryService
    | EnsureCanaryDeployment
    | ScaleCanaryDeployment
    | DeleteCanaryDeployment
    | PaceDeployment
    | ReleaseDeployment
    | MoveSet
    | ReleaseSet
    | DeletePod
    | HoldAutoscaler
    | FreeAutoscaler
    | ScaleReplicaSet
    | DeleteReplicaSet
    | SetCurrentRevision
    | HoldReplicaSet
    | HoldWorkload
    | LabelPod
    | MarkPod
    | EnsureRoutes
    | RehearseRoutes
    | RestoreRoutes
    | RecordRelease
    | AskWhyNotMade
    | SetFinalizers
    | RevertTemplate
    | StampTemplate
    | ConfigAction
)


# --- what effects answer ------------------------------------------------------------------------


class Done(Value, frozen=True):
    """The write was accepted, or nothing had to be written; the next action may start."""

    wrote: bool = False


class NotYet(Value, frozen=True):
    """Something must be seen first; an event or `wake_after` seconds will bring us back."""

    reason: str
    wake_after: float | None = None


class Refusal(Value, frozen=True):
    """It cannot be done as things are: a person has to change something.

    `reason` is a CamelCase word for conditions and events; `object` names the object, `script` and `line` the place
    in a script. `retry_after` is when to try again without any change seen (None: only a change brings us back).
    `right` is what the API server refused: the Rollout is woken when that may be otherwise.
    """

    reason: str
    message: str
    object: str = ""
    script: str = ""
    line: int = 0
    retry_after: float | None = None
    right: Right | None = None


Outcome = Done | NotYet | Refusal


# --- the decision -------------------------------------------------------------------------------


class Severity(StrEnum):
    """Type of an Event."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Note(Value, frozen=True):
    """Something to say: becomes an Event, a log line and a metric."""

    reason: str
    message: str
    severity: Severity = Severity.NORMAL


class Decision(Value, frozen=True):
    """The outcome of one pass."""

    status: RolloutStatus
    actions: tuple[Action, ...] = ()
    wake_at: datetime | None = None
    notes: tuple[Note, ...] = ()
