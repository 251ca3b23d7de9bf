"""Blue-green of a native Deployment: new pods by surge alone, so that every old pod stays until the end.

The hold is that of partition style: no new pod counts as available, and with maxUnavailable 0 the Deployment's
controller then removes no old one. The owner's own maxSurge does not limit the number: blue-green needs all new pods
in addition to all old ones.
Invariant: no autoscaler changes the size while the pods are doubled.
"""

from controller.api import names
from controller.api.quantity import IntOrPercent, scaled_up
from controller.domain.decision import (
    REPLICA_SET,
    Action,
    FreezeReplicaSet,
    SetSize,
    size,
)
from controller.domain.pods.deployment import (
    WrittenLimits,
    admission_paused,
    has_limits,
    read_rolling_limits,
)
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.moving import autoscalers
from controller.domain.rollout.moving.abandoned import clear_abandoned
from controller.domain.rollout.moving.deployments import Deployments, blocked_workload, paced
from controller.domain.rollout.moving.from_zero import stable_replica_set, was_rebuilt
from controller.domain.rollout.styles.paced_deployment import before_first_move, grown_stable
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop


class BlueGreenDeployment(Deployments):
    """The surge follows the steps."""

    def preconditions(self, release: Release) -> Stop | None:
        """All autoscalers are paused, and the stable ReplicaSet is frozen; then as for partition style.

        The Deployment stays frozen through a rollback, so no freeze has to take effect again.
        """
        held = autoscalers.hold(release)
        frozen = _freeze_stable(release)
        if held is not None:
            return held.also(*frozen)
        if frozen:
            return release.stop(*frozen)
        blocked = blocked_workload(release)
        if blocked is not None:
            return blocked
        return before_first_move(release) if admission_paused(release.deployment) else None

    def grow(
        self, release: Release, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """The surge is the step's number of new pods; a jump back removes no pod.

        Missing stable pods come first: the Deployment's controller would create new ones in their places. Unless the
        present limits let it remove them again.
        """
        values = WrittenLimits(_surge(release, index), 0)
        regrown = self.regrow(release, index)
        if regrown and not read_rolling_limits(release.deployment).unavailable:
            return regrown
        if not admission_paused(release.deployment) and has_limits(release.deployment, values):
            return regrown
        return (paced(release, values, ends_pause=admission_paused(release.deployment)),)

    def regrow(self, release: Release, index: int) -> tuple[Action, ...]:
        """The stable ReplicaSet has the workload's size, also after scaling.

        The Deployment's controller divides added pods by the sizes of both ReplicaSets. At 1+1 pods in a step of 10 %,
        scaling to 20 made 11+11, and 11 stable pods got the traffic of 18.
        """
        deployment = release.deployment
        if not deployment.observed or deployment.spec.paused:
            return ()
        stable = stable_replica_set(release)
        if stable is None or not (stable.active or was_rebuilt(stable)):
            return ()
        if stable.spec.replicas < release.replicas:
            return (size(REPLICA_SET, stable.metadata, release.replicas),)
        return _surplus_leaves(release) if was_rebuilt(stable) else ()

    def returned_as_new(self, release: Release) -> bool:
        """Not if the stable ReplicaSet was deleted and made again: it gets its pods in addition (`regrow`)."""
        stable = stable_replica_set(release)
        made_again = stable is not None and was_rebuilt(stable)
        return not made_again and super().returned_as_new(release)

    def keep(self, release: Release, index: int) -> tuple[Action, ...]:
        """A manual change of the limits is corrected."""
        if not release.deployment.observed or release.deployment.spec.paused:
            return ()
        return self.grow(release, index, Readiness(0, 0), give_back=False)

    def clear_abandoned(self, release: Release) -> Stop | None:
        """Scale the abandoned revision to zero. All stable pods exist, so v1 → v2 → v3 works like v1 → v2."""
        return blocked_workload(release) or clear_abandoned(release)

    def scale_up_stable(self, release: Release, stable: Readiness) -> tuple[Action, ...] | None:
        """The stable revision has never shrunk, except where the workload went on while no webhook answered."""
        return grown_stable(release, stable) if release.ours.went_on else None


def _surge(release: Release, index: int) -> IntOrPercent:
    """The step's own share, as the owner wrote it: then its rounding follows the plan at every size.

    A percentage computed from pods (3 of 5 are 60 %) would create one pod too many at another size, and keep it for
    ever. A larger number of an earlier step stays.
    """
    asked = release.step(index).replicas
    share: IntOrPercent = asked if isinstance(asked, str) else release.batch(index)
    rolling = release.deployment.spec.strategy.rolling_update
    present = (rolling.max_surge if rolling is not None else None) or 0
    more = min(release.replicas, scaled_up(present, release.replicas)) > release.batch(index)
    return present if more and not admission_paused(release.deployment) else share


def _surplus_leaves(release: Release) -> tuple[SetSize, ...]:
    """The Deployment's controller made new pods in the place of stable ones; with all of these back, and their share,
    there are as many new ones as the surge allows.
    """
    # As stored: a share that this pass only begins to lead back is not back yet.
    if admission_paused(release.deployment) or moonshift_status(release.stored).empty_sides:
        return ()
    most = min(release.replicas, read_rolling_limits(release.deployment).surge)
    return tuple(
        size(REPLICA_SET, found.metadata, most)
        for found, hashed in release.workload.replica_sets
        if hashed == release.template_hash and found.spec.replicas > most
    )


def _freeze_stable(release: Release) -> tuple[Action, ...]:
    """Pods of the stable ReplicaSet must not count as available either.

    Kubernetes calls a ReplicaSet with all its pods available "saturated". On a rollback, when the stable template is
    applied, the Deployment's controller would remove the new pods before the traffic has left them, paused or not.
    """
    return tuple(
        FreezeReplicaSet(found.metadata.key, found.metadata.uid)
        for found, _ in release.workload.replica_sets
        if found.active
        and found.revision == release.ours.stable_revision
        and found.spec.min_ready_seconds != names.FREEZE_MIN_READY_SECONDS
    )
