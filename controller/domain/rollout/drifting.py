"""What a release does about a change of its routes, and how its status says so (`traffic/guard` judges the change).

Invariant: a decision never writes an object that it holds at.
"""

from datetime import datetime

from controller.api.rollout import RolloutStatus
from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.rollout.situation import Situation
from controller.domain.rollout.status import condition, with_condition
from controller.domain.traffic.guard import Drift, drift_among

DRIFTED = "Drifted"
"""Condition: True while the release is stopped at a change, False with the reason once it was put back."""


def drift_of(sit: Situation) -> Drift:
    """How the objects that follow a plan of the release stand."""
    return drift_among(sit.seen.routes, sit.namespace, sit.now)


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
