"""The hold on a Deployment and the record of its owner's own values, as fields of the raw object.

Invariant: a value of the hold is never recorded as the owner's, not even when a manifest exported in mid-release brings
it back.
"""

import msgspec

from controller.api.jsontree import JsonObject, changed, child, number, same, text
from controller.api.names import (
    HOLD_MIN_READY_SECONDS,
    HOLD_PROGRESS_DEADLINE_SECONDS,
    ORIGINAL_STRATEGY,
)

GENTLE: JsonObject = {
    "type": "RollingUpdate",
    "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
}
"""Knobs under which an un-pause by hand makes one pod too many and nothing worse."""

_STRATEGY = ("spec", "strategy")
_MIN_READY = ("spec", "minReadySeconds")
_DEADLINE = ("spec", "progressDeadlineSeconds")
PAUSED = ("spec", "paused")


class OwnersRecord(msgspec.Struct, frozen=True, rename="camel"):
    """The owner's own values and the release they belong to; left out where the owner wrote nothing."""

    release: str = ""
    strategy: JsonObject | msgspec.UnsetType = msgspec.UNSET
    min_ready_seconds: int = 0
    progress_deadline_seconds: int | msgspec.UnsetType = msgspec.UNSET
    paused: bool = False
    stable_revision: str | msgspec.UnsetType = msgspec.UNSET
    stable_template: str | msgspec.UnsetType = msgspec.UNSET
    """What ran when a set of pods was admitted; a Deployment keeps that in a label."""


def record_of(deployment: JsonObject) -> OwnersRecord | None:
    """The record a Deployment carries; None when it is not held by us (or the record is of another make)."""
    annotation = text(deployment, "metadata", "annotations", ORIGINAL_STRATEGY)
    try:
        record = msgspec.json.decode(annotation or "{}", type=OwnersRecord)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
    return record if record.release else None


def with_record(deployment: JsonObject, record: OwnersRecord) -> JsonObject:
    """The Deployment carrying `record`."""
    value = msgspec.json.encode(record, order="sorted").decode()
    return changed(deployment, ("metadata", "annotations", ORIGINAL_STRATEGY), value)


def first_record(deployment: JsonObject, release: str) -> OwnersRecord:
    """The record of a Deployment that was not held before: all values are the owner's, except those of a hold."""
    return _written(OwnersRecord(release=release), {}, deployment)


def updated_record(record: OwnersRecord, old: JsonObject, new: JsonObject) -> OwnersRecord:
    """`record` with what this update of the Deployment changed."""
    return _written(record, old, new)


def _written(record: OwnersRecord, old: JsonObject, new: JsonObject) -> OwnersRecord:
    before, after = child(old, "spec"), child(new, "spec")
    strategy = after.get("strategy")
    if not same(before.get("strategy"), strategy):
        record = msgspec.structs.replace(
            record, strategy=strategy if isinstance(strategy, dict) else msgspec.UNSET
        )
    record = with_times_of(record, old, new)
    deadline = number(after, "progressDeadlineSeconds")
    held = deadline == HOLD_PROGRESS_DEADLINE_SECONDS
    if deadline != number(before, "progressDeadlineSeconds") and not held:
        record = msgspec.structs.replace(
            record, progress_deadline_seconds=msgspec.UNSET if deadline is None else deadline
        )
    paused = after.get("paused") is True
    if paused != (before.get("paused") is True):
        record = msgspec.structs.replace(record, paused=paused)
    return record


def with_times_of(record: OwnersRecord, old: JsonObject, new: JsonObject) -> OwnersRecord:
    """`record` with what this update changed of minReadySeconds."""
    seconds = number(new, *_MIN_READY) or 0
    if seconds in (number(old, *_MIN_READY) or 0, HOLD_MIN_READY_SECONDS):
        return record
    return msgspec.structs.replace(record, min_ready_seconds=seconds)


def is_held(deployment: JsonObject) -> bool:
    """The hold is on."""
    return number(deployment, *_MIN_READY) == HOLD_MIN_READY_SECONDS


def with_held_pods(workload: JsonObject) -> JsonObject:
    """The workload with no pod ever counting as available."""
    return changed(workload, _MIN_READY, HOLD_MIN_READY_SECONDS)


def with_hold(deployment: JsonObject) -> JsonObject:
    """The Deployment with the hold on; its knobs are not touched."""
    return changed(with_held_pods(deployment), _DEADLINE, HOLD_PROGRESS_DEADLINE_SECONDS)


def with_knobs(deployment: JsonObject, strategy: JsonObject | None) -> JsonObject:
    """The Deployment with this strategy."""
    return changed(deployment, _STRATEGY, strategy)


def without_hold(deployment: JsonObject, record: OwnersRecord) -> JsonObject:
    """The Deployment with the owner's own times; its knobs and `paused` are not touched."""
    deadline = record.progress_deadline_seconds
    free = with_owners_time(deployment, record)
    return changed(free, _DEADLINE, None if deadline is msgspec.UNSET else deadline)


def with_owners_time(workload: JsonObject, record: OwnersRecord) -> JsonObject:
    """The workload with the owner's own minReadySeconds."""
    return changed(workload, _MIN_READY, record.min_ready_seconds or None)


def with_owners_values(deployment: JsonObject, record: OwnersRecord) -> JsonObject:
    """The Deployment with all of the owner's own values."""
    strategy = None if record.strategy is msgspec.UNSET else record.strategy
    free = with_knobs(without_hold(deployment, record), strategy)
    return changed(free, PAUSED, record.paused or None)


def knobs(deployment: JsonObject) -> JsonObject:
    """The strategy in force."""
    return child(deployment, *_STRATEGY)
