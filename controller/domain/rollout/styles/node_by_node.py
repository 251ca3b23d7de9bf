"""A native DaemonSet: held as OnDelete, its pods deleted node by node within its owner's maxUnavailable.

The deletions are in `nodes`, the arithmetic in `pods/daemonset`. Invariant: a pod is deleted only while the set is
held; otherwise its own controller would delete other pods at the same time.
"""

from controller.domain.decision import Action
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.moving.given_up import stable_takes_places
from controller.domain.rollout.moving.nodes import deleted_node_by_node
from controller.domain.rollout.moving.sets import blocked_set
from controller.domain.rollout.styles.nodes_from_zero import DaemonSets
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop


class NodeByNode(DaemonSets):
    """Pods are replaced node by node."""

    def preconditions(self, release: Release) -> Stop | None:
        """The controller has caught up: it knows the revision with which deleted pods return."""
        return blocked_set(release)

    def grow(
        self, release: Release, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """Delete the next pods; before the first of them, hold the set and end the admission pause."""
        return deleted_node_by_node(release, index)

    def keep(self, release: Release, index: int) -> tuple[Action, ...]:
        """Correct a strategy that was edited by hand; a node that joined has a new pod already."""
        return (
            self.grow(release, index, Readiness(0, 0), give_back=True) if release.observed else ()
        )

    def clear_abandoned(self, release: Release) -> Stop | None:
        """Nothing to delete: a pod deleted now would return as the newest revision. The steps delete abandoned pods
        before stable ones.
        """
        return blocked_set(release)

    def scale_up_stable(self, release: Release, stable: Readiness) -> tuple[Action, ...] | None:
        """Stable pods take the places of new ones."""
        return stable_takes_places(release)
