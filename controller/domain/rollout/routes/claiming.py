"""Claims the objects that a former Rollout of the same name has left during a release, before anything else is decided.

Why: a restored backup has every object with a new UID; and a Rollout can be made again after its finalizer was
removed by hand. The extra Deployment, the canary Services and the companion objects are found by the Rollout's UID.
Without a claim nobody would delete them: the extra Deployment would keep its pods behind the stable Service, and the
next release would stop at a canary Service that counts as somebody else's. Invariant: nothing is decided about such an
object in the pass that claims it. A pin of it on a Service that no Rollout names is taken off before any pod goes.

If the workload was created again from its owner's manifest, it has no release. Then the objects are restored as after
a release whose workload is gone, because a Service that stays pinned to missing pods answers no request.
"""

from controller.api.names import ROLLOUT_UID
from controller.api.rollout import MoonshiftStatus, Phase
from controller.domain import reasons
from controller.domain.decision import Note, SetMetadata, Severity
from controller.domain.observation import RoutePresent, Unclaimed
from controller.domain.rollout.routes import services
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop

_FREED = (
    "the pin of a former Rollout is taken off: no Rollout names the Service now, and it would lose its last pod. A "
    "route may still divide requests: to have it restored, name its object and the Service in trafficRoutings"
)
FORMER = "former"
"""Stands for the release of a former workload, whose identity is not known."""


def claiming(release: Release) -> Stop | None:
    """Write this Rollout's UID into all objects of the former one, and take its pins off Services that nobody names;
    None if there are none.
    """
    found, freed = release.seen.unclaimed, services.former_pins(release)
    if freed:
        named = ", ".join(f"Service {each.service}" for each in freed)
        text = f"{named}: {_FREED}"
        return release.stop(*freed, notes=(Note(reasons.PIN_TAKEN_OFF, text, Severity.WARNING),))
    if not found:
        return None
    uid = release.seen.rollout.metadata.uid
    actions = tuple(_claimed(each, uid) for each in found)
    named = ", ".join(f"{each.kind.kind} {each.object.name}" for each in found)
    note = Note(reasons.CLAIMED, f"of a former Rollout, and now of this one: {named}")
    return release.stop(*actions, notes=(note,))


def _claimed(found: Unclaimed, uid: str) -> SetMetadata:
    """The UID of the present Rollout, in the place of the former one's."""
    ours: dict[str, str | None] = {ROLLOUT_UID: uid}
    version = found.resource_version
    if found.labelled:
        return SetMetadata(found.kind, found.object, resource_version=version, labels=ours)
    return SetMetadata(found.kind, found.object, resource_version=version, annotations=ours)


def left_at_rest(release: Release) -> Stop | None:
    """Begin to restore the objects that a former workload's release has left; None if there are none."""
    if not _has_left_something(release):
        return None
    ours = MoonshiftStatus(
        release=FORMER,
        step=1,
        # Not the workload's: it counts as replaced.
        workload_uid=release.seen.rollout.metadata.uid,
        config=release.ours.config,
    )
    return release.reporting(phase=Phase.PROGRESSING, moonshift=ours).stop()


def _has_left_something(release: Release) -> bool:
    routed = (route.state for route in release.seen.routes)
    leads = any(isinstance(state, RoutePresent) and bool(state.release) for state in routed)
    made = release.seen.canaries or services.canary_service_deletions(release)
    return leads or bool(made) or bool(services.unpin_for_this_workload(release))
