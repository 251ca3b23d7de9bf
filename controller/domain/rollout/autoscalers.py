"""The autoscalers of a workload under blue-green: held before its first move, free again when it has its own size.

Invariant: no pod moves and nothing is given back while it is not known which autoscalers there are: one that is not
held takes the second set of pods for load.
"""

from controller.api.autoscaling import Autoscaler
from controller.api.rollout import RolloutStatus
from controller.domain.decision import Action, FreeAutoscaler, HoldAutoscaler, Refusal
from controller.domain.pods.hpa import original, owners_behavior, saved, still
from controller.domain.rights import with_remedy
from controller.domain.rollout.situation import Situation
from controller.domain.rollout.turn import Stop


def unknown(sit: Situation) -> Refusal | None:
    """Why it is not known which autoscalers size the workload; None when it is."""
    seen = sit.seen.autoscalers
    if isinstance(seen, tuple):
        return None
    said = with_remedy(seen.message)
    message = f"the workload's autoscalers must be held during a blue-green release: {said}"
    return Refusal(seen.reason, message, object=f"HorizontalPodAutoscalers of {sit.namespace}")


def _known(sit: Situation) -> tuple[Autoscaler, ...]:
    """Every phase asks `unknown` first."""
    assert isinstance(sit.seen.autoscalers, tuple)
    return sit.seen.autoscalers


def hold(sit: Situation) -> tuple[Action, ...]:
    """Autoscalers of the workload that still size it, those included that came in mid-release."""
    return tuple(
        HoldAutoscaler(found.metadata.key, found.metadata.resource_version, original(found))
        for found in _known(sit)
        if not (saved(found) and still(found))
    )


def free(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Autoscalers that we hold are their owners' again; None when there is none."""
    actions = tuple(
        FreeAutoscaler(found.metadata.key, found.metadata.resource_version, owners_behavior(found))
        for found in _known(sit)
        if saved(found)
    )
    return Stop(status=status, actions=actions) if actions else None
