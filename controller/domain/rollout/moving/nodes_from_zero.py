"""A DaemonSet whose nodes all left during a release, and returned: stable pods replace the new ones.

The controller of the DaemonSet creates new pods on every node that returns, before any pass; `surplus_new_pods`
replaces them. Invariant: the stable revision is not decided again.
"""

from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.domain.rollout.moving import surplus_new_pods
from controller.domain.rollout.moving.from_zero import leaves_stable_pods
from controller.domain.rollout.release_context import ReleaseContext, moonshift_status
from controller.domain.rollout.transition import Stop


def returned_as_new(context: ReleaseContext, status: RolloutStatus) -> bool:
    """No pod is stable, although no step replaces all pods: all nodes had left."""
    stable = context.pods_of(moonshift_status(status).stable_revision)
    leaves_some = not stable and leaves_stable_pods(context, status)
    return leaves_some and surplus_new_pods.too_many_are_new(context, status)


def too_many_are_new(context: ReleaseContext, status: RolloutStatus) -> bool:
    """Nodes joined, and more pods are new than the step's share; never true for another kind of workload."""
    return is_daemon_set(context) and surplus_new_pods.too_many_are_new(context, status)


def is_daemon_set(context: ReleaseContext) -> bool:
    """Nodes decide how many pods there are."""
    return context.kind in (WorkloadKind.DAEMON_SET, WorkloadKind.ADVANCED_DAEMON_SET)


def bring_stable_back(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Wait until every node has a ready pod, and none is new.

    A pod of a revision before the stable one stays until a step replaces it. A release that waited for stable pods
    alone waited for ever.
    """
    if not surplus_new_pods.can_exchange_templates(context, status):
        return None
    if not context.observed:
        return Stop(status)
    if surplus_new_pods.new_pods_are_there(context, status):
        return surplus_new_pods.begin_exchange(status)
    counted = context.ready(context.workload.pods)
    return Stop(status, wake_at=counted.next_at) if counted.ready < context.replicas else None
