"""Reacts to foreign changes of a release's routes and reports them in the status (`traffic/drift/policy` decides).

Invariant: no action writes an object whose change is left in place.
"""

from datetime import datetime

from controller.api.rollout import RolloutStatus
from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.rollout.release_context import ReleaseContext
from controller.domain.rollout.status import condition, with_condition
from controller.domain.traffic.drift.policy import Drift, drift_among

DRIFTED = "Drifted"
"""Condition: True while the release is stopped because of a change, False with the reason once the change was
reverted.
"""


def drift_of(context: ReleaseContext) -> Drift:
    """The drift of the objects that the release uses."""
    return drift_among(context.seen.routes, context.namespace, context.now)


def noted(
    status: RolloutStatus, drift: Drift, now: datetime
) -> tuple[RolloutStatus, tuple[Note, ...]]:
    """The status with the reaction to the drift, and the notes about it."""
    if drift.held is not None:
        held = with_condition(status, DRIFTED, "True", reasons.ROUTE_HELD, drift.held.message, now)
        return held, ()
    if drift.put_back:
        text = f"{drift.put_back}; it is put back"
        reverted = with_condition(status, DRIFTED, "False", reasons.ROUTE_PUT_BACK, text, now)
        return reverted, (Note(reasons.ROUTE_PUT_BACK, text, Severity.WARNING),)
    before = condition(status, DRIFTED)
    if before is not None and before.status == "True":
        text = "the gateway objects have the release's content"
        return with_condition(status, DRIFTED, "False", reasons.ROUTES_AS_WRITTEN, text, now), ()
    return status, ()
