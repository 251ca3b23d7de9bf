"""Blue-green of a native Deployment: new pods by surge alone, so that every old one stays until the end.

The hold is partition style's: no new pod counts as available, and with maxUnavailable 0 the Deployment's controller
then takes no old one away. The owner's own maxSurge does not limit the number: blue-green asks for all new pods
beside all old ones.
Invariant: nothing is sized by an autoscaler while the pods are doubled.
"""

from controller.api import names
from controller.api.quantity import IntOrPercent, scaled_up
from controller.api.rollout import RolloutStatus
from controller.domain.decision import Action, FreezeReplicaSet, PaceDeployment
from controller.domain.pods.deployment import WrittenLimits, admission_paused, written
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout import autoscalers
from controller.domain.rollout.moving.deployments import Deployments, blocked_workload
from controller.domain.rollout.moving.paced_deployment import clear_abandoned, to_begin_with
from controller.domain.rollout.release_context import ReleaseContext, moonshift_status
from controller.domain.rollout.transition import Stop


class BlueGreenDeployment(Deployments):
    """The surge follows the steps."""

    def preconditions(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """As for partition style, once no autoscaler is at work."""
        held = (*autoscalers.pause_all(context), *_freeze_stable(context, status))
        if held:
            return Stop(status=status, actions=held)
        blocked = blocked_workload(context, status)
        if blocked is not None:
            return blocked
        return to_begin_with(context, status) if admission_paused(context.deployment) else None

    def grow(
        self, context: ReleaseContext, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """As much surge as the step wants new pods; a step back takes none away."""
        values = WrittenLimits(_surge(context, index), 0)
        if not admission_paused(context.deployment) and written(context.deployment, values):
            return ()
        return (
            PaceDeployment(
                workload=context.workload_key,
                generation=context.meta.generation,
                max_surge=values.max_surge,
                max_unavailable=values.max_unavailable,
                admission_pause=context.meta.annotations[names.ADMISSION_PAUSE]
                if admission_paused(context.deployment)
                else "",
            ),
        )

    def regrow(self, context: ReleaseContext, index: int) -> tuple[Action, ...]:
        """Nothing: the Deployment's own controller brings its pods back."""
        return ()

    def old_share(self, context: ReleaseContext, status: RolloutStatus, index: int) -> Stop | None:
        """The old pods stay until the end."""
        return None

    def keep(self, context: ReleaseContext, index: int) -> tuple[Action, ...]:
        """Autoscalers stay paused, and a manual change of the limits is corrected."""
        held = autoscalers.pause_all(context)
        if not context.deployment.observed or context.deployment.spec.paused:
            return held
        return (*held, *self.grow(context, index, Readiness(0, 0), give_back=False))

    def clear_abandoned(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """Scale them away; the old pods are all there, so v1 → v2 → v3 is no different from v1 → v2."""
        return blocked_workload(context, status) or clear_abandoned(context, status)

    def scale_up_stable(
        self, context: ReleaseContext, stable: Readiness
    ) -> tuple[Action, ...] | None:
        """The stable revision has never shrunk."""
        return None


def _surge(context: ReleaseContext, index: int) -> IntOrPercent:
    """The step's own share, as its owner wrote it: of every size its rounding is then the plan's.

    A percentage reckoned from pods (3 of 5 are 60 %) would make one too many of the next size, and keep it for ever.
    A larger number of an earlier step stays.
    """
    asked = context.step(index).replicas
    share: IntOrPercent = asked if isinstance(asked, str) else context.batch(index)
    rolling = context.deployment.spec.strategy.rolling_update
    present = (rolling.max_surge if rolling is not None else None) or 0
    more = min(context.replicas, scaled_up(present, context.replicas)) > context.batch(index)
    return present if more and not admission_paused(context.deployment) else share


def _freeze_stable(context: ReleaseContext, status: RolloutStatus) -> tuple[Action, ...]:
    """The stable ReplicaSet's pods do not count as available either.

    A whole one that does is "saturated" to the Deployment's controller: on the way back, at the moment its template is
    applied, it would take the new pods away before the traffic has left them, paused or not.
    """
    return tuple(
        FreezeReplicaSet(found.metadata.key, found.metadata.uid)
        for found, _ in context.workload.replica_sets
        if found.active
        and found.revision == moonshift_status(status).stable_revision
        and found.spec.min_ready_seconds != names.FREEZE_MIN_READY_SECONDS
    )
