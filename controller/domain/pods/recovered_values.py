"""Recovers the owner's own values of a workload that has our freeze and has lost its record.

Why: an undo while no webhook answers drops all annotations, also our record, and the freeze stays. A workload with the
freeze never counts a pod as available, so every later update of it would stand still. Invariant: values of the freeze
are never taken for the owner's; values that an owner may have written are never taken for ours.
The sources are, in this order: the release's status, the last applied manifest, the ReplicaSets, Kubernetes' defaults.
"""

import msgspec

from controller.api.decoding import decoded
from controller.api.jsontree import JsonObject, child, number, text
from controller.api.meta import ObjectMeta
from controller.api.names import (
    FREEZE_MIN_READY_SECONDS,
    FREEZE_PROGRESS_DEADLINE_SECONDS,
    LAST_APPLIED,
    STABLE_REVISION,
)
from controller.api.podsets import PodSet
from controller.api.workload_kinds import WorkloadKind
from controller.domain.observation import WorkloadSeen
from controller.domain.pods.marks import OwnersRecord, hold_on, read_record
from controller.domain.pods.partition import MOVES_NO_POD, partition_of

DEFAULT_STRATEGY: JsonObject = {
    "type": "RollingUpdate",
    "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
}
"""Kubernetes' default for a Deployment without a strategy."""
ONLY_OURS = frozenset({32767})
"""Partitions that only Moonshift writes; a CloneSet's `100%` may be its owner's."""


def values_left_behind(workload: WorkloadSeen, kept: str) -> OwnersRecord | None:
    """The owner's values of a workload that has no record; None if it has no freeze of ours.

    `kept` is the record in the status of the release under way, empty if there is none.
    """
    by_partition = isinstance(workload.object, PodSet)
    record = (_of_set if by_partition else _of_deployment)(workload, kept)
    if record is None:
        return None
    return msgspec.structs.replace(record, release=workload.template_hash)


def values_are_known(workload: WorkloadSeen) -> bool:
    """The last applied manifest has the values, or leaves them to Kubernetes' defaults."""
    return applied_manifest(workload.object.metadata) is not None


def _of_deployment(workload: WorkloadSeen, kept: str) -> OwnersRecord | None:
    found, known = workload.deployment, read_record(kept)
    if found.spec.min_ready_seconds != FREEZE_MIN_READY_SECONDS:
        # The freeze may end before limits and pause do: at a rollback. Our label without our mark, or with the token of
        # our pause, means that the record is lost: the token goes together with the record.
        unmarked = not hold_on(found).rollout or hold_on(found).has_admission_token
        return known if unmarked and STABLE_REVISION in found.metadata.labels else None
    if known is not None:
        return known
    applied = applied_manifest(found.metadata)
    if applied is None:
        return OwnersRecord(
            strategy=DEFAULT_STRATEGY, min_ready_seconds=_min_ready_seconds_of_pods(workload)
        )
    seconds = number(applied, "spec", "minReadySeconds") or 0
    deadline = number(applied, "spec", "progressDeadlineSeconds")
    from_defaults = deadline in (None, FREEZE_PROGRESS_DEADLINE_SECONDS)
    return OwnersRecord(
        strategy=child(applied, "spec", "strategy") or DEFAULT_STRATEGY,
        min_ready_seconds=0 if seconds == FREEZE_MIN_READY_SECONDS else seconds,
        progress_deadline_seconds=msgspec.UNSET if from_defaults else deadline,
        paused=child(applied, "spec").get("paused") is True,
    )


def _min_ready_seconds_of_pods(workload: WorkloadSeen) -> int:
    """minReadySeconds of the newest ReplicaSet without the freeze."""
    times = [found.spec.min_ready_seconds for found, _ in workload.replica_sets]
    own = [seconds for seconds in times if seconds != FREEZE_MIN_READY_SECONDS]
    return own[-1] if own else 0


def _of_set(workload: WorkloadSeen, kept: str) -> OwnersRecord | None:
    """The values of a set: its owner's partition is known only from the manifest."""
    found, kind = workload.pod_set, workload.kind
    if hold_on(found).rollout:
        return None
    live = msgspec.json.decode(found.spec.update_strategy, type=JsonObject | None) or {}
    frozen = found.spec.min_ready_seconds == FREEZE_MIN_READY_SECONDS
    known = read_record(kept)
    if known is not None:
        return known if frozen or _holds(kind, live, known.written_strategy) else None
    applied = applied_manifest(found.metadata)
    if applied is None:
        return None
    own = child(applied, "spec", "updateStrategy")
    ours = MOVES_NO_POD.get(kind) in ONLY_OURS and partition_of(kind, live) in ONLY_OURS
    # A partition that only we write is our hold, unless the owner's manifest has the same number.
    if not frozen and not (ours and partition_of(kind, own) not in ONLY_OURS):
        return None
    seconds = number(applied, "spec", "minReadySeconds") or 0
    return OwnersRecord(
        strategy=own or msgspec.UNSET,
        min_ready_seconds=0 if seconds == FREEZE_MIN_READY_SECONDS else seconds,
    )


def _holds(kind: WorkloadKind, live: JsonObject, own: JsonObject) -> bool:
    """The present strategy holds pods that the owner's own would not hold."""
    if kind is WorkloadKind.DAEMON_SET:
        return text(live, "type") == "OnDelete" != text(own, "type")
    return partition_of(kind, live) != partition_of(kind, own)


def applied_manifest(meta: ObjectMeta) -> JsonObject | None:
    """The manifest that `kubectl apply` stored; None if the workload was written in another way."""
    try:
        return decoded(meta.annotations.get(LAST_APPLIED, ""), JsonObject)
    except msgspec.DecodeError:
        return None
