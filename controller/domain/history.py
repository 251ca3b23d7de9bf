"""The record of a finished release: its objects, revisions, steps, durations, and the people who approved its steps.

Invariant: made from the status and the observation alone, so that after a crash the same record is written again, under
the same name. Durations are split where a step's pods and routes were in place: before that Moonshift worked, after it
the step waited for people or a timer. No decision depends on a history.
"""

from datetime import datetime
from enum import StrEnum

import msgspec

from controller.api import names
from controller.api.history import (
    HISTORY_ROLLOUT_NAME,
    HistoryPod,
    HistorySpec,
    HistoryStatus,
    HistoryStep,
    ObjectRecord,
    RolloutHistory,
    RolloutRecord,
    TrafficRecord,
    WorkloadRecord,
)
from controller.api.meta import ObjectMeta
from controller.api.rollout import Approval, MoonshiftStatus, Rollout, Step, StepVisit
from controller.api.workloads import Pod, label_value, safe_hash
from controller.domain.decision import Value
from controller.domain.observation import RoutePresent, RouteSeen


class Outcome(StrEnum):
    """How a release ended."""

    SUCCEEDED = "Succeeded"
    ROLLED_BACK = "RolledBack"
    SUPERSEDED = "Superseded"
    """Another revision came before the release was complete."""
    DISABLED = "RolloutDisabled"
    DELETED = "RolloutDeleted"
    WORKLOAD_DELETED = "WorkloadDeleted"


class FinishedRelease(Value, frozen=True):
    """A finished release, with its last status and observation."""

    rollout: Rollout
    ours: MoonshiftStatus
    rollout_id: str
    revision: str
    steps: tuple[Step, ...]
    outcome: Outcome
    now: datetime
    workload: msgspec.Raw | None = None
    """Raw spec of the workload, None when it is gone."""
    pods: tuple[Pod, ...] = ()
    routes: tuple[RouteSeen, ...] = ()
    services: tuple[tuple[str, msgspec.Raw], ...] = ()
    """Stable Services by name, with their raw specs."""


def history_of(release: FinishedRelease) -> RolloutHistory:
    """The complete record; the same release always gives the same name."""
    return RolloutHistory(
        metadata=ObjectMeta(
            name=history_name(release),
            namespace=release.rollout.metadata.namespace,
            labels={
                names.ROLLOUT_ID: release.rollout_id,
                HISTORY_ROLLOUT_NAME: label_value(release.rollout.metadata.name),
            },
        ),
        spec=_spec(release),
        status=_status(release),
    )


def history_name(release: FinishedRelease) -> str:
    """`<rollout>-xxxxxx`: one for each release, and for each start of the same release."""
    began = release.ours.started_at
    of = [release.rollout.metadata.uid, release.ours.release, release.revision, str(began)]
    return f"{release.rollout.metadata.name[:240].rstrip('.-')}-{safe_hash(msgspec.json.encode(of), 6)}"


def _spec(release: FinishedRelease) -> HistorySpec:
    ref = release.rollout.spec.workload_ref
    service = release.services[0] if release.services else None
    return HistorySpec(
        rollout=RolloutRecord(
            rollout_id=release.rollout_id,
            name=release.rollout.metadata.name,
            data=msgspec.Raw(msgspec.json.encode(release.rollout.spec)),
        ),
        workload=WorkloadRecord(
            api_version=ref.api_version,
            kind=ref.kind,
            name=ref.name,
            data=msgspec.UNSET if release.workload is None else release.workload,
        ),
        service=ObjectRecord(name=service[0], data=service[1]) if service is not None else None,
        traffic_routing=_traffic(release.routes),
    )


class _Spec(msgspec.Struct, frozen=True):
    spec: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _traffic(routes: tuple[RouteSeen, ...]) -> TrafficRecord | None:
    """The original's record knows one Ingress and one HTTPRoute; all others are named under `objects`."""
    if not routes:
        return None
    ingress = http_route = None
    objects: list[ObjectRecord] = []
    for route in routes:
        reference = route.reference
        record = ObjectRecord(name=reference.name, kind=reference.kind, data=_spec_of(route))
        if reference.class_type:
            ingress = ingress or record
        elif reference.kind == "HTTPRoute":
            http_route = http_route or record
        objects.append(record)
    return TrafficRecord(ingress=ingress, http_route=http_route, objects=tuple(objects))


def _spec_of(route: RouteSeen) -> msgspec.Raw | msgspec.UnsetType:
    """The content of an object; without it if a namespace's script is used: if no step routed, nobody has checked
    whether the account may read the object.
    """
    if not isinstance(route.state, RoutePresent) or route.reference.own_script is not None:
        return msgspec.UNSET
    return msgspec.json.decode(route.state.raw, type=_Spec).spec


def _status(release: FinishedRelease) -> HistoryStatus:
    ours = release.ours
    working, waiting = _spans(ours.visits, release.now)
    return HistoryStatus(
        phase="completed",
        canary_steps=tuple(
            _step(release, index, step) for index, step in enumerate(release.steps, 1)
        ),
        outcome=release.outcome,
        revision=release.revision,
        stable_revision=ours.stable_revision,
        started_at=ours.started_at,
        ended_at=release.now,
        working_seconds=working,
        waiting_seconds=waiting,
        approvals=ours.approvals,
    )


def _step(release: FinishedRelease, index: int, step: Step) -> HistoryStep:
    visits = tuple(visit for visit in release.ours.visits if visit.step == index)
    working, waiting = _spans(visits, release.now)
    return HistoryStep(
        canary_step_index=index,
        pods=tuple(
            HistoryPod(name=pod.metadata.name)
            for pod in release.pods
            if _made_by(pod, release.rollout_id, index)
        ),
        replicas=step.replicas,
        traffic=step.traffic or "",
        matches=step.matches,
        visits=visits,
        working_seconds=working,
        waiting_seconds=waiting,
        approvals=_approvals_of(release.ours.approvals, index),
    )


def _made_by(pod: Pod, rollout_id: str, index: int) -> bool:
    labels = pod.metadata.labels
    return (labels.get(names.ROLLOUT_ID), labels.get(names.ROLLOUT_BATCH_ID)) == (
        rollout_id,
        str(index),
    )


def _approvals_of(approvals: tuple[Approval, ...], index: int) -> tuple[Approval, ...]:
    return tuple(approval for approval in approvals if approval.step == index)


def _spans(visits: tuple[StepVisit, ...], now: datetime) -> tuple[float, float]:
    """Seconds of work and of waiting; an open visit ends now."""
    working = waiting = 0.0
    for visit in visits:
        began, ended = visit.started_at or now, visit.ended_at or now
        ready = visit.ready_at or ended
        working += (ready - began).total_seconds()
        waiting += (ended - ready).total_seconds()
    return round(working, 3), round(waiting, 3)
