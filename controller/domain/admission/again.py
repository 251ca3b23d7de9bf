"""Restores admission's changes on a workload that has lost them during its release: label, marks, freeze or pause.

Why: if no webhook answers while somebody replaces a manifest or edits a field of the freeze, Kubernetes stores the
change without asking. Invariant: the result is what admission would have stored for the release, paused, so that
nothing moves until our next move. Changes that the owner made meanwhile are recorded as the owner's; values of the
freeze never are.
"""

import msgspec

from controller.api.jsontree import JsonObject, changed, child, same
from controller.api.names import IN_PROGRESSING, ORIGINAL_STRATEGY, STABLE_REVISION, WORKLOAD_TYPE
from controller.api.workload_kinds import WorkloadKind
from controller.domain.admission.availability_freeze import (
    PAUSED,
    first_record,
    is_frozen,
    with_freeze,
    with_min_ready_of,
    with_record,
    with_strategy,
)
from controller.domain.admission.podset import (
    admission_paused_set,
    strategy_of,
    with_scale_limit_of,
)
from controller.domain.admission.workload import with_admission_pause
from controller.domain.decision import FreezeWorkload
from controller.domain.pods.marks import OwnersRecord, hold_on
from controller.domain.pods.partition import COMPLETES_NOTHING, partition_of, partitioned


class Lost(msgspec.Struct, frozen=True):
    """The release's knowledge of the workload: its Rollout, identity, recorded values, and stable revision."""

    rollout: str
    release: str
    record: str = ""
    stable_revision: str = ""
    beside: bool = False
    """A CloneSet whose new pods are added to the old ones."""
    limits: JsonObject | None = None
    """The step's own maxSurge and maxUnavailable of a Deployment; None keeps the present values."""
    resumed: bool = False
    """The owner removed a pause that the record still contains."""


def frozen_again(obj: JsonObject, kind: WorkloadKind, lost: Lost) -> JsonObject:
    """The workload as admission would have stored it for the release."""
    record = _record(obj, kind, lost)
    mark = msgspec.json.encode({"rolloutName": lost.rollout}).decode()
    obj = changed(obj, ("metadata", "annotations", IN_PROGRESSING), mark)
    if not child(obj, "metadata", "labels").get(WORKLOAD_TYPE):
        obj = changed(obj, ("metadata", "labels", WORKLOAD_TYPE), kind.label)
    if kind is not WorkloadKind.DEPLOYMENT:
        return admission_paused_set(obj, record, kind, beside=lost.beside)
    obj = changed(obj, ("metadata", "labels", STABLE_REVISION), lost.stable_revision or None)
    if lost.limits is not None:
        obj = with_strategy(obj, {"type": "RollingUpdate", "rollingUpdate": lost.limits})
    held = with_freeze(changed(obj, PAUSED, True))
    return with_admission_pause(with_record(held, record), lost.release)


def _record(obj: JsonObject, kind: WorkloadKind, lost: Lost) -> OwnersRecord:
    """The workload's record, if it is still there; else the record kept in status, with the owner's changes since."""
    present = hold_on(obj).record
    if present is not None:
        paused = present.paused and not lost.resumed
        return msgspec.structs.replace(present, release=lost.release, paused=paused)
    kept = hold_on(changed({}, ("metadata", "annotations", ORIGINAL_STRATEGY), lost.record)).record
    if kind is WorkloadKind.DEPLOYMENT:
        ours = kept is not None and is_frozen(obj)
        return _renewed(kept, lost) if ours else first_record(obj, lost.release)
    return _set_record(obj, kind, kept, lost)


def _set_record(
    obj: JsonObject, kind: WorkloadKind, kept: OwnersRecord | None, lost: Lost
) -> OwnersRecord:
    live = strategy_of(obj)
    record = with_min_ready_of(_renewed(kept, lost), {}, obj)
    if kind is WorkloadKind.CLONE_SET:
        record = with_scale_limit_of(record, {}, obj)
    own = record.written_strategy
    if kind is WorkloadKind.DAEMON_SET:
        untouched = same(live, {**own, "type": "OnDelete"})
    else:
        untouched = same(live, partitioned(kind, own, partition_of(kind, live)))
    # This strategy is ours, too: a StatefulSet has it at zero replicas. Recorded as its owner's, it would keep the set
    # from being released in steps ever again.
    untouched = untouched or same(live, COMPLETES_NOTHING)
    if is_frozen(obj) or (kept is not None and untouched):
        return record
    return msgspec.structs.replace(record, strategy=live or msgspec.UNSET)


def _renewed(record: OwnersRecord | None, lost: Lost) -> OwnersRecord:
    return msgspec.structs.replace(record or OwnersRecord(), release=lost.release)


def lost_by(action: FreezeWorkload) -> Lost:
    """The knowledge that an action carries."""
    limits: JsonObject | None = None
    if action.max_surge is not None and action.max_unavailable is not None:
        limits = {"maxSurge": action.max_surge, "maxUnavailable": action.max_unavailable}
    return Lost(
        action.rollout,
        action.release,
        action.record,
        action.stable_revision,
        action.beside,
        limits,
        action.resumed,
    )
