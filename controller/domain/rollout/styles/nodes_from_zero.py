"""A DaemonSet whose nodes all left during a release, and returned: stable pods replace the new ones.

The controller of the DaemonSet creates new pods on every node that returns, before any pass; `surplus_new_pods`
replaces them. Invariant: the stable revision is not decided again.
"""

from controller.api.workload_kinds import WorkloadKind
from controller.domain.rollout.moving import surplus_new_pods
from controller.domain.rollout.moving.from_zero import stable_pods_are_missing
from controller.domain.rollout.moving.given_up import SetsWithLimits
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop


class DaemonSets(SetsWithLimits):
    """How stable pods return where every pod is created from the present template."""

    def returned_as_new(self, release: Release) -> bool:
        """No pod is stable, although no step replaces all pods: all nodes had left."""
        return stable_pods_are_missing(release) and surplus_new_pods.too_many_are_new(release)

    def too_many_are_new(self, release: Release) -> bool:
        """Nodes joined, and more pods are new than the step's share."""
        return surplus_new_pods.too_many_are_new(release)

    def bring_stable_back(self, release: Release) -> Stop | None:
        """Wait until every node has a ready pod, and none is new.

        A pod of a revision before the stable one stays until a step replaces it. A release that waited for stable pods
        alone waited for ever.
        """
        if not surplus_new_pods.can_exchange_templates(release):
            return None
        if not release.observed:
            return release.stop()
        if surplus_new_pods.new_pods_are_there(release):
            return surplus_new_pods.begin_exchange(release)
        counted = release.ready(release.workload.pods)
        return release.stop(wake_at=counted.next_at) if counted.ready < release.replicas else None


def is_daemon_set(release: Release) -> bool:
    """Nodes decide how many pods there are."""
    return release.kind in (WorkloadKind.DAEMON_SET, WorkloadKind.ADVANCED_DAEMON_SET)
