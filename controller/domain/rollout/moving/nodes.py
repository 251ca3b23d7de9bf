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
from controller.domain.rollout.words.release_value import Release


def abandoned_go_first(release: Release, index: int) -> bool:
    """The step wants more new pods, and pods of an abandoned revision can make room for them."""
    keep = (release.ours.stable_revision, release.new_revision)
    alive = [pod for pod in release.new_pods if not pod.metadata.deleting]
    return len(alive) < release.batch(index) and any(
        pod.revision not in keep for pod in release.workload.pods
    )


def deleted_node_by_node(release: Release, index: int) -> tuple[Action, ...]:
    """The next deletions, of abandoned pods first; before the first of them, hold the set and end the admission
    pause.
    """
    holding = set_strategy(release, moving_no_pod(release.workload.kind, owners_strategy(release)))
    return holding or _deletions(release, index)


def _deletions(release: Release, index: int) -> tuple[Action, ...]:
    if not release.new_revision:
        # Its ControllerRevision is not there, perhaps deleted: new pods cannot be told from old ones.
        return ()
    nodes = nodes_of(release.replicas, release.workload.pods, release.new_revision)
    rolling = owners_limits(release).rolling_update
    limit = most_unavailable(
        rolling.max_unavailable if rolling is not None else None, release.replicas
    )
    stable = release.ours.stable_revision
    going = may_go(nodes, release.batch(index), limit, stable)
    return tuple(map(deletion_of, going))
