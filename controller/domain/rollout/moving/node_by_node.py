"""A native DaemonSet: held as OnDelete, its pods deleted node by node within its owner's maxUnavailable.

The arithmetic is in `pods/daemonset`. Invariant: a pod is deleted only by its UID, and only while the set is held: else
its own controller would delete others at the same time.
"""

from controller.api.rollout import RolloutStatus
from controller.domain.decision import Action, DeletePod
from controller.domain.pods.daemonset import may_go, most_unavailable, nodes_of
from controller.domain.pods.partition import held
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.moving.sets import (
    Sets,
    blocked_set,
    owners_limits,
    owners_strategy,
    set_strategy,
)
from controller.domain.rollout.situation import Situation, position
from controller.domain.rollout.turn import Stop


class NodeByNode(Sets):
    """Pods go node by node."""

    def clear(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """The controller has caught up: it knows of the revision that deleted pods should come back as."""
        return blocked_set(sit, status)

    def grow(
        self, sit: Situation, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """The next pods to go; before the first of them, the set is held and the latch is off."""
        holding = set_strategy(sit, held(sit.workload.kind, owners_strategy(sit)))
        return holding or _deletions(sit, index)

    def keep(self, sit: Situation, index: int) -> tuple[Action, ...]:
        """A node that was added got a new pod by itself; a strategy edited by hand is corrected."""
        return self.grow(sit, index, Readiness(0, 0), give_back=True) if sit.observed else ()

    def clear_abandoned(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """Nothing: a pod deleted now would come back as the newest revision; abandoned ones are the first to go."""
        return blocked_set(sit, status)


def _deletions(sit: Situation, index: int) -> tuple[Action, ...]:
    nodes = nodes_of(sit.replicas, sit.workload.pods, sit.new_revision)
    rolling = owners_limits(sit).rolling_update
    limit = most_unavailable(rolling.max_unavailable if rolling is not None else None, sit.replicas)
    stable = position(sit.seen.rollout.status).stable_revision
    going = may_go(nodes, sit.batch(index), limit, stable)
    return tuple(DeletePod(pod.metadata.key, pod.metadata.uid) for pod in going)
