"""The autoscalers of a workload under blue-green: paused before its first move, resumed when it has its own size again.

Invariant: no pod moves and nothing is restored while the autoscalers are not known: an autoscaler that is not paused
would count the second set of pods as load.
"""

from controller.api.autoscaling import Autoscaler
from controller.api.rollout import RolloutStatus
from controller.domain.decision import Action, FreeAutoscaler, PauseAutoscaler, Refusal
from controller.domain.pods.hpa import has_saved_behavior, is_paused, original, owners_behavior
from controller.domain.rights import with_remedy
from controller.domain.rollout.release_context import ReleaseContext
from controller.domain.rollout.transition import Stop


def unknown(context: ReleaseContext) -> Refusal | None:
    """Why the autoscalers of the workload are not known; None when they are."""
    seen = context.seen.autoscalers
    if isinstance(seen, tuple):
        return None
    text = with_remedy(seen.message)
    message = f"the workload's autoscalers must be held during a blue-green release: {text}"
    return Refusal(seen.reason, message, object=f"HorizontalPodAutoscalers of {context.namespace}")


def _known(context: ReleaseContext) -> tuple[Autoscaler, ...]:
    """The autoscalers; every phase asks `unknown` first."""
    assert isinstance(context.seen.autoscalers, tuple)
    return context.seen.autoscalers


def pause_all(context: ReleaseContext) -> tuple[Action, ...]:
    """Pause autoscalers that still size the workload, including those created during a release."""
    return tuple(
        PauseAutoscaler(found.metadata.key, found.metadata.resource_version, original(found))
        for found in _known(context)
        if not (has_saved_behavior(found) and is_paused(found))
    )


def free(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Resume the autoscalers that we paused; None when there is none."""
    actions = tuple(
        FreeAutoscaler(found.metadata.key, found.metadata.resource_version, owners_behavior(found))
        for found in _known(context)
        if has_saved_behavior(found)
    )
    return Stop(status=status, actions=actions) if actions else None
