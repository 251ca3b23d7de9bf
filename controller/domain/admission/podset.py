"""A set of pods under a Rollout changes (StatefulSet, CloneSet, DaemonSet and their like): hold it, or let it be.

A set is held by its update strategy: a partition that keeps every pod, or OnDelete where there is none. Invariants:

* any change of the template under a Rollout is held until our first move, whichever revision it asks for;
* what runs in mid-release is the owner's own strategy with our part in it: what they change of it is in force at once,
  except for our part, and all of it is given back at the end;
* a CloneSet under blue-green is held by minReadySeconds as well, which is recorded and given back in the same way; pods
  that were named to be deleted are named no more when the template changes;
* our marks are taken from the old object, the workload-type label with them; where no release of a living Rollout
  depends on it the label may be taken off, and nothing of ours stays behind.

A set that its owner rolls by hand (OnDelete), or of no replicas, is not released in steps, as in the original.
"""

import msgspec

from controller.api.jsontree import JsonObject, changed, child, number, same, text
from controller.api.names import IN_PROGRESSING, OURS_ON_WORKLOAD
from controller.api.rollout import Rollout
from controller.api.workload_kinds import WorkloadKind
from controller.domain.admission.hold import (
    OwnersRecord,
    is_held,
    record_of,
    with_held_pods,
    with_owners_time,
    with_record,
    with_times_of,
)
from controller.domain.admission.verdict import Unchanged, Verdict, amended
from controller.domain.admission.workload import (
    effective,
    ending,
    may_leave,
    release_identity,
    template_changed,
    template_hash_of,
    with_latch,
    with_marks_of,
)
from controller.domain.pods.doubling import Doubling
from controller.domain.pods.partition import (
    COMPLETES_NOTHING,
    HOLD,
    held,
    partition_of,
    partitioned,
    surging,
)
from controller.domain.pods.running import short

_STRATEGY = ("spec", "updateStrategy")
_NAMED = ("spec", "scaleStrategy", "podsToDelete")


def admit_set(
    old: JsonObject, new: JsonObject, rollout: Rollout | None, kind: WorkloadKind
) -> Verdict:
    """Judge an update of a set of pods (raw JSON); `rollout` is what governs it."""
    if child(old, "metadata").get("deletionTimestamp") is not None:
        return Unchanged()
    record = record_of(old)
    if may_leave(old, new, rollout):
        return Unchanged() if record is None else amended(new, _let_go(old, new, record))
    if rollout is None:
        return Unchanged()
    marked = with_marks_of(old, new)
    if record is None:
        return amended(new, _begun(old, marked, rollout, kind))
    record = updated_record(record, old, marked)
    if template_changed(old, marked) and not ending(rollout):
        renewed = msgspec.structs.replace(record, release=release_identity(old, marked))
        return amended(new, latched_set(marked, renewed, kind, beside=is_held(old)))
    return amended(new, _protected(old, marked, record, kind))


def strategy_of(obj: JsonObject) -> JsonObject:
    """The update strategy."""
    return child(obj, *_STRATEGY)


def updated_record(record: OwnersRecord, old: JsonObject, new: JsonObject) -> OwnersRecord:
    """`record` with what this update changed of the strategy; our own part of it is never taken for the owner's."""
    before, after = strategy_of(old), strategy_of(new)
    record = with_times_of(record, old, new)
    if same(before, after):
        return record
    own = {} if record.strategy is msgspec.UNSET else record.strategy
    wanted = _rebased(own, before, after)
    return msgspec.structs.replace(record, strategy=wanted)


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
    """The first admission of a release; everything else about a set that is not held passes."""
    if ending(rollout) or not effective(old, new) or not releasable(new, kind):
        return new
    mark = msgspec.json.encode({"rolloutName": rollout.metadata.name}).decode()
    new = changed(new, ("metadata", "annotations", IN_PROGRESSING), mark)
    beside = rollout.spec.strategy.blue_green is not None and kind is WorkloadKind.CLONE_SET
    return latched_set(new, first_record(old, new, kind), kind, beside=beside)


def first_record(old: JsonObject, new: JsonObject, kind: WorkloadKind) -> OwnersRecord:
    """The owner's strategy, and what ran: where another update is under way, only the revision is certain."""
    own = child(new, "spec").get("updateStrategy")
    status = child(old, "status")
    current, update = text(status, "currentRevision"), text(status, "updateRevision")
    certain = template_changed(old, new) and current == update
    record = OwnersRecord(
        release=release_identity(old, new),
        strategy=own if isinstance(own, dict) else msgspec.UNSET,
        stable_revision=short(kind, current) or msgspec.UNSET,
        stable_template=template_hash_of(old) if certain else msgspec.UNSET,
    )
    return with_times_of(record, {}, new)


def releasable(obj: JsonObject, kind: WorkloadKind) -> bool:
    """It has pods, and its own controller would replace them."""
    if kind.has_replicas and number(obj, "spec", "replicas") == 0:
        return False
    by_hand = text(strategy_of(obj), "type") == "OnDelete"
    return kind is WorkloadKind.DAEMON_SET or not by_hand


def latched_set(
    obj: JsonObject, record: OwnersRecord, kind: WorkloadKind, *, beside: bool
) -> JsonObject:
    """The set with nothing allowed to move, and the token of its release."""
    own = {} if record.strategy is msgspec.UNSET else record.strategy
    strategy = held(kind, own)
    if beside:
        obj = changed(with_held_pods(obj), _NAMED, None)
        strategy = surging(own, HOLD[kind], Doubling().surge)
    return with_latch(with_record(changed(obj, _STRATEGY, strategy), record), record.release)


def _protected(
    old: JsonObject, new: JsonObject, record: OwnersRecord, kind: WorkloadKind
) -> JsonObject:
    """The owner's strategy as it is now, with our part as it was."""
    own = {} if record.strategy is msgspec.UNSET else record.strategy
    live = strategy_of(old)
    if is_held(old):
        new = with_held_pods(new)
        surge = number(live, "maxSurge")
        kept = surging(own, partition_of(kind, live), Doubling().surge if surge is None else surge)
    elif kind is WorkloadKind.DAEMON_SET:
        kept = changed(own, ("type",), live.get("type"))
    elif kind is WorkloadKind.STATEFUL_SET and same(live, COMPLETES_NOTHING):
        # Scaled to zero in mid-release; with replicas again in this very update, its first pod is a stable one.
        kept = held(kind, own) if child(new, "spec").get("replicas") else COMPLETES_NOTHING
    else:
        kept = partitioned(kind, own, partition_of(kind, live))
    return with_record(changed(new, _STRATEGY, kept), record)


def _let_go(old: JsonObject, new: JsonObject, record: OwnersRecord) -> JsonObject:
    """The label was taken off: nothing of ours stays behind."""
    record = updated_record(record, old, new)
    own = record.strategy
    new = changed(new, _STRATEGY, None if own is msgspec.UNSET else own)
    if is_held(old):
        new = with_owners_time(changed(new, _NAMED, None), record)
    for mark in OURS_ON_WORKLOAD:
        new = changed(new, ("metadata", "annotations", mark), None)
    return new
