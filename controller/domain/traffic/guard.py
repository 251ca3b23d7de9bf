"""Somebody changed what was written into a gateway object: is it put back, or left and said.

A change is put back once. The same place changed again within a minute is another writer with another opinion (a
GitOps tool, an operator): putting it back for ever would make traffic jump, so it is left, the writer is named, and it
is tried once more after a while. An owner who wants to look first says so on the object.
Invariant: no memory but what is on the objects themselves.
"""

from datetime import datetime, timedelta

from controller.api.names import DRIFT
from controller.domain import reasons
from controller.domain.decision import Refusal, Value
from controller.domain.observation import RoutePresent, RouteSeen

FIGHT = timedelta(minutes=1)
"""A place that is changed again so soon after it was put back has another writer."""
AGAIN = timedelta(minutes=5)
"""How long such a place is left alone."""


class Drift(Value, frozen=True):
    """What was found, and what is to be done about it."""

    held: Refusal | None = None
    wake_at: datetime | None = None
    put_back: str = ""
    """What is put back, in words; empty where nothing is."""


def drift_among(routes: tuple[RouteSeen, ...], namespace: str, now: datetime) -> Drift:
    """How the objects that follow a plan of ours stand; the first that is held at counts."""
    told: list[str] = []
    for route in routes:
        state = route.state
        if not isinstance(state, RoutePresent) or not state.touched or not state.plan:
            continue
        text = _told(namespace, route, state)
        if state.held:
            return Drift(
                held=_left(namespace, route, f"{text}; {DRIFT} asks to leave it: {_WAY_OUT}")
            )
        until = _fight_ends(state, now)
        if until is not None:
            again = f"{text}, again within a minute of being put back: two writers must not fight, so {_FIGHT}"
            return Drift(held=_left(namespace, route, again), wake_at=until)
        told.append(text)
    return Drift(put_back="; ".join(told))


_WAY_OUT = "the release waits until it is taken back, or the annotation"
_FIGHT = "the release waits. Stop the other writer; it is tried again in five minutes"


def _left(namespace: str, route: RouteSeen, message: str) -> Refusal:
    named = f"{route.reference.kind} {namespace}/{route.reference.name}"
    return Refusal(reason=reasons.ROUTE_HELD, message=message, object=named)


def _told(namespace: str, route: RouteSeen, state: RoutePresent) -> str:
    named = f"{route.reference.kind} {namespace}/{route.reference.name}"
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
