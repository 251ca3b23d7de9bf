"""Canary style: an extra Deployment of the new template beside a Deployment that is not changed until the end.

Invariant: the extra Deployment never shrinks, and the stable one is not changed before the last approval.
"""

from controller.api.meta import Key
from controller.api.rollout import PatchMetadata, RolloutStatus
from controller.domain.decision import Action, EnsureCanaryDeployment, ScaleCanaryDeployment
from controller.domain.pods.canary import canary_deployment, canary_name
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.moving.deployments import Deployments, kept_paused
from controller.domain.rollout.release_context import ReleaseContext
from controller.domain.rollout.transition import Stop
from controller.domain.traffic.companions.claims_of_tools import inherited


def canary_size_is_wrong(context: ReleaseContext, index: int) -> bool:
    """The extra Deployment is missing or smaller than the step wants."""
    canary = context.canary
    return canary is None or canary.deployment.spec.replicas < context.batch(index)


class ExtraDeployment(Deployments):
    """The extra Deployment has the step's size."""

    def preconditions(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """The workload itself does not move; a workload that its owner has paused is not released either."""
        problem = kept_paused(context)
        return Stop(status=status, problem=problem) if problem is not None else None

    def grow(
        self, context: ReleaseContext, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """Create the extra Deployment, or give it the step's size."""
        return self.regrow(context, index)

    def regrow(self, context: ReleaseContext, index: int) -> tuple[Action, ...]:
        """Restore it when it was deleted by hand, or when the workload was scaled up: no route leads to missing
        pods.
        """
        if not canary_size_is_wrong(context, index):
            return ()
        canary = context.canary
        size = context.batch(index)
        if canary is not None:
            meta = canary.deployment.metadata
            return (ScaleCanaryDeployment(meta.key, meta.uid, size),)
        return (_ensured(context, size),)

    def old_share(self, context: ReleaseContext, status: RolloutStatus, index: int) -> Stop | None:
        """The old pods keep their share until the end."""
        return None

    def keep(self, context: ReleaseContext, index: int) -> tuple[Action, ...]:
        """The extra Deployment keeps its size."""
        return self.regrow(context, index)

    def clear_abandoned(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """Nothing: the end removes every extra Deployment."""
        return None

    def scale_up_stable(
        self, context: ReleaseContext, stable: Readiness
    ) -> tuple[Action, ...] | None:
        """The stable Deployment has never shrunk. If its ReplicaSet was deleted, resume it: a paused one creates no
        other.
        """
        whole = any(found.active for found, _ in context.workload.replica_sets)
        if whole or not context.admission_paused or kept_paused(context) is not None:
            return None
        return (self.release(context, keep_mark=True),)


def _ensured(context: ReleaseContext, size: int) -> EnsureCanaryDeployment:
    rollout_uid = context.seen.rollout.metadata.uid
    name = canary_name(context.deployment, context.template_hash, rollout_uid)
    body = canary_deployment(
        context.deployment,
        name=name,
        replicas=size,
        made_from=context.template_hash,
        rollout_uid=rollout_uid,
        owners=context.owners_values,
        patch=context.strategy.patch_pod_template_metadata or PatchMetadata(),
        replica_sets=context.workload.replica_sets,
        inherited=inherited(context.deployment.metadata.labels),
    )
    return EnsureCanaryDeployment(Key(context.namespace, name), body)
