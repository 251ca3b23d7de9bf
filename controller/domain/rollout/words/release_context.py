"""Everything that a decision about one Rollout needs, with a name for each fact.

Why: code that decides should read like sentences, so facts are computed here, once, from the observation. Invariant:
pure look-ups; nothing here decides. A fact that many ask for is kept with the context, which never changes.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec

from controller.api import names
from controller.api.duration import of_seconds
from controller.api.meta import Key, ObjectMeta
from controller.api.networking import Service
from controller.api.podsets import PodSet
from controller.api.quantity import IntOrPercent
from controller.api.rollout import (
    BlueGreenStatus,
    CanaryStatus,
    CanaryStrategy,
    MoonshiftStatus,
    OwnersValues,
    RolloutStatus,
    Step,
)
from controller.api.workload_kinds import KindName, WorkloadKind, is_selected, workload_kind
from controller.api.workloads import Deployment, Pod
from controller.domain.decision import Reference, Value
from controller.domain.observation import KeptSeen, Observation, WorkloadSeen
from controller.domain.pods.deployment import admission_paused
from controller.domain.pods.marks import OwnersRecord, hold_on, read_record
from controller.domain.pods.plan import batch_size
from controller.domain.pods.readiness import Readiness, readiness_of
from controller.domain.pods.recovered_values import values_left_behind
from controller.domain.pods.running import (
    Running,
    min_ready_seconds,
    present_revision,
    running_revisions,
    size_of,
)
from controller.domain.target import Target, target_of
from controller.domain.traffic.restoring.teardown_order import lowest_depth_in_use


class Style(StrEnum):
    """How pods are moved."""

    CANARY = "Canary"
    PARTITION = "Partition"
    BLUE_GREEN = "BlueGreen"


def canary_status(status: RolloutStatus) -> CanaryStatus:
    """The sub-status clients read, empty before the first release."""
    return status.of_release or CanaryStatus()


def moonshift_status(status: RolloutStatus) -> MoonshiftStatus:
    """Our own part of the status, empty before the first release."""
    return status.moonshift if isinstance(status.moonshift, MoonshiftStatus) else MoonshiftStatus()


def current_step(status: RolloutStatus) -> int:
    """Number of the present step, from 1 on; 0 before the first release, or if a client wrote a number below."""
    found = (
        moonshift_status(status).step
        or canary_status(status).current_step_index
        or status.current_step_index
    )
    return max(0, found)


def current_state(status: RolloutStatus) -> str:
    """The state within the present step; the original's, until its release is taken over."""
    ours = moonshift_status(status).state
    return ours or canary_status(status).current_step_state or status.current_step_state


def known_template(status: RolloutStatus) -> str:
    """Hash of the template that the status is about; older versions kept it in `canaryRevision`."""
    return moonshift_status(status).template or canary_status(status).canary_revision


