"""Decides about an update of a set of pods under a Rollout (StatefulSet, CloneSet, DaemonSet and similar kinds).

A set is held by its update strategy: a partition that keeps every pod, or OnDelete for a kind without partitions.
A set without replicas is not released in steps, as in the original; nor is one whose pods the owner replaces by hand
(OnDelete), except a DaemonSet. Invariants:
 * a change that asks for a release is held until our first move, also a change to an old revision; during a release
   every change of the template is;
 * during a release the set has the owner's own strategy with our part in it: the owner's changes of it take effect at
   once, except in our part, and the whole strategy is restored at the end;
 * a CloneSet under blue-green is also held by minReadySeconds, which is recorded and restored in the same way; its list
   of pods to delete is emptied when the template changes;
 * our marks and the workload-type label are taken from the old object; where no release of a living Rollout depends on
   the label, it may be removed, and all our fields are removed with it.
"""

import msgspec

from controller.api.jsontree import JsonObject, changed, child, number, same, text
from controller.api.names import IN_PROGRESSING, OURS_ON_WORKLOAD, ROLLOUT_ID
from controller.api.rollout import Rollout
from controller.api.workload_kinds import WorkloadKind
from controller.domain.admission.availability_freeze import (
    is_frozen,
    with_frozen_pods,
    with_min_ready_of,
    with_owners_time,
    with_record,
)
from controller.domain.admission.verdict import Unchanged, Verdict, amended
from controller.domain.admission.workload import (
    effective,
    ending,
    kept_record,
    may_leave,
    release_identity,
    template_changed,
    template_hash_of,
    with_admission_pause,
    with_marks_of,
)
from controller.domain.pods.doubling import Doubling
from controller.domain.pods.marks import OwnersRecord, hold_on
from controller.domain.pods.partition import (
    CLOSED,
    COMPLETES_NOTHING,
    MOVES_NO_POD,
    moving_no_pod,
    partition_of,
    partitioned,
    surging,
)
from controller.domain.pods.running import name_on_pods

_STRATEGY = ("spec", "updateStrategy")
_NAMED = ("spec", "scaleStrategy", "podsToDelete")
_SCALE_LIMIT = ("spec", "scaleStrategy", "maxUnavailable")


def admit_set(
    old: JsonObject,
    new: JsonObject,
    rollout: Rollout | None,
    kind: WorkloadKind,
    kept: str = "",
) -> Verdict:
    """Decide about an update of a set of pods (raw JSON) under `rollout`; `kept` as for a Deployment."""
    if child(old, "metadata").get("deletionTimestamp") is not None:
        return Unchanged()
    record = hold_on(old).record
    if may_leave(old, new, rollout):
        return Unchanged() if record is None else amended(new, _without_release(old, new, record))
    if rollout is None:
        return Unchanged()
    marked, record = with_marks_of(old, new), record or _lost_record(old, kept)
    if record is None:
        begun = effective(old, new) or _asked_by_mark(old, new)
        return amended(new, _begun(old, marked, rollout, kind) if begun else marked)
    record = updated_record(record, old, marked)
    if kind is WorkloadKind.CLONE_SET:
        record, marked = with_scale_limit_of(record, old, marked), _still_closed(old, marked)
    if not template_changed(old, marked):
        return amended(new, _protected(old, marked, record, kind))
    if ending(rollout):
        return amended(new, _held_to_the_end(old, marked, record, kind))
    renewed = msgspec.structs.replace(record, release=release_identity(old, marked))
    return amended(new, admission_paused_set(marked, renewed, kind, beside=is_frozen(old)))


def _lost_record(old: JsonObject, kept: str) -> OwnersRecord | None:
    """The kept record, for a set that has lost its own and has another strategy than its owner's."""
    record = kept_record(old, kept)
    return None if record is None or same(strategy_of(old), record.written_strategy) else record


def strategy_of(obj: JsonObject) -> JsonObject:
    """The update strategy."""
    return child(obj, *_STRATEGY)


def updated_record(record: OwnersRecord, old: JsonObject, new: JsonObject) -> OwnersRecord:
    """`record` with this update's change of the strategy; our own part of it is never recorded as the owner's."""
    before, after = strategy_of(old), strategy_of(new)
    record = with_min_ready_of(record, old, new)
    if same(before, after):
        return record
    own = record.written_strategy
    wanted = _rebased(own, before, after)
    return msgspec.structs.replace(record, strategy=wanted)


def with_scale_limit_of(record: OwnersRecord, old: JsonObject, new: JsonObject) -> OwnersRecord:
    """`record` with this update's change of `scaleStrategy.maxUnavailable`: how many pods of a CloneSet may be missing
    while it grows.
    """
    before, after = _scale_limit(old), _scale_limit(new)
    if before == after or after == CLOSED:
        return record
    if before == CLOSED and after is None:
        # We closed it. An update that only repeats our value is not the owner's choice: the record stays.
        return record
    return msgspec.structs.replace(record, scale_limit=msgspec.UNSET if after is None else after)


def _scale_limit(obj: JsonObject) -> int | str | None:
    found = child(obj, *_SCALE_LIMIT[:-1]).get(_SCALE_LIMIT[-1])
    return found if isinstance(found, int | str) else None


def _still_closed(old: JsonObject, new: JsonObject) -> JsonObject:
    """A CloneSet that may create no pod until its stable revision is the current one stays closed."""
    return changed(new, _SCALE_LIMIT, CLOSED) if _scale_limit(old) == CLOSED else new


