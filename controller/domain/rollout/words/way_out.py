"""The remedies for an object that a release needs and that does not exist, or that is in its way.

Invariant: the words name only what admission accepts at that moment. A reference may be corrected until the first move
(`domain/admission/rollout`); after it, the object has to be created again, or the release goes back, for which no
object has to exist but the stable Services. Must not decide which objects are missing.
"""

from msgspec import structs

from controller.api.rollout import RolloutStatus
from controller.domain import reasons
from controller.domain.availability import NotServed
from controller.domain.decision import Refusal
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.status import condition

GO_BACK = "go back (kubectl moonshift undo)"
NEEDED_TO_GO_BACK = "which a rollback needs, too"
MISSING = (
    reasons.GATEWAY_OBJECT_NOT_FOUND,
    reasons.SERVICE_NOT_FOUND,
    NotServed.reason,
)
"""Reasons of problems about an object that does not exist."""


def is_before_the_first_move(status: RolloutStatus) -> bool:
    """The release was noticed, and its requirements have not been checked yet."""
    found = condition(status, "Progressing")
    return found is not None and found.reason == reasons.INITIALIZING


def references_may_change(status: RolloutStatus) -> bool:
    """Admission accepts a change of `trafficRoutings`, once this status and its problem are stored.

    It does not while the routes of an abandoned revision are still being restored: the release has a `goal` then.
    """
    return is_before_the_first_move(status) and not moonshift_status(status).goal


def create_or(correction: str, status: RolloutStatus) -> str:
    """The remedies for a missing object; `correction` is what an author may change before the first move."""
    if references_may_change(status):
        return f"create it, or correct {correction}"
    return f"create it again, or {GO_BACK}"


def as_it_may_be_solved(refusal: Refusal, status: RolloutStatus) -> Refusal:
    """The refusal of an action, with a message that names what its author may do at that moment."""
    if not refusal.once_moved or references_may_change(status):
        return refusal
    return structs.replace(refusal, message=refusal.once_moved)
