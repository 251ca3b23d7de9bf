"""Claims the objects that a former Rollout left in mid-release, before anything else is decided.

Why: a backup that is restored has every object, with new UIDs; and a Rollout can be made again after its finalizer was
removed by hand. The extra Deployment, the canary Services and the companion objects are found by the Rollout's UID.
Without a claim nobody would delete them: the extra Deployment would keep its pods behind the stable Service, and the
next release would stop at a canary Service that counts as somebody else's. Invariant: nothing is decided about such an
object in the pass that claims it.
"""

from controller.api.rollout import RolloutStatus
from controller.domain import reasons
from controller.domain.decision import ClaimObject, Note
from controller.domain.rollout.release_context import ReleaseContext
from controller.domain.rollout.transition import Stop


def claiming(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Write this Rollout's UID into all of them; None if there is none."""
    found = context.seen.unclaimed
    if not found:
        return None
    uid = context.seen.rollout.metadata.uid
    actions = tuple(
        ClaimObject(each.kind, each.object, each.resource_version, uid, each.labelled)
        for each in found
    )
    named = ", ".join(f"{each.kind.kind} {each.object.name}" for each in found)
    note = Note(reasons.CLAIMED, f"of a former Rollout, and now of this one: {named}")
    return Stop(status, actions, notes=(note,))
