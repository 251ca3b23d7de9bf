"""Keeps the pin of a Service when its manifest is applied again.

Why: a selector is one atomic map in server-side apply, so an owner's apply during a release would remove the pin and
send stable traffic to pods of the new revision. Invariant: only the pin is restored; all other fields are the
owner's. A Service that no busy Rollout names is not changed, so a forgotten pin can be removed by hand; nor is one
whose owner removes its selector.
"""

from collections.abc import Iterable

import msgspec

from controller.api.decoding import decoded
from controller.api.jsontree import JsonObject, changed, child, text
from controller.api.names import CANARY_SUFFIX, PIN, PINNED
from controller.api.rollout import BUSY_PHASES, Rollout, TrafficRoutingRef
from controller.domain.admission.verdict import Amended, Unchanged, amended
from controller.domain.traffic.validation.selecting import EXTERNAL


class Pin(msgspec.Struct, frozen=True):
    """The pin of a Service: its selector has `label: revision`."""

    label: str = ""
    revision: str = ""


def pin_annotation(label: str, revision: str) -> str:
    """The value of the annotation that every pin has in addition to the label."""
    return msgspec.json.encode(Pin(label, revision)).decode()


def pin_of(service: JsonObject) -> Pin | None:
    """The pin of a Service, or None. A label or an annotation alone is none."""
    metadata = child(service, "metadata")
    if PINNED not in child(metadata, "labels"):
        return None
    try:
        pin = decoded(text(metadata, "annotations", PIN) or "{}", Pin)
    except msgspec.DecodeError:
        return None
    return pin if pin.label and pin.revision else None


def admit_service(
    old: JsonObject, new: JsonObject, rollouts: Iterable[Rollout]
) -> Unchanged | Amended:
    """Decide about an update of a Service (raw JSON); `rollouts` are those of its namespace."""
    pin = pin_of(old)
    if pin is None or not _in_use(text(old, "metadata", "name"), rollouts):
        return Unchanged()
    if not _selects_by_itself(new, pin):
        return Unchanged()
    labels = child(old, "metadata", "labels")
    annotations = child(old, "metadata", "annotations")
    result = changed(new, ("spec", "selector", pin.label), pin.revision)
    result = changed(result, ("metadata", "labels", PINNED), labels[PINNED])
    result = changed(result, ("metadata", "annotations", PIN), annotations[PIN])
    return amended(new, result)


def _selects_by_itself(service: JsonObject, pin: Pin) -> bool:
    """Its owner writes a selector: the pin alone would be one, and delete endpoints that somebody else writes."""
    own = child(service, "spec", "selector").keys() - {pin.label}
    return bool(own) and text(service, "spec", "type") != EXTERNAL


def _in_use(service: str, rollouts: Iterable[Rollout]) -> bool:
    return any(
        service in (entry.service, entry.service + CANARY_SUFFIX)
        for rollout in rollouts
        if rollout.status.phase in BUSY_PHASES
        for entry in _routings(rollout)
    )


def _routings(rollout: Rollout) -> tuple[TrafficRoutingRef, ...]:
    strategy = rollout.spec.strategy
    plan = strategy.canary or strategy.blue_green
    return () if plan is None else plan.traffic_routings
