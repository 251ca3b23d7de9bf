"""A pinned Service stays pinned when its manifest is applied over it.

Why: a selector is one atomic map to server-side apply, so an owner's apply in mid-release would drop the pin and send
stable traffic to pods of the new revision. Invariant: only the pin is put back; everything else is the owner's. A
Service that no busy Rollout names is left alone, so a forgotten pin can be taken off by hand.
"""

from collections.abc import Iterable

import msgspec

from controller.api.jsontree import JsonObject, changed, child, text
from controller.api.names import CANARY_SUFFIX, PIN, PINNED
from controller.api.rollout import Phase, Rollout, TrafficRoutingRef
from controller.domain.admission.verdict import Amended, Unchanged, amended

_BUSY = (Phase.PROGRESSING, Phase.TERMINATING, Phase.DISABLING)


class Pin(msgspec.Struct, frozen=True):
    """What a Service is pinned by: its selector has `label: revision`."""

    label: str = ""
    revision: str = ""


def pin_annotation(label: str, revision: str) -> str:
    """Value of the annotation that whoever pins a Service writes beside the label."""
    return msgspec.json.encode(Pin(label, revision)).decode()


def pin_of(service: JsonObject) -> Pin | None:
    """The pin a Service carries, or None. Half a pin is none."""
    metadata = child(service, "metadata")
    if PINNED not in child(metadata, "labels"):
        return None
    try:
        pin = msgspec.json.decode(text(metadata, "annotations", PIN) or "{}", type=Pin)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
    return pin if pin.label and pin.revision else None


def admit_service(
    old: JsonObject, new: JsonObject, rollouts: Iterable[Rollout]
) -> Unchanged | Amended:
    """Judge an update of a Service (raw JSON); `rollouts` are those of its namespace."""
    pin = pin_of(old)
    if pin is None or not _in_use(text(old, "metadata", "name"), rollouts):
        return Unchanged()
    labels = child(old, "metadata", "labels")
    annotations = child(old, "metadata", "annotations")
    result = changed(new, ("spec", "selector", pin.label), pin.revision)
    result = changed(result, ("metadata", "labels", PINNED), labels[PINNED])
    result = changed(result, ("metadata", "annotations", PIN), annotations[PIN])
    return amended(new, result)


def _in_use(service: str, rollouts: Iterable[Rollout]) -> bool:
    return any(
        service in (entry.service, entry.service + CANARY_SUFFIX)
        for rollout in rollouts
        if rollout.status.phase in _BUSY
        for entry in _routings(rollout)
    )


def _routings(rollout: Rollout) -> tuple[TrafficRoutingRef, ...]:
    strategy = rollout.spec.strategy
    plan = strategy.canary or strategy.blue_green
    return () if plan is None else plan.traffic_routings
