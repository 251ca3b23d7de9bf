"""Decides whether a Rollout may write a gateway object, and the facts that a write records.

Pure: the objects were read before and are written afterwards. Invariant: an object is not written when another Rollout
uses it, or when its owner asks for changes to be left alone.
"""

from datetime import datetime
from enum import Enum, auto

from controller.api.names import DRIFT
from controller.domain import reasons
from controller.domain.decision import Refusal, RestoreRoutes, RoutePlan
from controller.domain.traffic.companions.companion import CompanionObject, all_exist, disturbances
from controller.domain.traffic.drift.object_state import (
    ObjectState,
    last_editor,
    other_user,
)
from controller.domain.traffic.drift.policy import PutBacks, changed_at, next_put_back
from controller.domain.traffic.restoring.restore import restore
from controller.domain.traffic.tree import Tree, same


class Stored(Enum):
    """How the API server stored a write."""

    AS_SENT = auto()
    NORMALISED = auto()
    DROPPED = auto()


def refusal_to_lead(object_state: ObjectState, plan: RoutePlan, subject: str) -> Refusal | None:
    """Why the plan cannot be written into the object; None if it can."""
    taken = other_user(object_state.record, plan.rollout, subject, plan.namespace)
    if taken is not None:
        return taken
    if object_state.touched and object_state.held:
        return _left_alone(object_state, subject)
    return _ambiguous_change(object_state, subject) if object_state.ambiguous else None


def follows(
    object_state: ObjectState, companions: tuple[CompanionObject, ...], plan: RoutePlan
) -> bool:
    """The object and its companion objects follow the plan already."""
    record = object_state.record
    objects = record.objects if record is not None else {}
    return object_state.follows(plan.identity) and all_exist(objects, companions)


def corrections(
    object_state: ObjectState, companions: tuple[CompanionObject, ...], at: datetime | None
) -> PutBacks:
    """The places that this write reverts, at `at`; if it reverts none, the places that the last such write reverted."""
    record = object_state.record
    if record is None:
        return PutBacks()
    disturbed = disturbances(record.objects, companions)
    names = (item.identity if isinstance(item, CompanionObject) else item for item in disturbed)
    places = (*(item.path for item in object_state.changes), *names)
    last = PutBacks(record.corrected, record.corrected_at, record.corrected_before)
    if not places or at is None:
        return last
    edited_at = last_editor(object_state, disturbed).at
    return next_put_back(last, places, at, changed_at(edited_at, last.at, at))


def stored_how(original: Tree, sent: Tree, kept: Tree) -> Stored:
    """How the server stored the content it was sent: fields added inside our part are no difference."""
    restored = restore(original, sent, kept)
    if not restored.touched and same(restored.content, original):
        return Stored.AS_SENT
    return Stored.DROPPED if same(kept, original) else Stored.NORMALISED


def is_led(object_state: ObjectState, action: RestoreRoutes, subject: str) -> bool:
    """The Rollout that restores its objects is the Rollout that uses this object."""
    taken = other_user(object_state.record, action.rollout, subject, action.namespace)
    return object_state.in_use and taken is None


def depth_of(object_state: ObjectState | None) -> int:
    """The object's recorded depth; 0 if there is no record."""
    return (
        object_state.record.depth
        if object_state is not None and object_state.record is not None
        else 0
    )


def _ambiguous_change(object_state: ObjectState, subject: str) -> Refusal:
    """Somebody changed a list so that their change cannot be separated from ours."""
    editor = last_editor(object_state, ()).manager
    by = f" by {editor}" if editor else ""
    return Refusal(
        reasons.AMBIGUOUS_CHANGE,
        f"{subject} was changed{by} where this release changed it too, and the two changes cannot be separated; "
        "revert your change, and repeat it after the release",
        object=subject,
    )


def _left_alone(object_state: ObjectState, subject: str) -> Refusal:
    """Somebody changed our part, and the owner wants such changes left alone."""
    editor = last_editor(object_state, ()).manager or "somebody"
    changes = ", ".join(map(str, object_state.changes))
    return Refusal(
        reasons.ROUTE_HELD,
        f"{editor} changed {subject}: {changes}; {DRIFT} asks to leave it, so nothing is written",
        object=subject,
    )
