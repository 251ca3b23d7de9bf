"""Somebody changed what the release wrote into a gateway object: put it back, or stop and say so.

A change is put back once. The same place changed again within a minute is another writer with another opinion (a GitOps
tool, an operator): putting it back for ever would make traffic jump all the time, so the release stops there, names the
writer, and tries once more after a while. An owner who wants to look first says so on the object.
Invariant: no memory but what is on the objects themselves; a decision never writes an object that it holds at.
"""

from datetime import datetime, timedelta

from controller.api.names import DRIFT
from controller.api.rollout import RolloutStatus
from controller.domain import reasons
from controller.domain.decision import Note, Refusal, Severity, Value
from controller.domain.observation import RoutePresent, RouteSeen
from controller.domain.rollout.situation import Situation
from controller.domain.rollout.status import condition, with_condition

DRIFTED = "Drifted"
"""Condition: True while the release is stopped at a change, False with the reason once it was put back."""
FIGHT = timedelta(minutes=1)
"""A place that is changed again so soon after it was put back has another writer."""
AGAIN = timedelta(minutes=5)
"""How long the release keeps away from such a place."""


class Drift(Value, frozen=True):
    """What was found, and what is to be done about it."""

    held: Refusal | None = None
    wake_at: datetime | None = None
    put_back: str = ""
    """What is put back, in words; empty where nothing is."""


def drift_of(sit: Situation) -> Drift:
    """How the objects that follow a plan of ours stand; the first that is held at counts."""
    told: list[str] = []
    for route in sit.seen.routes:
        state = route.state
        if not isinstance(state, RoutePresent) or not state.touched or not state.plan:
            continue
        text = _told(sit, route, state)
        if state.held:
            return Drift(held=_left(sit, route, f"{text}; {DRIFT} asks to leave it: {_WAY_OUT}"))
        until = _fight_ends(state, sit.now)
        if until is not None:
            again = f"{text}, again within a minute of being put back: two writers must not fight, so {_FIGHT}"
            return Drift(held=_left(sit, route, again), wake_at=until)
        told.append(text)
    return Drift(put_back="; ".join(told))


_WAY_OUT = "the release waits until it is taken back, or the annotation"
_FIGHT = "the release waits. Stop the other writer; it is tried again in five minutes"


def _left(sit: Situation, route: RouteSeen, message: str) -> Refusal:
    named = f"{route.reference.kind} {sit.namespace}/{route.reference.name}"
    return Refusal(reason=reasons.ROUTE_HELD, message=message, object=named)


def _told(sit: Situation, route: RouteSeen, state: RoutePresent) -> str:
    named = f"{route.reference.kind} {sit.namespace}/{route.reference.name}"
    what = ", ".join(state.changes) or "what the release wrote"
    return f"{state.editor or 'somebody'} changed {named}: {what}"


def _fight_ends(state: RoutePresent, now: datetime) -> datetime | None:
    """When a place that is fought about may be written again; None where nobody fights."""
    if state.corrected_at is None or not set(state.corrected) & set(state.places):
        return None
    changed_at = state.edited_at or now
    if changed_at - state.corrected_at >= FIGHT:
        return None
    until = changed_at + AGAIN
    return until if until > now else None


def noted(
    status: RolloutStatus, drift: Drift, now: datetime
) -> tuple[RolloutStatus, tuple[Note, ...]]:
    """The status that says what is done about it, and what is told."""
    if drift.held is not None:
        held = with_condition(status, DRIFTED, "True", reasons.ROUTE_HELD, drift.held.message, now)
        return held, ()
    if drift.put_back:
        text = f"{drift.put_back}; it is put back"
        said = with_condition(status, DRIFTED, "False", reasons.ROUTE_PUT_BACK, text, now)
        return said, (Note(reasons.ROUTE_PUT_BACK, text, Severity.WARNING),)
    before = condition(status, DRIFTED)
    if before is not None and before.status == "True":
        text = "the gateway objects say what the release wrote"
        return with_condition(status, DRIFTED, "False", reasons.ROUTES_AS_WRITTEN, text, now), ()
    return status, ()
