"""The Rollout as it is stored (v1beta1), in the part Moonshift reads and the status it writes.

Invariant: decoding accepts everything the CRD accepts; `Status` is complete, so that encoding it yields every field
that clients of the original expect, zeros and empty strings included (spec of the original's status contract).
"""

from datetime import datetime
from enum import StrEnum

import msgspec

from controller.api.analysis import Analysis, AnalysisRun, MetricRecord
from controller.api.analysis import ScriptRef as ScriptRef
from controller.api.meta import Condition, ObjectMeta
from controller.api.quantity import IntOrPercent
from controller.api.workloads import safe_hash


class Phase(StrEnum):
    """`status.phase`."""

    INITIAL = "Initial"
    HEALTHY = "Healthy"
    PROGRESSING = "Progressing"
    TERMINATING = "Terminating"
    DISABLING = "Disabling"
    DISABLED = "Disabled"


BUSY_PHASES = (Phase.PROGRESSING, Phase.TERMINATING, Phase.DISABLING)
"""Phases in which pods or routes are being moved. (The original forgets Disabling.)"""


class StepState(StrEnum):
    """`currentStepState`, in the order a step walks through them."""

    BEFORE_STEP_UPGRADE = "BeforeStepUpgrade"
    STEP_UPGRADE = "StepUpgrade"
    STEP_TRAFFIC_ROUTING = "StepTrafficRouting"
    STEP_METRICS_ANALYSIS = "StepMetricsAnalysis"
    STEP_PAUSED = "StepPaused"
    STEP_READY = "StepReady"
    COMPLETED = "Completed"


class FinalisingStep(StrEnum):
    """`finalisingStep`: the part of the end that is under way; empty before and after the end."""

    NONE = ""
    ROUTE_TO_STABLE = "FinalisingStepRouteTrafficToStable"
    ROUTE_TO_NEW = "FinalisingStepRouteTrafficToNew"
    RESTORE_STABLE_SERVICE = "RestoreStableService"
    REMOVE_CANARY_SERVICE = "RemoveCanaryService"
    RESUME_WORKLOAD = "ResumeWorkload"
    RELEASE_WORKLOAD_CONTROL = "ReleaseWorkloadControl"
    END = "END"


# --- spec ---------------------------------------------------------------------------------------


class WorkloadRef(msgspec.Struct, frozen=True, rename="camel"):
    """The one workload a Rollout governs, in its own namespace."""

    api_version: str = ""
    kind: str = ""
    name: str = ""

    @property
    def group(self) -> str:
        """API group: empty for the core group."""
        group, slash, _ = self.api_version.partition("/")
        return group if slash else ""


