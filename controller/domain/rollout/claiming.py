"""Claims the objects that a former Rollout left in mid-release, before anything else is decided.

Why: a backup that is restored has every object, with new UIDs; and a Rollout can be made again after its finalizer was
removed by hand. The extra Deployment, the canary Services and the companion objects are found by the Rollout's UID.
Without a claim nobody would delete them: the extra Deployment would keep its pods behind the stable Service, and the
next release would stop at a canary Service that counts as somebody else's. Invariant: nothing is decided about such an
object in the pass that claims it.

The workload may have been made anew, from its owner's manifest, and then has no release. What was left is restored as
that of a release whose workload is gone: a Service that stays pinned to pods that do not exist answers nobody.
"""

from msgspec import structs

from controller.api.rollout import MoonshiftStatus, Phase, RolloutStatus
from controller.domain import reasons
from controller.domain.decision import ClaimObject, Note
from controller.domain.observation import RoutePresent
from controller.domain.rollout import services
from controller.domain.rollout.release_context import ReleaseContext, moonshift_status
from controller.domain.rollout.transition import Stop

FORMER = "former"
"""The release of a former workload: its own name is not known."""


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


def left_at_rest(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Begin to restore what a release of a former workload left; None if there is nothing of it."""
    if not _has_left_something(context):
        return None
    ours = MoonshiftStatus(
        release=FORMER,
        step=1,
        # Not the workload's: it counts as replaced.
        workload_uid=context.seen.rollout.metadata.uid,
        config=moonshift_status(status).config,
    )
    return Stop(structs.replace(status, phase=Phase.PROGRESSING, moonshift=ours))


def _has_left_something(context: ReleaseContext) -> bool:
    routed = (route.state for route in context.seen.routes)
    leads = any(isinstance(state, RoutePresent) and bool(state.release) for state in routed)
    return leads or bool(context.seen.canaries) or bool(services.canary_service_deletions(context))
