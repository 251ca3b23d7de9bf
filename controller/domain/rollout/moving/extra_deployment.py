"""Canary style: an extra Deployment of the new template beside a Deployment that stays as it is until the end.

Invariant: the extra Deployment is never shrunk, and the stable one is not touched before the last approval.
"""

from controller.api.meta import Key
from controller.api.rollout import PatchMetadata, RolloutStatus
from controller.domain.decision import Action, EnsureCanaryDeployment, ScaleCanaryDeployment
from controller.domain.pods.canary import canary_deployment, canary_name
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.moving.deployments import Deployments
from controller.domain.rollout.situation import Situation
from controller.domain.rollout.turn import Stop


def canary_size_is_wrong(sit: Situation, index: int) -> bool:
    """The extra Deployment is missing or smaller than the step wants."""
    canary = sit.canary
    return canary is None or canary.deployment.spec.replicas < sit.batch(index)


class ExtraDeployment(Deployments):
    """The extra Deployment has the step's size."""

    def clear(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """Nothing: the workload itself is not moved."""
        return None

    def grow(
        self, sit: Situation, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """Make the extra Deployment, or give it the step's size."""
        return self.regrow(sit, index)

    def regrow(self, sit: Situation, index: int) -> tuple[Action, ...]:
        """Deleted by hand, or the workload was scaled up: no route without the pods it would lead to."""
        if not canary_size_is_wrong(sit, index):
            return ()
        canary = sit.canary
        size = sit.batch(index)
        if canary is not None:
            meta = canary.deployment.metadata
            return (ScaleCanaryDeployment(meta.key, meta.uid, size),)
        return (_ensured(sit, size),)

    def old_share(self, sit: Situation, status: RolloutStatus, index: int) -> Stop | None:
        """The old pods keep their share until the end."""
        return None

    def keep(self, sit: Situation, index: int) -> tuple[Action, ...]:
        """The extra Deployment keeps its size."""
        return self.regrow(sit, index)

    def clear_abandoned(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """Nothing: the end removes every extra Deployment."""
        return None

    def refill(self, sit: Situation, stable: Readiness) -> tuple[Action, ...] | None:
        """The stable Deployment is as it was."""
        return None


def _ensured(sit: Situation, size: int) -> EnsureCanaryDeployment:
    rollout_uid = sit.seen.rollout.metadata.uid
    name = canary_name(sit.deployment, sit.template_hash, rollout_uid)
    body = canary_deployment(
        sit.deployment,
        name=name,
        replicas=size,
        template_hash=sit.template_hash,
        rollout_uid=rollout_uid,
        owners=sit.owners_values,
        patch=sit.strategy.patch_pod_template_metadata or PatchMetadata(),
    )
    return EnsureCanaryDeployment(Key(sit.namespace, name), body)
