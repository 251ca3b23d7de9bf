"""Reacts to foreign changes of a release's routes and reports them in the status (`traffic/drift/policy` decides).

Invariant: no action writes an object whose change is left in place. A put-back that was refused does not count: after
three of them, it would be a fight of two writers, although nothing was written.
"""

from msgspec import structs

from controller.api.rollout import RolloutStatus
from controller.domain import reasons
from controller.domain.decision import Decision, Note, Severity
from controller.domain.rollout.routes import routing
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.status import condition
from controller.domain.traffic.drift.policy import (
    DRIFTED,
    Drift,
    drift_among,
    not_put_back,
    replaced_among,
    shown,
)


def drift_of(release: Release, index: int) -> Drift:
    """The drift of the objects that the release uses in this step."""
    found = drift_among(release.seen.routes, release.namespace, release.now)
    if found.held is not None or found.put_back:
        return found
    before = release.stored  # the plan and the drift that a former pass saw
    last, routed = condition(before, DRIFTED), moonshift_status(before).route_plan
    was_held = last is not None and last.status == "True"
    if not was_held and routed != routing.wanted_plan(release, index).identity:
        return found  # the step's routes were not written yet
    return replaced_among(release.seen.routes, release.namespace, last, release.now)


def noted(release: Release, drift: Drift) -> tuple[Release, tuple[Note, ...]]:
    """The status with the reaction to the drift, and the notes about it."""
    notes: tuple[Note, ...] = ()
    if drift.put_back:
        text = f"{drift.put_back}; it is put back"
        notes = (Note(reasons.ROUTE_PUT_BACK, text, Severity.WARNING),)
    found = shown(drift, condition(release.status, DRIFTED), release.now)
    if found is None:
        return release, notes
    return release.with_condition(DRIFTED, found.value, found.reason, found.text), notes


def without_put_back(decision: Decision, before: RolloutStatus) -> Decision:
    """The decision when its routes were not written; `before` is the status so far."""
    notes = tuple(note for note in decision.notes if note.reason != reasons.ROUTE_PUT_BACK)
    if notes == decision.notes:
        return decision
    conditions = not_put_back(decision.status.conditions, before.conditions)
    status = structs.replace(decision.status, conditions=conditions)
    return structs.replace(decision, status=status, notes=notes)
