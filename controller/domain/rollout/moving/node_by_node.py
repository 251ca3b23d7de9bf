"""A native DaemonSet: held as OnDelete, its pods deleted node by node within its owner's maxUnavailable.

The deletions are in `nodes`, the arithmetic in `pods/daemonset`. Invariant: a pod is deleted only while the set is
held; otherwise its own controller would delete other pods at the same time.
"""

from controller.api.rollout import RolloutStatus
from controller.domain.decision import Action
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.moving import nodes_from_zero
from controller.domain.rollout.moving.given_up import SetsWithLimits
from controller.domain.rollout.moving.nodes import deleted_node_by_node
from controller.domain.rollout.moving.sets import blocked_set
from controller.domain.rollout.release_context import ReleaseContext
from controller.domain.rollout.transition import Stop


class NodeByNode(SetsWithLimits):
    """Pods are replaced node by node."""

    def preconditions(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """The controller has caught up: it knows the revision with which deleted pods return."""
        return blocked_set(context, status)

    def grow(
        self, context: ReleaseContext, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """Delete the next pods; before the first of them, hold the set and end the admission pause."""
        return deleted_node_by_node(context, index)

    def keep(self, context: ReleaseContext, index: int) -> tuple[Action, ...]:
        """Correct a strategy that was edited by hand; a node that joined has a new pod already."""
        return (
            self.grow(context, index, Readiness(0, 0), give_back=True) if context.observed else ()
        )

    def returned_as_new(self, context: ReleaseContext, status: RolloutStatus) -> bool:
        """All nodes were gone, and no step replaces all pods."""
        return nodes_from_zero.returned_as_new(context, status)

    def too_many_are_new(self, context: ReleaseContext, status: RolloutStatus) -> bool:
        """Nodes joined or returned."""
        return nodes_from_zero.too_many_are_new(context, status)

    def bring_stable_back(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """Swap in the stable template where there are new pods; then all pods are stable and ready."""
        return nodes_from_zero.bring_stable_back(context, status)

    def clear_abandoned(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """Nothing to delete: a pod deleted now would return as the newest revision. The steps delete abandoned pods
        before stable ones.
        """
        return blocked_set(context, status)