class ReleaseContext(Value, frozen=True, dict=True):
    """One Rollout, its workload, pods and routes, at an instant."""

    seen: Observation
    now: datetime

    # --- the plan -------------------------------------------------------------------------------

    @cached_property
    def strategy(self) -> CanaryStrategy:
        """The canary strategy; empty when the Rollout has none."""
        return self.seen.rollout.spec.strategy.plan or CanaryStrategy()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the plan."""
        return self.strategy.steps

    @cached_property
    def style(self) -> Style:
        """Canary style only if the workload is a Deployment and the plan asks for an extra one."""
        if self.seen.rollout.spec.strategy.blue_green is not None:
            return Style.BLUE_GREEN
        extra = self.strategy.enable_extra_workload_for_canary
        return Style.CANARY if extra and self.kind is WorkloadKind.DEPLOYMENT else Style.PARTITION

    def sub_status(self, **fields: Any) -> CanaryStatus:
        """A new sub-status of the release, in the fields of its style."""
        if self.style is Style.BLUE_GREEN:
            return BlueGreenStatus(**fields)
        return CanaryStatus(**fields)

    def step(self, index: int) -> Step:
        """The 1-based step, kept inside the plan (a plan may have been shortened by hand)."""
        return self.steps[max(1, min(index, len(self.steps))) - 1]

    def batch(self, index: int) -> int:
        """New pods wanted at this step."""
        return batch_size(self.steps, index, self.replicas)

    def target(self, index: int) -> Target:
        """The target of a step, for the workload as it is now."""
        return target_of(
            self.strategy,
            index,
            self.replicas,
            replaces=self.style is Style.PARTITION,
            beside_old_pods=self.style is Style.CANARY or self.old_revision_runs,
        )

    @property
    def old_revision_runs(self) -> bool:
        """Another revision has pods (none has when a workload without pods was scaled up)."""
        return any(running.template_hash != self.template_hash for running in self.running)

    @property
    def grace(self) -> timedelta:
        """The longest grace period of all traffic routings."""
        routings = self.strategy.traffic_routings
        return of_seconds(max((r.grace_period_seconds for r in routings), default=0))

    # --- the workload ---------------------------------------------------------------------------

    @property
    def namespace(self) -> str:
        """Namespace of the Rollout and of all it touches."""
        return self.seen.rollout.metadata.namespace

    @cached_property
    def workload(self) -> WorkloadSeen:
        """The workload; callers know that it exists."""
        assert self.seen.workload is not None
        return self.seen.workload

    @cached_property
    def kind(self) -> WorkloadKind | None:
        """The kind of the workload; None when the kind is not supported."""
        if self.seen.workload is not None:
            return self.seen.workload.kind
        ref = self.seen.rollout.spec.workload_ref
        return workload_kind(ref.group, ref.kind)

    @property
    def kind_name(self) -> KindName:
        """The workload's kind, as the Rollout names it."""
        ref = self.seen.rollout.spec.workload_ref
        return KindName(ref.api_version, ref.kind)

    @property
    def meta(self) -> ObjectMeta:
        """The workload's metadata."""
        return self.workload.object.metadata

    @property
    def deployment(self) -> Deployment:
        """The workload; callers know that it is a Deployment."""
        return self.workload.deployment

    @property
    def pod_set(self) -> PodSet:
        """The workload; callers know that it is a set of pods."""
        return self.workload.pod_set

    @property
    def workload_key(self) -> Key:
        """Its namespace and name."""
        return self.meta.key

    @property
    def workload_name(self) -> str:
        """Kind, namespace and name, for messages."""
        return f"{self.kind_name.kind} {self.workload_key}"

    @property
    def replicas(self) -> int:
        """Size of the workload, 0 when it is gone."""
        return size_of(self.seen.workload) if self.seen.workload is not None else 0

    @property
    def observed(self) -> bool:
        """The workload's own controller has acted on its present spec."""
        return self.workload.object.observed

    @property
    def admission_paused(self) -> bool:
        """Admission has paused the workload for a release, and the controller has not made its first move."""
        if self.kind is WorkloadKind.DEPLOYMENT:
            return admission_paused(self.deployment)
        return hold_on(self.workload.object).has_admission_token

    @cached_property
    def owners(self) -> OwnersRecord | None:
        """The owner's own values as admission saved them."""
        return hold_on(self.workload.object).record

    @cached_property
    def left_behind(self) -> OwnersRecord | None:
        """The owner's own values of a workload with our freeze and without a record, as far as other sources have
        them.
        """
        return values_left_behind(self.workload, self.kept_owners)

    @cached_property
    def kept(self) -> KeptSeen | None:
        """The ControllerRevision that the release of this workload keeps."""
        last = self.seen.kept[-1] if self.seen.kept else None
        return last if last is not None and last.facts.workload_uid == self.meta.uid else None

    @property
    def kept_owners(self) -> str:
        """The owner's own values (JSON) as the release keeps them; empty if it keeps none."""
        return self.kept.facts.owners if self.kept is not None else ""

    @property
    def kept_identity(self) -> str:
        """Identity of the release, as the workload's own record or what the release keeps has it."""
        record = self.owners or read_record(self.kept_owners)
        return record.release if record is not None else self.template_hash

    @property
    def values_to_restore(self) -> OwnersRecord | None:
        """The owner's own values that the freeze replaced; None if the workload has no freeze of ours."""
        return self.owners or self.left_behind

    @cached_property
    def owners_values(self) -> OwnersValues:
        """The owner's own values; those of the workload itself when nothing was saved."""
        record = self.values_to_restore
        found = self.workload.object
        if isinstance(found, PodSet):
            return self._owners_values_of(found)
        if record is not None:
            return record.values
        return OwnersValues(
            strategy=msgspec.Raw(msgspec.json.encode(found.spec.strategy)),
            min_ready_seconds=found.spec.min_ready_seconds,
            progress_deadline_seconds=found.spec.progress_deadline_seconds,
        )

    def _owners_values_of(self, pod_set: PodSet) -> OwnersValues:
        """A set's minReadySeconds is always its owner's, except under the availability freeze of blue-green."""
        record = self.values_to_restore
        saved = record.values if record is not None else None
        seconds = min_ready_seconds(pod_set)
        if saved is not None and seconds == names.FREEZE_MIN_READY_SECONDS:
            return saved
        strategy = saved.strategy if saved is not None else pod_set.spec.update_strategy
        return OwnersValues(strategy=strategy, min_ready_seconds=seconds)

    @property
    def owners_scale_limit(self) -> IntOrPercent | None:
        """The owner's `scaleStrategy.maxUnavailable`: how many pods of a CloneSet may be missing while it grows."""
        found = self.owners.scale_limit if self.owners is not None else None
        return None if isinstance(found, msgspec.UnsetType) else found

    @property
    def labelled(self) -> bool:
        """The workload carries the label that admission selects by, with a value that its webhook selects."""
        return is_selected(self.kind, self.meta.labels)

    @property
    def identity(self) -> str:
        """Identity of the release that admission recorded."""
        record = self.owners
        return record.release if record is not None else self.template_hash

    @property
    def template_hash(self) -> str:
        """Hash of the workload's present template."""
        return self.workload.template_hash

    @property
    def template_name(self) -> str:
        """The name that clients of the original give a Deployment's present template; without one, our hash."""
        return self.workload.template_name or self.template_hash

    @property
    def rollout_id(self) -> str:
        """The id that pods are labelled with: the owner's own id, else the revision.

        The workload's label comes first, its annotation second (the original reads one in the controller and the other
        in admission), the `rolloutID` of a v1alpha1 manifest third.
        """
        meta = self.meta
        return (
            meta.labels.get(names.ROLLOUT_ID)
            or meta.annotations.get(names.ROLLOUT_ID)
            or self.seen.rollout.metadata.annotations.get(names.REQUESTED_ROLLOUT_ID)
            or self.template_name
        )

    @cached_property
    def running(self) -> tuple[Running, ...]:
        """The revisions of the workload that have pods, oldest first."""
        return running_revisions(self.workload)

    @cached_property
    def present_revision(self) -> str:
        """The workload's own revision of its present template, empty before there is one."""
        return present_revision(self.workload)

    @property
    def revision_label(self) -> str:
        """The label that pods carry their revision in, and that Services are pinned by."""
        kind = self.kind
        return kind.revision_label if kind is not None else names.POD_TEMPLATE_HASH

    def pods_of(self, revision: str) -> tuple[Pod, ...]:
        """The workload's own pods of a revision."""
        return tuple(pod for pod in self.workload.pods if revision and pod.revision == revision)

    def ready(self, pods: Iterable[Pod]) -> Readiness:
        """Readiness by the owner's own minReadySeconds."""
        return readiness_of(pods, self.owners_values.min_ready_seconds, self.now)

    # --- the new revision -----------------------------------------------------------------------

    @cached_property
    def canary(self) -> WorkloadSeen | None:
        """The extra Deployment made from the workload's present template."""
        return next(
            (
                extra
                for extra in self.seen.canaries
                if not extra.deployment.metadata.deleting
                and extra.deployment.metadata.annotations.get(names.TEMPLATE_HASH)
                == self.template_hash
            ),
            None,
        )

    @cached_property
    def new_revision(self) -> str:
        """pod-template-hash of the new pods, empty before their ReplicaSet exists."""
        if self.style is Style.CANARY:
            canary = self.canary
            if canary is None:
                return ""
            made = [rs for rs, hashed in canary.replica_sets if hashed == canary.template_hash]
            return made[-1].revision if made else ""
        return self.present_revision

    @cached_property
    def promoted_pods(self) -> tuple[Pod, ...]:
        """The workload's own pods of its present template."""
        return self.pods_of(self.present_revision)

    @cached_property
    def new_pods(self) -> tuple[Pod, ...]:
        """Pods of the new revision that a step has created."""
        revision = self.new_revision
        if self.style is Style.CANARY:
            pods = self.canary.pods if self.canary is not None else ()
            return tuple(pod for pod in pods if revision and pod.revision == revision)
        return self.promoted_pods

    # --- traffic --------------------------------------------------------------------------------

    @property
    def enough_for_all_traffic(self) -> int:
        """Two thirds of the wanted pods are enough for all traffic for a short time."""
        return -(-2 * self.replicas // 3)

    @property
    def references(self) -> tuple[Reference, ...]:
        """All gateway objects."""
        return tuple(route.reference for route in self.seen.routes)

    @property
    def stable_services(self) -> tuple[str, ...]:
        """Names of the stable Services, each once."""
        return tuple(dict.fromkeys(r.service for r in self.strategy.traffic_routings))

    @property
    def shared(self) -> bool:
        """The owner chose one Service for both revisions."""
        return self.strategy.disable_generate_canary_service

    def canary_service_of(self, stable: str) -> str:
        """Name of the Service that leads to the new revision."""
        return stable if self.shared else stable + names.CANARY_SUFFIX

    def is_pinned_by_another(self, stable: str) -> bool:
        """Another Rollout made the canary Service, and pins the stable one: two would pin it in turn, without end."""
        found = self.service(self.canary_service_of(stable))
        if found is None or self.shared:
            return False
        maker = found.metadata.annotations.get(names.ROLLOUT_UID, "")
        return maker not in ("", self.seen.rollout.metadata.uid)

    def service(self, name: str) -> Service | None:
        """A Service by name."""
        return self.seen.services.get(name)

    @property
    def routes_in_use(self) -> bool:
        """A gateway object still follows a plan, or one of its companion objects still exists."""
        return lowest_depth_in_use(self.seen.routes) is not None

    @property
    def routes_lead(self) -> bool:
        """A gateway object of depth 0 is in use, so deeper objects still receive requests."""
        return lowest_depth_in_use(self.seen.routes) == 0

    def ready_endpoints(self, service: str) -> frozenset[str]:
        """UIDs of the ready pods behind a Service."""
        return frozenset().union(
            *(part.ready_pod_uids for part in self.seen.slices if part.service == service)
        )
