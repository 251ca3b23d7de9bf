"""A workload that the original holds during a release, as our own admission and moves would have left it.

Invariants: no pod moves by this write. A set of pods keeps the strategy in force; a Deployment that the original keeps
paused stays paused and keeps its strategy until our first move, which writes limits that match its pods: an un-paused
or `RollingUpdate` Deployment would be sized by its own controller meanwhile. The owner's values are those that the
original kept; none of the original's marks stays.
"""

import msgspec

from controller.api.jsontree import JsonObject, changed, child, number, same, text
from controller.api.names import (
    IN_PROGRESSING,
    ORIGINAL_STRATEGY,
    ORIGINALS_DAEMON_STRATEGY,
    ORIGINALS_STRATEGY,
    STABLE_REVISION,
    WORKLOAD_TYPE,
)
from controller.api.workload_kinds import WorkloadKind
from controller.domain.admission.availability_freeze import (
    PAUSED,
    is_frozen,
    with_freeze,
    with_record,
)
from controller.domain.admission.podset import strategy_of as set_strategy_of
from controller.domain.admission.workload import with_admission_pause
from controller.domain.pods.marks import OwnersRecord
from controller.domain.pods.originals import (
    ANNOTATIONS,
    LABELS,
    OriginalsValues,
    originals_values,
    partition_strategy,
)
from controller.domain.pods.partition import moving_no_pod


class Taking(msgspec.Struct, frozen=True):
    """The known facts about the release that is taken over."""

    rollout: str
    release: str
    stable_revision: str = ""
    stable_template: str = ""


def taken_over(obj: JsonObject, kind: WorkloadKind, taking: Taking) -> JsonObject:
    """The workload under our release, in the state that its pods are in."""
    kept = originals_values(text(obj, "metadata", "annotations", ORIGINAL_STRATEGY))
    deployment = kind is WorkloadKind.DEPLOYMENT
    record = _of_deployment(obj, kept) if deployment else _of_set(obj, kind, kept)
    record = msgspec.structs.replace(record, release=taking.release)
    result = _held(obj, record, taking) if deployment else _kept(obj, record, kind, taking)
    mark = msgspec.json.encode({"rolloutName": taking.rollout}).decode()
    result = changed(result, ("metadata", "annotations", IN_PROGRESSING), mark)
    result = changed(result, ("metadata", "labels", WORKLOAD_TYPE), _workload_type(obj, kind))
    for name in ANNOTATIONS:
        result = changed(result, ("metadata", "annotations", name), None)
    for name in LABELS:
        result = changed(result, ("metadata", "labels", name), None)
    return result


def _workload_type(obj: JsonObject, kind: WorkloadKind) -> str:
    return text(obj, "metadata", "labels", WORKLOAD_TYPE) or kind.label


def _held(obj: JsonObject, record: OwnersRecord, taking: Taking) -> JsonObject:
    """A Deployment: paused as it is, or under the freeze of blue-green as it is."""
    label = taking.stable_revision or None
    obj = changed(obj, ("metadata", "labels", STABLE_REVISION), label)
    moving = is_frozen(obj) and child(obj, "spec").get("paused") is not True
    obj = with_record(with_freeze(obj), record)
    return obj if moving else with_admission_pause(changed(obj, PAUSED, True), record.release)


def _kept(obj: JsonObject, record: OwnersRecord, kind: WorkloadKind, taking: Taking) -> JsonObject:
    """A set of pods: its strategy stays; it waits for our first move where nothing was moved yet."""
    record = msgspec.structs.replace(
        record,
        stable_revision=taking.stable_revision or msgspec.UNSET,
        stable_template=taking.stable_template or msgspec.UNSET,
    )
    still = same(set_strategy_of(obj), moving_no_pod(kind, record.written_strategy))
    obj = with_record(obj, record)
    return with_admission_pause(obj, record.release) if still else obj


def _of_deployment(obj: JsonObject, kept: OriginalsValues | None) -> OwnersRecord:
    spec = child(obj, "spec")
    moved = text(obj, "metadata", "annotations", ORIGINALS_STRATEGY)
    if kept is not None:
        return OwnersRecord(
            strategy={"type": "RollingUpdate", "rollingUpdate": kept.limits},
            min_ready_seconds=kept.min_ready_seconds,
            progress_deadline_seconds=_or_unset(kept.progress_deadline_seconds),
        )
    strategy = partition_strategy(moved) if moved else child(spec, "strategy")
    return OwnersRecord(
        strategy=strategy or msgspec.UNSET,
        min_ready_seconds=number(spec, "minReadySeconds") or 0,
        progress_deadline_seconds=_or_unset(number(spec, "progressDeadlineSeconds")),
    )


def _or_unset(value: int | None) -> int | msgspec.UnsetType:
    return msgspec.UNSET if value is None else value


def _of_set(obj: JsonObject, kind: WorkloadKind, kept: OriginalsValues | None) -> OwnersRecord:
    own = set_strategy_of(obj)
    seconds = number(obj, "spec", "minReadySeconds") or 0
    match kind:
        case WorkloadKind.DAEMON_SET:
            own = _of_daemon_set(obj, own)
        case WorkloadKind.CLONE_SET:
            own = changed(own, ("partition",), None)
            if kept is not None:
                own = {**_without_limits(own), **kept.limits}
                seconds = kept.min_ready_seconds
        case _:
            # The rest may be an empty object, to which the API server adds defaults; it adds none to an absent field.
            own = changed(own, ("rollingUpdate", "partition"), None)
    return OwnersRecord(strategy=own or msgspec.UNSET, min_ready_seconds=seconds)


def _without_limits(strategy: JsonObject) -> JsonObject:
    return {
        name: value
        for name, value in strategy.items()
        if name not in ("maxSurge", "maxUnavailable")
    }


def _of_daemon_set(obj: JsonObject, own: JsonObject) -> JsonObject:
    """The owner's type; at a second change the original overwrote the kept type with its own `OnDelete`.

    Limits of a rolling update exist only if the owner's type was RollingUpdate.
    """
    if child(own, "rollingUpdate"):
        return {**own, "type": "RollingUpdate"}
    written = text(obj, "metadata", "annotations", ORIGINALS_DAEMON_STRATEGY)
    return {**own, "type": written or "RollingUpdate"}
