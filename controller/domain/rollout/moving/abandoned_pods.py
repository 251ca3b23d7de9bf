"""Pods of an abandoned revision in a set of pods: deleted before another revision gets its first pods.

Why: a CloneSet chooses freely which pods a step updates, so abandoned pods left alone could cost every stable pod. All
of them were deleted at once: a third revision at a step of 80 % left two of ten pods. And a StatefulSet kept its
abandoned pods while the routes led all traffic to the two stable ones. Instead, abandoned pods are deleted within the
owner's maxUnavailable, and the set's own controller creates stable ones in their place.
Invariants: a pod is deleted only where the set creates a pod of the stable revision instead; if stable pods do not
become ready within the deadline, nothing waits for them any more.
"""

from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Pod
from controller.domain.pods.partition import ordinals
from controller.domain.pods.running import name_on_pods
from controller.domain.rollout.moving.awaiting_stable import stable_is_awaited_until
from controller.domain.rollout.moving.sets import (
    alive_pods,
    blocked_set,
    deletion_of,
    live_strategy,
    make_way,
    most_unavailable_pods,
)
from controller.domain.rollout.release_context import ReleaseContext, moonshift_status
from controller.domain.rollout.transition import Stop

RECREATED_AS_STABLE = (WorkloadKind.CLONE_SET, WorkloadKind.STATEFUL_SET)
"""Kinds whose controller replaces a deleted pod by one of its current revision, if the partition says so."""


def clear_abandoned_pods(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Delete the abandoned pods that block another revision; None when they are gone."""
    by_exchange = context.kind is WorkloadKind.CLONE_SET
    replaced = replace_abandoned_pods(context, status) if by_exchange else None
    return replaced or make_way(context, status)


def replace_abandoned_pods(
    context: ReleaseContext, status: RolloutStatus, *, enough: int = 0
) -> Stop | None:
    """Delete as many ready abandoned pods as the owner allows, and wait for the stable pods in their place.

    None if no pod is abandoned and `enough` stable ones are ready, no stable pod would replace an abandoned one, the
    owner paused the set, or the deadline is over.
    """
    blocked = blocked_set(context, status)
    if blocked is not None:
        return blocked if blocked.problem is None else None
    stable = moonshift_status(status).stable_revision
    left = _abandoned(context, stable)
    due = stable_is_awaited_until(context, status)
    stable_pods = context.ready(context.pods_of(stable))
    nothing_left = not left and stable_pods.ready >= enough
    if nothing_left or not _recreates(context, stable) or due <= context.now:
        return None
    ready = context.ready(alive_pods(context))
    spare = ready.ready - (context.replicas - max(1, most_unavailable_pods(context)))
    going = [pod for pod in left if pod.ready_since is None]
    going += [pod for pod in left if pod.ready_since is not None][: max(0, spare)]
    return Stop(status, tuple(map(deletion_of, going)), wake_at=min(ready.next_at or due, due))


def _recreates(context: ReleaseContext, stable: str) -> bool:
    """The set's controller replaces a deleted pod by one of the stable revision, which has shown that its pods start.

    A pod that cannot start would block a StatefulSet for ever.
    """
    current = name_on_pods(context.workload.kind, context.pod_set.status.current_revision)
    by_partition = live_strategy(context).get("type") != "OnDelete"
    starts = any(pod.ready_since is not None for pod in context.pods_of(stable))
    known = context.kind in RECREATED_AS_STABLE and by_partition
    return known and current == stable and starts


def _abandoned(context: ReleaseContext, stable: str) -> list[Pod]:
    """Pods that are neither stable nor new; of a StatefulSet the lowest ordinals first, because the next steps replace
    the highest ones.
    """
    keep = (stable, context.new_revision)
    left = [
        pod for pod in alive_pods(context) if pod.revision not in keep and not pod.updated_in_place
    ]
    return sorted(left, key=lambda pod: (min(ordinals([pod]), default=0), pod.metadata.name))
