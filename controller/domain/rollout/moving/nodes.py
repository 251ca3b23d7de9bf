"""Pods of a DaemonSet that we delete, node by node, within its owner's maxUnavailable.

Why also of an Advanced DaemonSet: its own controller chooses among all old pods. When a third revision came, it could
take the last stable pod, while pods of the abandoned revision stayed. Invariant: a pod is deleted only by its UID, and
only while the set is held.
"""

from controller.domain.decision import Action
from controller.domain.pods.daemonset import may_go, most_unavailable, nodes_of
from controller.domain.pods.partition import moving_no_pod
from controller.domain.rollout.moving.sets import (
    deletion_of,
    owners_limits,
    owners_strategy,
    set_strategy,
)
from controller.domain.rollout.release_context import ReleaseContext, moonshift_status


def abandoned_go_first(context: ReleaseContext, index: int) -> bool:
    """The step wants more new pods, and pods of an abandoned revision can make room for them."""
    keep = (moonshift_status(context.seen.rollout.status).stable_revision, context.new_revision)
    alive = [pod for pod in context.new_pods if not pod.metadata.deleting]
    return len(alive) < context.batch(index) and any(
        pod.revision not in keep for pod in context.workload.pods
    )


def deleted_node_by_node(context: ReleaseContext, index: int) -> tuple[Action, ...]:
    """The next deletions, of abandoned pods first; before the first of them, hold the set and end the admission
    pause.
    """
    holding = set_strategy(context, moving_no_pod(context.workload.kind, owners_strategy(context)))
    return holding or _deletions(context, index)


def _deletions(context: ReleaseContext, index: int) -> tuple[Action, ...]:
    if not context.new_revision:
        # Its ControllerRevision is not there, perhaps deleted: new pods cannot be told from old ones.
        return ()
    nodes = nodes_of(context.replicas, context.workload.pods, context.new_revision)
    rolling = owners_limits(context).rolling_update
    limit = most_unavailable(
        rolling.max_unavailable if rolling is not None else None, context.replicas
    )
    stable = moonshift_status(context.seen.rollout.status).stable_revision
    going = may_go(nodes, context.batch(index), limit, stable)
    return tuple(map(deletion_of, going))