class Pause(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """How a step ends: without a duration a person approves; 0 seconds goes on at once."""

    duration: int | None = None


class NameValue(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A header to set or to add."""

    name: str = ""
    value: str = ""


class HeaderModifier(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Changes of request headers on the way to the new revision."""

    set: tuple[NameValue, ...] = ()
    add: tuple[NameValue, ...] = ()
    remove: tuple[str, ...] = ()


class ValueMatch(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A header or query parameter that a request must have; `type` defaults to Exact."""

    type: str = ""
    name: str = ""
    value: str = ""


class PathMatch(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A path that a request must have; `type` defaults to PathPrefix, `value` to `/`."""

    type: str = ""
    value: str = ""


class HttpRouteMatch(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One alternative of `matches`: a request must meet every condition in it."""

    path: PathMatch | None = None
    headers: tuple[ValueMatch, ...] = ()
    query_params: tuple[ValueMatch, ...] = ()
    method: str = ""


class Step(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One step: a number of new pods (cumulative), then its traffic, then a pause."""

    replicas: IntOrPercent | None = None
    traffic: str | None = None
    matches: tuple[HttpRouteMatch, ...] = ()
    request_header_modifier: HeaderModifier | None = None
    pause: Pause = Pause()
    analysis: Analysis | None = None

    @property
    def routes_traffic(self) -> bool:
        """The step says something about traffic."""
        return self.traffic is not None or bool(self.matches)

    @property
    def identity(self) -> str:
        """Hash of the step without its pause and its gate, which may be edited at any time."""
        work = msgspec.structs.replace(self, pause=Pause(), analysis=None)
        return safe_hash(msgspec.json.encode(work))


class IngressRef(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An Ingress whose class script writes a sibling."""

    name: str = ""
    class_type: str = ""
    script: str = ""
    params: dict[str, msgspec.Raw] = {}


class GatewayRef(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A Gateway API HTTPRoute."""

    http_route_name: str | None = None
    script: str = ""
    params: dict[str, msgspec.Raw] = {}


class NetworkRef(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A gateway object of the namespace, or a cluster-scoped one; `script` is empty, `packaged` or `configMap`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    script: str = ""
    script_ref: ScriptRef | None = None
    params: dict[str, msgspec.Raw] = {}


class TrafficRoutingRef(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A stable Service and the gateway objects that lead to it."""

    service: str = ""
    grace_period_seconds: int = 3
    ingress: IngressRef | None = None
    gateway: GatewayRef | None = None
    custom_network_refs: tuple[NetworkRef, ...] = ()


class PatchMetadata(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Labels and annotations that pods of the extra Deployment get on top of the template's."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class CanaryStrategy(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Canary style (an extra Deployment) and partition style (the workload itself, batch by batch)."""

    steps: tuple[Step, ...] = ()
    traffic_routings: tuple[TrafficRoutingRef, ...] = ()
    failure_threshold: IntOrPercent | None = None
    progress_deadline_seconds: int | None = None
    """How long the work of one step may take before the release counts as stuck; waiting for people is no work."""
    on_deadline_exceeded: str = ""
    """`Rollback` takes the template of a stuck step back; else the release is Stalled and goes on trying."""
    patch_pod_template_metadata: PatchMetadata | None = None
    enable_extra_workload_for_canary: bool = False
    traffic_routing_ref: str = ""
    disable_generate_canary_service: bool = False
    analysis: Analysis | None = None
    """Metrics that are watched in the background, from `startingStep` to the end of the last step."""


class BlueGreenStrategy(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """All new pods beside all old ones, then the switch."""

    steps: tuple[Step, ...] = ()
    traffic_routings: tuple[TrafficRoutingRef, ...] = ()
    failure_threshold: IntOrPercent | None = None
    progress_deadline_seconds: int | None = None
    """How long the work of one step may take before the release counts as stuck; waiting for people is no work."""
    on_deadline_exceeded: str = ""
    """`Rollback` takes the template of a stuck step back; else the release is Stalled and goes on trying."""
    traffic_routing_ref: str = ""
    disable_generate_canary_service: bool = False
    analysis: Analysis | None = None
    """Metrics that are watched in the background, from `startingStep` to the end of the last step."""


class Strategy(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Exactly one of `canary` and `blueGreen`; admission sees to it."""

    paused: bool = False
    canary: CanaryStrategy | None = None
    blue_green: BlueGreenStrategy | None = None

    @property
    def plan(self) -> CanaryStrategy | None:
        """The style that is given; canary has every field of blue-green, and each field that is given counts."""
        given = self.blue_green
        if given is None or self.canary is not None:
            return self.canary
        return CanaryStrategy(**{name: getattr(given, name) for name in given.__struct_fields__})


class RolloutSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The spec: the release that the owner wants."""

    workload_ref: WorkloadRef = WorkloadRef()
    disabled: bool = False
    strategy: Strategy = Strategy()


# --- status -------------------------------------------------------------------------------------


class CanaryStatus(msgspec.Struct, frozen=True, rename="camel", omit_defaults=False):
    """The running (or last) release as clients of the original read it."""

    observed_workload_generation: int = 0
    observed_rollout_id: str = msgspec.field(default="", name="observedRolloutID")
    rollout_hash: str = ""
    stable_revision: str = ""
    canary_revision: str = ""
    pod_template_hash: str = ""
    canary_replicas: int = 0
    canary_ready_replicas: int = 0
    current_step_index: int = 0
    next_step_index: int = 0
    current_step_state: str = ""
    finalising_step: str = ""
    last_update_time: datetime | None = None
    message: str = ""


class BlueGreenStatus(CanaryStatus, frozen=True, rename="camel", omit_defaults=False):
    """The running (or last) blue-green release, under the names that its clients know."""

    canary_revision: str = msgspec.field(default="", name="updatedRevision")
    canary_replicas: int = msgspec.field(default=0, name="updatedReplicas")
    canary_ready_replicas: int = msgspec.field(default=0, name="updatedReadyReplicas")


APPROVALS_KEPT = 50
"""Entries that the record of approvals keeps; the oldest go first."""


class Approval(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One approval: the step and the user, as admission of the status patch saw them."""

    step: int = 0
    by: str = ""
    """Empty if no admission saw it."""
    at: datetime | None = None
    to: int = 0
    """The step that was jumped to; 0 if the step was approved."""
    message: str = ""
    """Why, in the person's own words."""


class StepVisit(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One stay of a release at a step; jumps and edited plans may bring it there again."""

    step: int = 0
    started_at: datetime | None = None
    ready_at: datetime | None = None
    """The time at which its pods and routes were in place: from then on the step waited for people or a timer."""
    ended_at: datetime | None = None
    analysis: str = ""
    """The verdict of the step's gate, with its words; empty if it has none."""
    metrics: tuple[MetricRecord, ...] = ()
    """The metrics of that gate, each with its last measurements."""


class OwnersValues(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The workload owner's own values that the hold replaces; restored at the end.

    `strategy` is the raw `spec.strategy`; a None means that the field was absent.
    """

    strategy: msgspec.Raw | None = None
    min_ready_seconds: int = 0
    progress_deadline_seconds: int | None = None
    paused: bool = False


class ConfigPair(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A revision and the content of the ConfigMaps and Secrets it was first seen with."""

    template: str = ""
    """Hash of the template."""
    stamp: str = ""
    """The template's annotation config-hash; empty if it has none."""
    contents: dict[str, str] = {}
    """Digest by `Kind/name`; empty if there is no such object."""


class TrackedConfig(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Hashes of the configuration of each revision; never its content."""

    stable: ConfigPair | None = None
    update: ConfigPair | None = None
    """The hash of the revision that is released, or that a rollback leaves."""
    unrestored: str = ""
    """Why the content was not restored when the stable revision came back."""


class EmptySide(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One side of the traffic, the old or the new revision behind one Service, that has no ready endpoint."""

    since: datetime | None = None
    """The time at which that was first seen, while the other side had a ready endpoint."""
    led_away: str = ""
    """The way in which its share was given to the other side: `service` (un-pinned) or `routes`; empty: not yet."""
    ready_again: datetime | None = None
    """When it was first seen to have one again."""


class NamedContent(msgspec.Struct, frozen=True, rename="camel"):
    """The content of gateway objects that other gateway objects may name, as a digest, and when it was first seen."""

    content: str = ""
    """A digest of it."""
    since: datetime | None = None
    """When it was first seen; it is named a grace period later."""


class MoonshiftStatus(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Moonshift's own position and timers: everything that a new leader needs to continue.

    `step` and `state` are the truth; `currentStepState` mirrors them and is a mailbox for approvals.
    Timestamps are instants at which a fact was first seen; a missing one counts as now, so that waits can only
    become longer.
    """

    release: str = ""
    """Identity of the release, given at admission."""
    revision: str = ""
    """Hash of the template that the release is about; a rollback does not change it."""
    step: int = 0
    state: str = ""
    state_since: datetime | None = None
    step_plan: str = ""
    """The `Step.identity` of the present step, as it was planned when the step began."""
    step_replicas: IntOrPercent | None = None
    """The number of pods that the step asked for then: an edited plan is searched for this number."""
    jump: int = 0
    """The step to go to (`moonshift jump`), put there by the CLI and consumed by the controller."""
    template: str = ""
    """Hash of the template that the status is about; `canaryRevision` is its name in the workload's kind."""
    goal: str = ""
    """Why the release ends: Success, Rollback, RolloutDisabled, RolloutDeleting, Continuous; empty while it runs."""
    goal_since: datetime | None = None
    """Since when it ends for that reason."""
    held_up_since: datetime | None = None
    """The time since which only people can help, in a state in which a deadline counts."""
    worked_since: datetime | None = None
    """The time from which a deadline counts, if people delayed the work after it began."""
    workload_uid: str = ""
    template_of: str = ""
    """UID of the workload that has `template`, if there was no release of it yet."""
    stable_template: str = ""
    """Hash of the template that ran before."""
    kept_template: str = ""
    """Older versions kept that template (JSON) here. Never used, because more people may write a status than a
    workload; emptied by the first pass."""
    failed_template: str = ""
    """Hash of the template that was given up: it is held when it is applied again, until `moonshift retry`."""
    stable_revision: str = ""
    """pod-template-hash of the stable ReplicaSet, which the stable Service is pinned to."""
    older_revisions: tuple[str, ...] = ()
    """Revisions of a set of pods that ran beside the stable one when the release began, as its owner wants."""
    returning: bool = False
    """The release goes back to the stable revision in batches."""
    by_id: bool = False
    """The release changes no template: the owner gave a set of pods another `rollouts.kruise.io/rollout-id`."""
    autoscalers_held_at: tuple[datetime, ...] = ()
    """When the workload's autoscalers were last paused, at most twice: another writer may resume them each time."""
    endpoints_ready_since: dict[str, datetime] = {}
    """Per Service that a route names: when its ready endpoints were first seen."""
    empty_sides: dict[str, EmptySide] = {}
    """By `stable/<Service>` and `new/<Service>`: sides without a ready endpoint while the other side has some."""
    services_empty_before: tuple[str, ...] = ()
    """Stable Services that had no ready endpoint when the release began: they hold no end of it."""
    route_plan: str = ""
    """Identity of the plan the gateway objects were last seen to follow, or the depth down to which they are restored;
    empty: the originals.
    """
    routed_at: datetime | None = None
    """When the gateway objects were first seen to follow `routePlan`."""
    named_content: NamedContent | None = None
    """Objects name what it stands for (a subset) a grace period after it was seen; None: there is nothing to name."""
    announced_at: datetime | None = None
    """When the new revision's Services were first named to the gateways, with nothing sent there."""
    withdrawn_at: datetime | None = None
    """When, at the end, the last share was taken from them."""
    approved_at: datetime | None = None
    """When an approval was last honoured."""
    pause_not_before: datetime | None = None
    """When the next StepPaused may be entered: the approval before it did not name its step, and may be repeated."""
    approval: Approval | None = None
    """An exact approval (`moonshift approve --step`), put there by the CLI and consumed by the controller."""
    approvals: tuple[Approval, ...] = ()
    visits: tuple[StepVisit, ...] = ()
    """The steps of this release in the order in which it reached them."""
    analyses: tuple[AnalysisRun, ...] = ()
    """The gate of the present step, and the background gate (step 0)."""
    started_at: datetime | None = None
    stable_words: str = ""
    """The stable version, by its images and by the object that kept its template when the release began (which may be
    deleted).
    """
    owners_record: str = ""
    """Older versions kept the workload's annotation with its owner's own values here; as `kept_template`."""
    went_on: bool = False
    """The workload lost its hold and went on to the new version by itself; it is held again, as it is."""
    template_exchange: str = ""
    """`stable`: a DaemonSet has its stable template for a short time, so that stable pods replace new pods that no step
    asked for; `returned`: its release's own template is being restored; empty at all other times."""
    config: TrackedConfig | None = None
    """ConfigMaps and Secrets that are released with the pods; None if they are not tracked."""


class RolloutStatus(msgspec.Struct, frozen=True, rename="camel", omit_defaults=False):
    """The whole status. Absent sub-statuses are left out; everything else is always written."""

    observed_generation: int = 0
    phase: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] = ()
    canary_status: CanaryStatus | msgspec.UnsetType = msgspec.UNSET
    blue_green_status: BlueGreenStatus | msgspec.UnsetType = msgspec.UNSET
    current_step_index: int = 0
    current_step_state: str = ""
    moonshift: MoonshiftStatus | msgspec.UnsetType = msgspec.UNSET

    @property
    def of_release(self) -> CanaryStatus | None:
        """The sub-status of the style that the last release had."""
        if isinstance(self.blue_green_status, BlueGreenStatus):
            return self.blue_green_status
        return self.canary_status if isinstance(self.canary_status, CanaryStatus) else None

    def with_release(self, inner: CanaryStatus | None) -> "RolloutStatus":
        """The status with this sub-status, and none of the other style."""
        blue_green = inner if isinstance(inner, BlueGreenStatus) else msgspec.UNSET
        canary = msgspec.UNSET if inner is None or inner is blue_green else inner
        return msgspec.structs.replace(self, canary_status=canary, blue_green_status=blue_green)


class Rollout(msgspec.Struct, frozen=True, rename="camel"):
    """A Rollout as the store holds it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: RolloutSpec = RolloutSpec()
    status: RolloutStatus = RolloutStatus()
    unreadable: tuple[str, ...] = ()
    """Parts of the stored status that could not be read, and are not in `status`; no field of the object."""
