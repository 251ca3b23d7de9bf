"""Blue-green of a native Deployment: new pods by surge alone, so that every old one stays until the end.

The hold is partition style's: no new pod counts as available, and with maxUnavailable 0 the Deployment's controller
then takes no old one away. The owner's own maxSurge does not limit it: all beside all is what was asked for.
Invariant: nothing is sized by an autoscaler while the pods are doubled.
"""

from controller.api import names
from controller.api.quantity import IntOrPercent, scaled_up
from controller.api.rollout import RolloutStatus
from controller.domain.decision import Action, HoldReplicaSet, PaceDeployment
from controller.domain.pods.deployment import WrittenKnobs, latched, written
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout import autoscalers
from controller.domain.rollout.moving.deployments import Deployments, blocked_workload
from controller.domain.rollout.moving.paced_deployment import clear_abandoned
from controller.domain.rollout.situation import Situation, position
from controller.domain.rollout.turn import Stop


class BlueGreenDeployment(Deployments):
    """The surge follows the steps."""

    def clear(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """As for partition style, once no autoscaler is at work."""
        held = (*autoscalers.hold(sit), *_hold_stable(sit, status))
        if held:
            return Stop(status=status, actions=held)
        blocked = blocked_workload(sit, status)
        if blocked is not None:
            return blocked
        return clear_abandoned(sit, status) if latched(sit.deployment) else None

    def grow(
        self, sit: Situation, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """As much surge as the step wants new pods; a step back takes none away."""
        values = WrittenKnobs(_surge(sit, index), "0%")
        if not latched(sit.deployment) and written(sit.deployment, values):
            return ()
        return (
            PaceDeployment(
                workload=sit.workload_key,
                generation=sit.meta.generation,
                max_surge=values.max_surge,
                max_unavailable=values.max_unavailable,
                latch=sit.meta.annotations[names.LATCH] if latched(sit.deployment) else "",
            ),
        )

    def regrow(self, sit: Situation, index: int) -> tuple[Action, ...]:
        """Nothing: the Deployment's own controller brings its pods back."""
        return ()

    def old_share(self, sit: Situation, status: RolloutStatus, index: int) -> Stop | None:
        """The old pods stay until the end."""
        return None

    def keep(self, sit: Situation, index: int) -> tuple[Action, ...]:
        """Autoscalers stay held, and a hand edit of the knobs is corrected."""
        held = autoscalers.hold(sit)
        if not sit.deployment.observed or sit.deployment.spec.paused:
            return held
        return (*held, *self.grow(sit, index, Readiness(0, 0), give_back=False))

    def clear_abandoned(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """Scale them away; the old pods are all there, so v1 → v2 → v3 is no different from v1 → v2."""
        return blocked_workload(sit, status) or clear_abandoned(sit, status)

    def refill(self, sit: Situation, stable: Readiness) -> tuple[Action, ...] | None:
        """The stable revision has never shrunk."""
        return None


def _surge(sit: Situation, index: int) -> IntOrPercent:
    """The step's own share, as its owner wrote it: of every size its rounding is then the plan's.

    A percentage reckoned from pods (3 of 5 are 60 %) would make one too many of the next size, and keep it for ever.
    What an earlier step wrote stays while it is more.
    """
    asked = sit.step(index).replicas
    share: IntOrPercent = asked if isinstance(asked, str) else sit.batch(index)
    rolling = sit.deployment.spec.strategy.rolling_update
    present = (rolling.max_surge if rolling is not None else None) or 0
    more = min(sit.replicas, scaled_up(present, sit.replicas)) > sit.batch(index)
    return present if more and not latched(sit.deployment) else share


def _hold_stable(sit: Situation, status: RolloutStatus) -> tuple[Action, ...]:
    """The stable ReplicaSet's pods do not count as available either.

    A whole one that does is "saturated" to the Deployment's controller: on the way back, at the moment its template is
    applied, it would take the new pods away before the traffic has left them, paused or not.
    """
    return tuple(
        HoldReplicaSet(found.metadata.key, found.metadata.uid)
        for found, _ in sit.workload.replica_sets
        if found.active
        and found.revision == position(status).stable_revision
        and found.spec.min_ready_seconds != names.HOLD_MIN_READY_SECONDS
    )
