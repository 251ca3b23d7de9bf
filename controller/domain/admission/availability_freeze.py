"""The availability freeze of a Deployment and the record of its owner's own values, as fields of the raw object.

Invariant: a value of the freeze is never recorded as the owner's, not even when a manifest exported during a release is
applied again.
"""

import msgspec

from controller.api.jsontree import JsonObject, changed, child, items, number, same, text
from controller.api.names import (
    FIELD_MANAGER,
    FREEZE_MIN_READY_SECONDS,
    FREEZE_PROGRESS_DEADLINE_SECONDS,
    ORIGINAL_STRATEGY,
)
from controller.domain.pods.marks import OwnersRecord

GENTLE: JsonObject = {
    "type": "RollingUpdate",
    "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
}
"""Rolling update limits under which un-pausing by hand creates one pod too many and nothing worse."""

LIMITS = ("maxSurge", "maxUnavailable")
"""Fields of the original's annotation that repeat a part of the recorded strategy."""
_STRATEGY = ("spec", "strategy")
_MIN_READY = ("spec", "minReadySeconds")
_DEADLINE = ("spec", "progressDeadlineSeconds")
PAUSED = ("spec", "paused")


def with_record(deployment: JsonObject, record: OwnersRecord) -> JsonObject:
    """The workload with `record` in its annotation, and beside it the `maxSurge` and `maxUnavailable` that readers of
    the original's annotation expect there.
    """
    content = {**msgspec.to_builtins(record), **_limits(record.written_strategy)}
    value = msgspec.json.encode(content, order="sorted").decode()
    return changed(deployment, ("metadata", "annotations", ORIGINAL_STRATEGY), value)


def _limits(strategy: JsonObject) -> JsonObject:
    """The owner's `maxSurge` and `maxUnavailable`, if the original's annotation has them."""
    limits = {**strategy, **child(strategy, "rollingUpdate")}
    return {key: limits[key] for key in LIMITS if limits.get(key) is not None}


def first_record(deployment: JsonObject, release: str) -> OwnersRecord:
    """The record of a Deployment that was not held before: all values are the owner's, except those of a freeze."""
    return _written(OwnersRecord(release=release), {}, deployment)


def updated_record(record: OwnersRecord, old: JsonObject, new: JsonObject) -> OwnersRecord:
    """`record` with this update's changes of the Deployment."""
    return _written(record, old, new)


def _written(record: OwnersRecord, old: JsonObject, new: JsonObject) -> OwnersRecord:
    before, after = child(old, "spec"), child(new, "spec")
    strategy = _without_held_limits(record, old, new)
    if not same(before.get("strategy"), after.get("strategy")):
        record = msgspec.structs.replace(
            record, strategy=strategy if isinstance(strategy, dict) else msgspec.UNSET
        )
    record = with_min_ready_of(record, old, new)
    deadline = number(after, "progressDeadlineSeconds")
    held = deadline == FREEZE_PROGRESS_DEADLINE_SECONDS
    if deadline != number(before, "progressDeadlineSeconds") and not held:
        record = msgspec.structs.replace(
            record, progress_deadline_seconds=msgspec.UNSET if deadline is None else deadline
        )
    paused = after.get("paused") is True
    if paused != (before.get("paused") is True):
        record = msgspec.structs.replace(record, paused=paused)
    return record


def _without_held_limits(record: OwnersRecord, old: JsonObject, new: JsonObject) -> object:
    """The strategy of this update; a limit of ours beside one that somebody gave up is the recorded one again.

    The first server-side apply after client-side ones gives up every field that the manifest lacks. The API server
    keeps a limit that we own as well, and fills in its default for the other one, so together they look like a
    strategy of the owner.
    """
    strategy = child(new, "spec").get("strategy")
    held, written = (child(strategy_of(each), "rollingUpdate") for each in (old, new))
    kept = [name for name in LIMITS if name in held and same(held[name], written.get(name))]
    given_up = any(name not in kept and not _managers_of(new, name) for name in LIMITS)
    if given_up and kept and _managers_of(new, kept[0]) == {FIELD_MANAGER}:
        own = child(record.written_strategy, "rollingUpdate").get(kept[0])
        return changed(strategy_of(new), ("rollingUpdate", kept[0]), own)
    return strategy


def _managers_of(deployment: JsonObject, limit: str) -> set[str]:
    """The managers that own this rolling update limit."""
    path = ("fieldsV1", "f:spec", "f:strategy", "f:rollingUpdate")
    entries = items(child(deployment, "metadata"), "managedFields")
    return {text(entry, "manager") for entry in entries if f"f:{limit}" in child(entry, *path)}


def with_min_ready_of(record: OwnersRecord, old: JsonObject, new: JsonObject) -> OwnersRecord:
    """`record` with this update's change of minReadySeconds."""
    seconds = number(new, *_MIN_READY) or 0
    if seconds in (number(old, *_MIN_READY) or 0, FREEZE_MIN_READY_SECONDS):
        return record
    return msgspec.structs.replace(record, min_ready_seconds=seconds)


def is_frozen(deployment: JsonObject) -> bool:
    """The availability freeze is in force."""
    return number(deployment, *_MIN_READY) == FREEZE_MIN_READY_SECONDS


def with_frozen_pods(workload: JsonObject) -> JsonObject:
    """The workload under which no new pod counts as available."""
    return changed(workload, _MIN_READY, FREEZE_MIN_READY_SECONDS)


def with_freeze(deployment: JsonObject) -> JsonObject:
    """The Deployment with the freeze; its rolling update limits are not changed."""
    return changed(with_frozen_pods(deployment), _DEADLINE, FREEZE_PROGRESS_DEADLINE_SECONDS)


def with_strategy(deployment: JsonObject, strategy: JsonObject | None) -> JsonObject:
    """The Deployment with this strategy."""
    return changed(deployment, _STRATEGY, strategy)


def without_freeze(deployment: JsonObject, record: OwnersRecord) -> JsonObject:
    """The Deployment with the owner's own times; its rolling update limits and `paused` are not changed."""
    deadline = record.progress_deadline_seconds
    free = with_owners_time(deployment, record)
    return changed(free, _DEADLINE, None if deadline is msgspec.UNSET else deadline)


def with_owners_time(workload: JsonObject, record: OwnersRecord) -> JsonObject:
    """The workload with the owner's own minReadySeconds."""
    return changed(workload, _MIN_READY, record.min_ready_seconds or None)


def with_owners_values(deployment: JsonObject, record: OwnersRecord) -> JsonObject:
    """The Deployment with all of the owner's own values."""
    free = with_strategy(without_freeze(deployment, record), record.strategy or None)
    return changed(free, PAUSED, record.paused or None)


def strategy_of(deployment: JsonObject) -> JsonObject:
    """The strategy in force."""
    return child(deployment, *_STRATEGY)
