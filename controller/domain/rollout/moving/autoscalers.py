"""The autoscalers of a workload under blue-green: paused before its first move, resumed when it has its own size again.

Invariant: no pod moves and nothing is restored while the autoscalers are not known: an autoscaler that is not paused
would count the second set of pods as load.
"""

from msgspec import structs

from controller.api.autoscaling import Autoscaler
from controller.api.rollout import RolloutStatus
from controller.domain import reasons
from controller.domain.decision import Decision, FreeAutoscaler, PauseAutoscaler, Refusal
from controller.domain.fights import FIGHT_WINDOW, RETRY_AFTER_FIGHT
from controller.domain.missing_rights import with_remedy
from controller.domain.pods.held_autoscalers import (
    has_saved_behavior,
    is_paused,
    original,
    owners_behavior,
)
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.status import with_moonshift_status
from controller.domain.rollout.words.transition import Stop


def unknown(release: Release) -> Refusal | None:
    """Why the autoscalers of the workload are not known; None when they are."""
    seen = release.seen.autoscalers
    if isinstance(seen, tuple):
        return None
    text = with_remedy(seen.message)
    message = f"the workload's autoscalers must be held during a blue-green release: {text}"
    return Refusal(seen.reason, message, object=f"HorizontalPodAutoscalers of {release.namespace}")


def _known(release: Release) -> tuple[Autoscaler, ...]:
    """The autoscalers; every phase of a release asks `unknown` first. Without a release, none of them is paused."""
    seen = release.seen.autoscalers
    assert isinstance(seen, tuple) or not release.ours.release
    return seen if isinstance(seen, tuple) else ()


def hold(release: Release) -> Stop | None:
    """Pause autoscalers that still size the workload, including those created during a release; None if none does.

    KEDA writes its own `behavior` back at once, and a GitOps tool soon: without a limit both would write for ever.
    """
    loose = [
        found for found in _known(release) if not (has_saved_behavior(found) and is_paused(found))
    ]
    if not loose:
        return None
    times = release.ours.autoscalers_held_at
    fought = len(times) == 2 and times[1] - times[0] < FIGHT_WINDOW
    until = times[1] + RETRY_AFTER_FIGHT if fought else release.now
    if until > release.now:
        return release.stop(problem=_contested(loose[0]), wake_at=until)
    actions = tuple(
        PauseAutoscaler(found.metadata.key, found.metadata.resource_version, original(found))
        for found in loose
    )
    held = release.noting(autoscalers_held_at=(*times[-1:], release.now))
    return held.stop(*actions)


def _contested(autoscaler: Autoscaler) -> Refusal:
    named = f"HorizontalPodAutoscaler {autoscaler.metadata.key}"
    owner = autoscaler.metadata.controller
    made = f", which {owner.kind} {owner.name} has made," if owner is not None else ""
    return Refusal(
        reasons.AUTOSCALER_CONTESTED,
        f"{named}{made} was paused for the release, and another writer resumed it twice within a minute; it counts old "
        "and new pods together. Until the release ends, pause that writer, or write selectPolicy: Disabled in "
        "behavior.scaleUp and behavior.scaleDown there",
        object=named,
    )


def without_hold(decision: Decision, before: RolloutStatus) -> Decision:
    """The decision without the time of a pause that the API server refused: it must not count as a fight of writers."""
    times = moonshift_status(before).autoscalers_held_at
    status = with_moonshift_status(decision.status, autoscalers_held_at=times)
    return structs.replace(decision, status=status)


def free(release: Release) -> Stop | None:
    """Resume the autoscalers that we paused; None when there is none."""
    actions = tuple(
        FreeAutoscaler(found.metadata.key, found.metadata.resource_version, owners_behavior(found))
        for found in _known(release)
        if has_saved_behavior(found)
    )
    return release.stop(*actions) if actions else None
