"""Whether a change of an object may change a decision: the pass comes at once, together with the next change, or never.

Why it exists: a release of five steps causes some three hundred watch events, and a pass for each of them found nothing
to do twice out of three times. Pods that are scheduled, counters of ReplicaSets and the like are followed by the event
that a decision waits for.
Invariants: a change that a step can wait for is relevant at once; every other change leads to a pass within
`SOON_SECONDS`, so a wrong answer costs time and never a wake-up; only a view that is equal in everything but its
version is no reason for a pass. It must not look at anything but the two views.
"""

from enum import Enum

from msgspec import structs

from controller.api.networking import EndpointSlice
from controller.api.rollout import Phase, Rollout, StepState
from controller.api.workloads import Deployment, Pod, ReplicaSet
from controller.kube.store import HasMetadata

SOON_SECONDS = 1.0
"""Usually the event that the step waits for comes within this time; people who read the status hardly notice it."""

IN_A_STEP = frozenset(StepState) - {StepState.BEFORE_STEP_UPGRADE, StepState.COMPLETED}


AT_REST = frozenset({"", Phase.INITIAL, Phase.HEALTHY, Phase.DISABLED})


class Relevance(Enum):
    """When a pass has to look at a change."""

    NOW = "now"
    WHERE_PODS_COUNT = "where pods count"
    """Now if a pass may wait for a single pod; else soon."""
    SOON = "soon"
    NEVER = "never"


def of_rollout(old: Rollout | None, new: Rollout | None) -> Relevance:
    """During a step, a status that a pass wrote is no reason for another pass.

    At a release's beginning and end, a pass may continue from the position that was written. Changes by people are
    urgent and are not decided here.
    """
    if old is None or new is None:
        return Relevance.NOW
    return Relevance.SOON if is_in_a_step(new) else Relevance.NOW


def is_in_a_step(rollout: Rollout) -> bool:
    """Whether the release is in a step, at work or waiting; not at its beginning or end."""
    release = rollout.status.of_release
    in_a_step = release is not None and release.current_step_state in IN_A_STEP
    return in_a_step and rollout.status.phase == Phase.PROGRESSING


def waits_for_single_pods(rollout: Rollout | None) -> bool:
    """Whether a pass may wait for each single pod to become ready.

    True in a step, and until the end of a release that replaces the workload's own pods. If new pods are created
    beside the old ones, the end waits for the whole workload, whose status shows when all of its pods are there.
    """
    if rollout is None or rollout.status.phase in AT_REST:
        return False
    return is_in_a_step(rollout) or not _makes_pods_beside(rollout)


def _makes_pods_beside(rollout: Rollout) -> bool:
    strategy, workload = rollout.spec.strategy, rollout.spec.workload_ref
    plan = strategy.plan
    extra = plan is not None and plan.enable_extra_workload_for_canary
    return strategy.blue_green is not None or (extra and workload.kind == "Deployment")


def of_pod(old: Pod | None, new: Pod | None) -> Relevance:
    """Steps wait for pods that become ready or stop being ready, and for the label of their batch.

    If pods are ready before a pass labels them, the label is the last event of the step.
    """
    labelled = old is not None and new is not None and old.metadata.labels != new.metadata.labels
    changed = labelled or _readiness(old) != _readiness(new)
    return Relevance.WHERE_PODS_COUNT if changed else _otherwise(old, new)


def of_slice(old: EndpointSlice | None, new: EndpointSlice | None) -> Relevance:
    """Routes wait for the ready endpoints of a Service, in steps and at a release's end."""
    changed = _ready_endpoints(old) != _ready_endpoints(new)
    return Relevance.NOW if changed else _otherwise(old, new)


def of_replica_set(old: ReplicaSet | None, new: ReplicaSet | None) -> Relevance:
    """A revision is created or deleted, or has all of its pods; before that, the pods' own events are enough."""
    if old is None or new is None or old.metadata.deleting != new.metadata.deleting:
        return Relevance.NOW
    has_all_now = _has_all_pods(new) and not _has_all_pods(old)
    return Relevance.WHERE_PODS_COUNT if has_all_now else _otherwise(old, new)


def of_deployment(old: Deployment | None, new: Deployment | None) -> Relevance:
    """Somebody changed it, its controller has observed the last change, or it has all of its pods."""
    if old is None or new is None or _wanted_state(old) != _wanted_state(new):
        return Relevance.NOW
    acted = new.observed and not old.observed
    has_all_now = _all_are_ready(new) and not _all_are_ready(old)
    return Relevance.NOW if acted or has_all_now else _otherwise(old, new)


def _otherwise(old: HasMetadata | None, new: HasMetadata | None) -> Relevance:
    return Relevance.NEVER if _same_but_for_version(old, new) else Relevance.SOON


def _same_but_for_version(old: HasMetadata | None, new: HasMetadata | None) -> bool:
    if old is None or new is None:
        return False
    version = old.metadata.resource_version
    same_metadata = structs.replace(new.metadata, resource_version=version)
    return bool(structs.replace(new, metadata=same_metadata) == old)  # type: ignore[type-var]  # every view is a Struct


def _readiness(pod: Pod | None) -> object:
    ready = pod.ready_since if pod is not None else None
    return (pod.revision, ready) if pod is not None and ready is not None else None


def _ready_endpoints(found: EndpointSlice | None) -> frozenset[object]:
    if found is None:
        return frozenset()
    return frozenset(
        (found.service, endpoint.addresses, endpoint.target_ref)
        for endpoint in found.endpoints or ()
        if endpoint.ready
    )


def _has_all_pods(found: ReplicaSet) -> bool:
    wanted, status = found.spec.replicas, found.status
    return status.replicas == status.ready_replicas == wanted


def _all_are_ready(found: Deployment) -> bool:
    wanted, status = found.spec.replicas, found.status
    return (status.replicas, status.updated_replicas, status.ready_replicas) == (wanted,) * 3


def _wanted_state(found: Deployment) -> object:
    meta = found.metadata
    return (found.spec, meta.labels, meta.annotations, meta.deleting, meta.finalizers)
