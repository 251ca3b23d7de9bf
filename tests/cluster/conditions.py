"""Compares the conditions of a Rollout's status with each other and with the status before.

Invariant: they are read as a client reads them, from one revision of the Rollout to the next. A status without `Ready`
is not ours (it is new, or the original controller wrote it), and is not judged. It must do no I/O.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from localcluster.api import JsonObject
from localcluster.history import Change
from tests.cluster.kinds import ROLLOUTS
from tests.cluster.manifests import STABLE_IMAGE
from tests.cluster.user_actions import Permission

BUSY = frozenset({"Progressing", "Disabling", "Terminating"})
"""Phases in which the controller has something to do."""
IDLE = frozenset({"Healthy", "Disabled"})
OVER = "Completed"
"""The reason of the condition Progressing when it is False."""

Conditions = Mapping[str, JsonObject]


class ConditionsAreTrue:
    """Transition times change only with the condition's status, generations never decrease, no condition contradicts
    another."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._before: JsonObject | None = None
        """The Rollout at its last revision, if there was one."""

    def after(self, change: Change, allowed: Permission | None = None) -> str | None:
        """The first mistake in the Rollout's present status; None after a change of another object.

        `allowed` is what people approved, if that is known.
        """
        if change.key.kind != ROLLOUTS or change.key.name != self._name:
            return None
        before, now = self._before, change.object
        self._before = None if change.type == "DELETED" else now
        if change.type == "DELETED" or "Ready" not in conditions_of(now):
            return None
        if before is None or _uid(before) != _uid(now):
            before = {}
        found = [*contradictions(now), *_unlike_the_one_before(before, now)]
        found += _too_early(before, now, allowed) if allowed is not None else ()
        return next(iter(found), None)


def conditions_of(rollout: JsonObject) -> Conditions:
    """The conditions by their type."""
    return {item["type"]: item for item in _status(rollout).get("conditions") or ()}


def contradictions(rollout: JsonObject) -> Iterator[str]:
    """Everything that cannot be true at the same time, in one status."""
    conditions, phase = conditions_of(rollout), str(_status(rollout).get("phase") or "")
    if len(conditions) != len(_status(rollout)["conditions"]):
        yield "the status has a condition twice"
    yield from _of_kstatus(conditions, phase)
    yield from _of_the_release(conditions, phase)


def _of_kstatus(conditions: Conditions, phase: str) -> Iterator[str]:
    """Ready, Reconciling and Stalled, which tools that wait for a Rollout read."""
    ready, reconciling, stalled = (
        conditions.get(kind, {}) for kind in ("Ready", "Reconciling", "Stalled")
    )
    held = _is_true(stalled)
    if _is_true(ready) != (phase in IDLE and not held):
        yield f"Ready is {ready['status']} in phase {phase}, Stalled is {held}"
    if _is_true(reconciling) != (phase in BUSY):
        yield f"Reconciling is {reconciling.get('status')} in phase {phase}"
    if not _is_true(ready) and not ready.get("message"):
        yield "Ready is False and does not say why"
    if held != bool(stalled.get("reason")) or held != bool(stalled.get("message")):
        yield f"Stalled is {held}, because of {stalled.get('reason')!r}: {stalled.get('message')!r}"


def _of_the_release(conditions: Conditions, phase: str) -> Iterator[str]:
    """Progressing and Succeeded."""
    progressing = conditions.get("Progressing", {})
    under_way = _is_true(progressing)
    if progressing and under_way == (progressing["reason"] == OVER):
        yield f"Progressing is {progressing['status']} with the reason {progressing['reason']}"
    if under_way and phase not in BUSY:
        yield f"Progressing is True in phase {phase}"
    if phase == "Progressing" and not under_way:
        yield "the phase is Progressing, the condition is not True"
    if phase == "Progressing" and "Succeeded" in conditions:
        yield "a release is under way, and the status already has Succeeded"


def _is_true(condition: JsonObject) -> bool:
    return bool(condition.get("status") == "True")


def behind(rollout: JsonObject) -> str | None:
    """The status is about an earlier generation, which is a mistake for a Rollout at rest."""
    status, generation = _status(rollout), rollout["metadata"].get("generation")
    if status.get("phase") not in IDLE or status.get("observedGeneration") == generation:
        return None
    return f"generation {status.get('observedGeneration')} is shown at rest, the object has {generation}"


def _unlike_the_one_before(before: JsonObject, now: JsonObject) -> Iterator[str]:
    """Everything that cannot follow the status before."""
    earlier, later = conditions_of(before), conditions_of(now)
    for kind in sorted(earlier.keys() & later.keys()):
        yield from _times(kind, earlier[kind], later[kind])
    seen, reported = (int(_status(one).get("observedGeneration") or 0) for one in (before, now))
    if reported < seen:
        yield f"observedGeneration goes from {seen} back to {reported}"
    if reported > int(now["metadata"].get("generation") or reported):
        yield f"observedGeneration is {reported}, there is only {now['metadata']['generation']}"
    # No release is reported: its workload is gone, and the present workload was never released.
    if _ends(before, now) and "Progressing" in later and "Succeeded" not in later:
        yield "a release has ended, and nobody says how"


def _ends(before: JsonObject, now: JsonObject) -> bool:
    return _status(before).get("phase") == "Progressing" and _status(now)["phase"] == "Healthy"


def _too_early(before: JsonObject, now: JsonObject, allowed: Permission) -> Iterator[str]:
    """A release that has succeeded, although a step was not approved."""
    won = _ends(before, now) and _is_true(conditions_of(now).get("Succeeded", {}))
    may_end = allowed.finished or allowed.free or allowed.image == STABLE_IMAGE
    if won and allowed.released and not may_end:
        yield f"Succeeded is True, and step {allowed.step} was not approved"


def _times(kind: str, before: JsonObject, now: JsonObject) -> Iterator[str]:
    moved, since, was = (
        before["status"] != now["status"],
        _instant(now.get("lastTransitionTime")),
        _instant(before.get("lastTransitionTime")),
    )
    if since is None or was is None:
        yield f"{kind} has no transition time"
    elif moved and since < was:
        yield f"{kind} changes to {now['status']}, and its transition time goes back"
    elif not moved and since != was:
        yield f"{kind} stays {now['status']}, and its transition time moves"
    updated = _instant(now.get("lastUpdateTime"))
    if since is not None and (updated is None or updated < since):
        yield f"{kind} was updated at {updated}, before its transition at {since}"


def _instant(text: object) -> datetime | None:
    return datetime.fromisoformat(str(text)) if text else None


def _status(rollout: JsonObject) -> JsonObject:
    status: JsonObject = rollout.get("status") or {}
    return status


def _uid(rollout: JsonObject) -> object:
    return rollout["metadata"].get("uid")
