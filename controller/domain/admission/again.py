"""A workload of a release under way that lost what admission had put on it: label, marks, hold or latch.

Why: a webhook may be away when somebody replaces a manifest or edits a field of the hold, and Kubernetes asks nobody
then. Invariant: the result is what admission would have stored for the release, latched, so that nothing moves until
the next step of ours; what the owner wrote meanwhile is recorded as theirs, values of the hold never are.
"""

import msgspec

from controller.api.jsontree import JsonObject, changed, child, same
from controller.api.names import IN_PROGRESSING, ORIGINAL_STRATEGY, STABLE_REVISION, WORKLOAD_TYPE
from controller.api.workload_kinds import WorkloadKind
from controller.domain.admission.hold import (
    PAUSED,
    OwnersRecord,
    first_record,
    is_held,
    record_of,
    with_hold,
    with_knobs,
    with_record,
    with_times_of,
)
from controller.domain.admission.podset import latched_set, strategy_of
from controller.domain.admission.workload import with_latch
from controller.domain.decision import HoldWorkload
from controller.domain.pods.partition import COMPLETES_NOTHING, partition_of, partitioned


class Lost(msgspec.Struct, frozen=True):
    """What the release knows of the workload: its Rollout, its identity, what was recorded, and what is stable."""

    rollout: str
    release: str
    record: str = ""
    stable_revision: str = ""
    beside: bool = False
    """A CloneSet whose new pods come beside the old ones."""
    limits: JsonObject | None = None
    """The step's own maxSurge and maxUnavailable of a Deployment; None leaves what is there."""


def held_again(obj: JsonObject, kind: WorkloadKind, lost: Lost) -> JsonObject:
    """The workload as admission would have stored it for the release."""
    record = _record(obj, kind, lost)
    mark = msgspec.json.encode({"rolloutName": lost.rollout}).decode()
    obj = changed(obj, ("metadata", "annotations", IN_PROGRESSING), mark)
    if not child(obj, "metadata", "labels").get(WORKLOAD_TYPE):
        obj = changed(obj, ("metadata", "labels", WORKLOAD_TYPE), kind.label)
    if kind is not WorkloadKind.DEPLOYMENT:
        return latched_set(obj, record, kind, beside=lost.beside)
    obj = changed(obj, ("metadata", "labels", STABLE_REVISION), lost.stable_revision or None)
    if lost.limits is not None:
        obj = with_knobs(obj, {"type": "RollingUpdate", "rollingUpdate": lost.limits})
    held = with_hold(changed(obj, PAUSED, True))
    return with_latch(with_record(held, record), lost.release)


def _record(obj: JsonObject, kind: WorkloadKind, lost: Lost) -> OwnersRecord:
    """The record that is still there; else the one kept in status, with what the owner has written since."""
    present = record_of(obj)
    if present is not None:
        return msgspec.structs.replace(present, release=lost.release)
    kept = record_of(changed({}, ("metadata", "annotations", ORIGINAL_STRATEGY), lost.record))
    if kind is WorkloadKind.DEPLOYMENT:
        ours = kept is not None and is_held(obj)
        return _renewed(kept, lost) if ours else first_record(obj, lost.release)
    return _set_record(obj, kind, kept, lost)


def _set_record(
    obj: JsonObject, kind: WorkloadKind, kept: OwnersRecord | None, lost: Lost
) -> OwnersRecord:
    live = strategy_of(obj)
    record = with_times_of(_renewed(kept, lost), {}, obj)
    own = {} if record.strategy is msgspec.UNSET else record.strategy
    if kind is WorkloadKind.DAEMON_SET:
        untouched = same(live, {**own, "type": "OnDelete"})
    else:
        untouched = same(live, partitioned(kind, own, partition_of(kind, live)))
    # Of a StatefulSet at zero; one that is its owner's is not released at all.
    untouched = untouched or same(live, COMPLETES_NOTHING)
    if is_held(obj) or (kept is not None and untouched):
        return record
    return msgspec.structs.replace(record, strategy=live or msgspec.UNSET)


def _renewed(record: OwnersRecord | None, lost: Lost) -> OwnersRecord:
    return msgspec.structs.replace(record or OwnersRecord(), release=lost.release)


def lost_by(action: HoldWorkload) -> Lost:
    """What an action says of it."""
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
    )
