"""Reacts to foreign changes of gateway objects, a Rollout's own or shared ones, and shows it in their owner's status.

`policy` decides what is put back; here the condition Drifted is read and set. An object that another writer replaces as
a whole has lost our record of it, so the owner says which objects have followed a plan (`written`).
Invariants: only an object in `written` counts as replaced; the first write of a route is no put-back. A put-back that
was refused does not count: after three of them, it would be a fight of two writers, although nothing was written.
"""

from datetime import datetime
from typing import Any, TypeVar

from msgspec import structs

from controller.domain import reasons
from controller.domain.conditions import Conditions, find_condition, set_condition
from controller.domain.decision import Action, Decided, EnsureRoutes, Note, Severity
from controller.domain.observation import RouteSeen
from controller.domain.traffic.drift.policy import (
    DRIFTED,
    Drift,
    drift_among,
    not_put_back,
    replaced_among,
    shown,
)

D = TypeVar("D", bound=Decided[Any])


def drift_of(
    routes: tuple[RouteSeen, ...],
    written: tuple[RouteSeen, ...],
    namespace: str,
    before: Conditions,
    now: datetime,
) -> Drift:
    """The drift of these objects; `before` are the conditions that a former pass stored."""
    found = drift_among(routes, namespace, now)
    if found.held is not None or found.put_back:
        return found
    return replaced_among(written, namespace, find_condition(before, DRIFTED), now)


def with_drift(conditions: Conditions, drift: Drift, now: datetime) -> Conditions:
    """The conditions with the reaction to the drift."""
    found = shown(drift, find_condition(conditions, DRIFTED), now)
    return conditions if found is None else set_condition(conditions, DRIFTED, *found, now)


def notes_of_drift(drift: Drift) -> tuple[Note, ...]:
    """The note about changes that are put back."""
    text = f"{drift.put_back}; it is put back"
    return (Note(reasons.ROUTE_PUT_BACK, text, Severity.WARNING),) if drift.put_back else ()


def without_put_back(decision: D, undone: tuple[Action, ...], before: Conditions) -> D:
    """The decision when these actions were not carried out; `before` are the conditions so far."""
    notes = tuple(note for note in decision.notes if note.reason != reasons.ROUTE_PUT_BACK)
    if notes == decision.notes or not any(isinstance(action, EnsureRoutes) for action in undone):
        return decision
    conditions = not_put_back(decision.status.conditions, before)
    status = structs.replace(decision.status, conditions=conditions)
    return structs.replace(decision, status=status, notes=notes)