def _rebased(own: JsonObject, before: JsonObject, after: JsonObject) -> JsonObject:
    """`own` with the differences between `before` and `after` applied, field by field."""
    result = own
    for name in sorted({*before, *after}):
        left, right = before.get(name), after.get(name)
        if same(left, right):
            continue
        if isinstance(right, dict) and isinstance(left, dict | None):
            inner = _rebased(child(own, name), left or {}, right)
            result = changed(result, (name,), inner or None)
        else:
            result = changed(result, (name,), right)
    return result


def _begun(old: JsonObject, new: JsonObject, rollout: Rollout, kind: WorkloadKind) -> JsonObject:
    """The first admission of a release; all other changes of a set that is not held pass."""
    if ending(rollout) or not releasable(new, kind):
        return new
    mark = msgspec.json.encode({"rolloutName": rollout.metadata.name}).decode()
    new = changed(new, ("metadata", "annotations", IN_PROGRESSING), mark)
    beside = rollout.spec.strategy.blue_green is not None and kind is WorkloadKind.CLONE_SET
    return admission_paused_set(new, first_record(old, new, kind), kind, beside=beside)


def _asked_by_mark(old: JsonObject, new: JsonObject) -> bool:
    """A client of the original begins a release itself: it writes the mark, and a new id as a label."""
    written = [text(obj, "metadata", "annotations", IN_PROGRESSING) for obj in (old, new)]
    before, after = (text(obj, "metadata", "labels", ROLLOUT_ID) for obj in (old, new))
    return not written[0] and bool(written[1]) and after not in ("", before)


def first_record(old: JsonObject, new: JsonObject, kind: WorkloadKind) -> OwnersRecord:
    """The owner's strategy and the running revision; while another update is under way, only the revision is
    certain.
    """
    own = child(new, "spec").get("updateStrategy")
    status = child(old, "status")
    current, update = text(status, "currentRevision"), text(status, "updateRevision")
    certain = template_changed(old, new) and current == update
    record = OwnersRecord(
        release=release_identity(old, new),
        strategy=own if isinstance(own, dict) else msgspec.UNSET,
        stable_revision=name_on_pods(kind, current) or msgspec.UNSET,
        stable_template=template_hash_of(old) if certain else msgspec.UNSET,
    )
    return with_scale_limit_of(with_min_ready_of(record, {}, new), {}, new)


def releasable(obj: JsonObject, kind: WorkloadKind) -> bool:
    """Whether the set has pods, and its own controller would replace them."""
    if kind.has_replicas and number(obj, "spec", "replicas") == 0:
        return False
    by_hand = text(strategy_of(obj), "type") == "OnDelete"
    return kind is WorkloadKind.DAEMON_SET or not by_hand


def admission_paused_set(
    obj: JsonObject, record: OwnersRecord, kind: WorkloadKind, *, beside: bool
) -> JsonObject:
    """The set with a strategy under which no pod moves, and the token of its release."""
    own = record.written_strategy
    strategy = moving_no_pod(kind, own)
    if beside:
        obj = changed(with_frozen_pods(obj), _NAMED, None)
        strategy = surging(own, MOVES_NO_POD[kind], Doubling().surge)
    return with_admission_pause(
        with_record(changed(obj, _STRATEGY, strategy), record), record.release
    )


def _protected(
    old: JsonObject, new: JsonObject, record: OwnersRecord, kind: WorkloadKind
) -> JsonObject:
    """The owner's present strategy, with our part unchanged."""
    own = record.written_strategy
    live = strategy_of(old)
    if is_frozen(old):
        new = with_frozen_pods(new)
        surge = number(live, "maxSurge")
        kept = surging(own, partition_of(kind, live), Doubling().surge if surge is None else surge)
    elif kind is WorkloadKind.DAEMON_SET:
        kept = changed(own, ("type",), live.get("type"))
    elif kind is WorkloadKind.STATEFUL_SET and same(live, COMPLETES_NOTHING):
        # Scaled to zero during a release; when this update adds replicas, the first pod is a stable one.
        kept = moving_no_pod(kind, own) if child(new, "spec").get("replicas") else COMPLETES_NOTHING
    else:
        kept = partitioned(kind, own, partition_of(kind, live))
    return with_record(changed(new, _STRATEGY, kept), record)


def _held_to_the_end(
    old: JsonObject, new: JsonObject, record: OwnersRecord, kind: WorkloadKind
) -> JsonObject:
    """Another template while a release ends: its pods wait until the owner's strategy is restored.

    The step's partition would let the set replace pods at once, perhaps the last stable ones, to which the routes still
    lead.
    """
    held = _protected(old, new, record, kind)
    if is_frozen(old):
        return held
    return changed(held, _STRATEGY, moving_no_pod(kind, strategy_of(held)))


def _without_release(old: JsonObject, new: JsonObject, record: OwnersRecord) -> JsonObject:
    """The label was removed: all our fields are removed, too."""
    record = updated_record(record, old, new)
    new = changed(new, _STRATEGY, record.strategy or None)
    if is_frozen(old):
        new = with_owners_time(changed(new, _NAMED, None), record)
    if _scale_limit(old) == CLOSED:
        limit = None if record.scale_limit is msgspec.UNSET else record.scale_limit
        new = changed(new, _SCALE_LIMIT, limit)
    for mark in OURS_ON_WORKLOAD:
        new = changed(new, ("metadata", "annotations", mark), None)
    return new
