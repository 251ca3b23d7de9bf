"""The autoscalers of a workload under blue-green: held before its first move, free again when it has its own size."""

from controller.api.rollout import RolloutStatus
from controller.domain.decision import Action, FreeAutoscaler, HoldAutoscaler
from controller.domain.pods.hpa import original, owners_behavior, saved, still
from controller.domain.rollout.situation import Situation
from controller.domain.rollout.turn import Stop


def hold(sit: Situation) -> tuple[Action, ...]:
    """Autoscalers of the workload that still size it, those included that came in mid-release."""
    return tuple(
        HoldAutoscaler(found.metadata.key, found.metadata.resource_version, original(found))
        for found in sit.seen.autoscalers
        if not (saved(found) and still(found))
    )


def free(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Autoscalers that we hold are their owners' again; None when there is none."""
    actions = tuple(
        FreeAutoscaler(found.metadata.key, found.metadata.resource_version, owners_behavior(found))
        for found in sit.seen.autoscalers
        if saved(found)
    )
    return Stop(status=status, actions=actions) if actions else None
