"""Reacts to foreign changes of a release's routes and reports them in the status (`traffic/drift/policy` decides).

Invariant: no action writes an object whose change is left in place.
"""

from datetime import datetime

from controller.api.rollout import RolloutStatus
from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.rollout import routing
from controller.domain.rollout.release_context import ReleaseContext, moonshift_status
from controller.domain.rollout.status import condition, with_condition
from controller.domain.traffic.drift.policy import Drift, drift_among, replaced_among

DRIFTED = "Drifted"
"""Condition: True while the release is stopped because of a change, False with the reason once the change was
reverted.
"""


def drift_of(context: ReleaseContext, status: RolloutStatus, index: int) -> Drift:
    """The drift of the objects that the release uses in this step."""
    found = drift_among(context.seen.routes, context.namespace, context.now)
    if found.held is not None or found.put_back:
        return found
    before = context.seen.rollout.status
    last, routed = condition(before, DRIFTED), moonshift_status(before).route_plan
    was_held = last is not None and last.status == "True"
    if not was_held and routed != routing.wanted_plan(context, status, index).identity:
        return found  # the step's routes were not written yet
    return replaced_among(context.seen.routes, context.namespace, last, context.now)


def noted(
    status: RolloutStatus, drift: Drift, now: datetime
) -> tuple[RolloutStatus, tuple[Note, ...]]:
    """The status with the reaction to the drift, and the notes about it."""
    if drift.held is not None:
        held = with_condition(status, DRIFTED, "True", reasons.ROUTE_HELD, drift.held.message, now)
        return held, ()
    if drift.put_back:
        text = f"{drift.put_back}; it is put back"
        note = Note(reasons.ROUTE_PUT_BACK, text, Severity.WARNING)
        if not drift.reason:
            return status, (note,)
        # The time of a put-back of a replaced object has to be known: it is part of the words.
        shown = text if drift.reason == reasons.ROUTE_PUT_BACK else f"{text} ({now:%H:%M:%S} UTC)"
        reverted = with_condition(status, DRIFTED, "False", drift.reason, shown, now)
        return reverted, (note,)
    before = condition(status, DRIFTED)
    if before is not None and before.status == "True":
        text = "the gateway objects have the release's content"
        return with_condition(status, DRIFTED, "False", reasons.ROUTES_AS_WRITTEN, text, now), ()
    return status, ()
