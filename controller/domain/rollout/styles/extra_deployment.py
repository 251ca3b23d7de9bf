"""Canary style: an extra Deployment of the new template beside a Deployment that is not changed until the end.

Invariant: the extra Deployment never shrinks, and the stable one is not changed before the last approval.
"""

from controller.api.meta import Key
from controller.api.rollout import PatchMetadata
from controller.api.workload_kinds import DEPLOYMENT
from controller.domain.decision import Action, EnsureCanaryDeployment, size
from controller.domain.pods.canary import canary_deployment, canary_name
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.moving.deployments import Deployments, kept_paused
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop
from controller.domain.traffic.companions.claims_of_tools import inherited


def canary_size_is_wrong(release: Release, index: int) -> bool:
    """The extra Deployment is missing or smaller than the step wants."""
    canary = release.canary
    return canary is None or canary.deployment.spec.replicas < release.batch(index)


class ExtraDeployment(Deployments):
    """The extra Deployment has the step's size."""

    def preconditions(self, release: Release) -> Stop | None:
        """The workload itself does not move; a workload that its owner has paused is not released either."""
        problem = kept_paused(release)
        return release.stop(problem=problem) if problem is not None else None

    def grow(
        self, release: Release, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """Create the extra Deployment, or give it the step's size."""
        return self.regrow(release, index)

    def regrow(self, release: Release, index: int) -> tuple[Action, ...]:
        """Restore it when it was deleted by hand, or when the workload was scaled up: no route leads to missing
        pods.
        """
        if not canary_size_is_wrong(release, index):
            return ()
        canary = release.canary
        wanted = release.batch(index)
        if canary is not None:
            return (size(DEPLOYMENT, canary.deployment.metadata, wanted),)
        return (_ensured(release, wanted),)

    def keep(self, release: Release, index: int) -> tuple[Action, ...]:
        """The extra Deployment keeps its size."""
        return self.regrow(release, index)

    def scale_up_stable(self, release: Release, stable: Readiness) -> tuple[Action, ...] | None:
        """The stable Deployment has never shrunk. If its ReplicaSet was deleted, resume it: a paused one creates no
        other.
        """
        whole = any(found.active for found, _ in release.workload.replica_sets)
        if whole or not release.admission_paused or kept_paused(release) is not None:
            return None
        return (self.release(release, keep_mark=True),)


def _ensured(release: Release, replicas: int) -> EnsureCanaryDeployment:
    rollout_uid = release.seen.rollout.metadata.uid
    name = canary_name(release.deployment, release.template_hash, rollout_uid)
    body = canary_deployment(
        release.deployment,
        name=name,
        replicas=replicas,
        made_from=release.template_hash,
        rollout_uid=rollout_uid,
        owners=release.owners_values,
        patch=release.strategy.patch_pod_template_metadata or PatchMetadata(),
        replica_sets=release.workload.replica_sets,
        inherited=inherited(release.deployment.metadata.labels),
    )
    return EnsureCanaryDeployment(Key(release.namespace, name), body)
