"""Partition style of a native Deployment: its own controller moves the pods, within rolling update limits that we
write.

A paused Deployment first loses the pods of abandoned revisions; then new pods are added, and the old share is removed.
The arithmetic is in `pods/pacing`. Invariant: limits come from the plan, never from counts of pods.
"""

import msgspec

from controller.api import names
from controller.api.quantity import scaled_down
from controller.api.workloads import RollingUpdate
from controller.domain.decision import Action, MoveWorkload
from controller.domain.pods.deployment import (
    RollingLimits,
    WrittenLimits,
    admission_paused,
    has_limits,
    owners_limits,
    planned_rolling_limits,
    write_rolling_limits,
)
from controller.domain.pods.pacing import next_rolling_limits
from controller.domain.pods.readiness import Readiness
from controller.domain.pods.trouble import without_room
from controller.domain.rollout.moving.abandoned import clear_abandoned, replace_abandoned
from controller.domain.rollout.moving.batches import batch_is_ready
from controller.domain.rollout.moving.deployments import Deployments, blocked_workload, paced
from controller.domain.rollout.routes import routing
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop


class PacedDeployment(Deployments):
    """The rolling update limits of a frozen Deployment follow the steps."""

    def preconditions(self, release: Release) -> Stop | None:
        """The conditions for moving a frozen Deployment."""
        blocked = blocked_workload(release)
        if blocked is not None:
            return blocked
        if not admission_paused(release.deployment):
            return None
        return before_first_move(release) or freeze_takes_effect(release)

    def grow(
        self, release: Release, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """The next change of the limits."""
        return pace(release, index, counted, give_back=give_back)

    def old_share(self, release: Release, index: int) -> Stop | None:
        """No surge is left from growing, and the old pods that it replaced are gone."""
        if old_share_removed(release, index):
            return None
        blocked = blocked_workload(release)
        if blocked is not None:
            return blocked
        due = routing.grace_period_end(release)
        if due is not None:
            return release.wait(due)
        counted = release.ready(release.new_pods)
        return release.stop(*pace(release, index, counted, give_back=True), wake_at=counted.next_at)

    def keep(self, release: Release, index: int) -> tuple[Action, ...]:
        """Correct a manual edit of the limits."""
        if not release.deployment.observed or release.deployment.spec.paused:
            return ()
        return pace(release, index, release.ready(release.new_pods), give_back=True)

    def clear_abandoned(self, release: Release) -> Stop | None:
        """Scale abandoned revisions to zero, once the Deployment may be moved."""
        return blocked_workload(release) or clear_abandoned(release)

    def replace_abandoned(self, release: Release) -> Stop | None:
        """Exchange pods between ReplicaSets, unless the owner keeps the Deployment paused."""
        blocked = blocked_workload(release)
        if blocked is not None:
            return blocked if blocked.problem is None else None
        return replace_abandoned(release, enough=release.enough_for_all_traffic)

    def scale_up_stable(self, release: Release, stable: Readiness) -> tuple[Action, ...] | None:
        """Add stable pods by surge, or in the places of new ones."""
        return grown_stable(release, stable)


def grown_stable(release: Release, stable: Readiness) -> tuple[Action, ...]:
    """Add stable pods by surge: the Deployment's controller removes a new pod only for a stable one that became
    available. Where there is no room for a surge, stable pods take the places of new ones.

    Without the freeze, which would make the pods that carry the traffic count as unavailable.
    """
    if admission_paused(release.deployment):
        return (_grow_stable(release, stable.pods),)
    return _in_the_places_of_new_pods(release)


def before_first_move(release: Release) -> Stop | None:
    """Before the admission pause ends: abandoned revisions are gone, and others have taken their share.

    The room for new pods is what the ReplicaSets leave of `replicas` and maxSurge. The share of a ReplicaSet that we
    emptied is stable's again only once the Deployment's controller has looked; on a busy control plane our next pass
    comes first, and the share would be room for new pods beyond the step. Where somebody deleted every ReplicaSet there
    is none to fill.
    """
    left = clear_abandoned(release)
    if left is not None or not release.workload.replica_sets:
        return left
    wanted = sum(run.size for run in release.running)
    return release.stop() if wanted < release.replicas else None


def freeze_takes_effect(release: Release) -> Stop | None:
    """Existing pods of the new revision must not count as available when the admission pause ends.

    They do after a rollback that restored the owner's minReadySeconds: the Deployment's controller would remove as many
    stable pods in the pass in which the freeze begins again. So the freeze begins while the Deployment is still paused.
    """
    counted = any(
        rs.active and hashed == release.template_hash and rs.status.available_replicas
        for rs, hashed in release.workload.replica_sets
    )
    if not counted:
        return None
    spec = release.deployment.spec
    if spec.min_ready_seconds == names.FREEZE_MIN_READY_SECONDS:
        return release.stop()
    rolling = spec.strategy.rolling_update or RollingUpdate("25%", "25%")
    held = WrittenLimits(rolling.max_surge or 0, rolling.max_unavailable or 0)
    return release.stop(paced(release, held))


def present_rolling_limits(release: Release) -> RollingLimits:
    """The limits in force: those of the frozen Deployment, or those that match the running pods while it is paused.

    After scaling in, a percentage rounds down to fewer pods than the new revision has. The present pods then count, or
    the next move would be added to them (4 pods with one new one, scaled to 3, came to two).
    """
    running = RollingLimits(0, _new_pods(release))
    if admission_paused(release.deployment):
        return running
    rolling_limits = planned_rolling_limits(release.deployment)
    return (
        running
        if rolling_limits.surge == 0 and running.unavailable > rolling_limits.unavailable
        else rolling_limits
    )


def pace(
    release: Release, index: int, counted: Readiness, *, give_back: bool
) -> tuple[Action, ...]:
    """The next change of the Deployment's limits, or nothing."""
    current = present_rolling_limits(release)
    enough = batch_is_ready(release, index, counted)
    rolling_limits = next_rolling_limits(
        current,
        release.batch(index),
        # In a batch that counts as ready, the tolerated unready pods do not hold up the old share.
        max(counted.ready, current.new_pods) if enough else counted.ready,
        owners_limits(release.owners_values, release.replicas),
        give_back=give_back,
        refused=_is_without_room(release),
    )
    ends_pause = admission_paused(release.deployment)
    if not ends_pause and rolling_limits == current:
        planned = _planned(release, index) if current.surge == 0 else None
        if planned is None:
            return ()
        rolling_limits = planned
    values = write_rolling_limits(rolling_limits, release.replicas)
    if not ends_pause and has_limits(release.deployment, values):
        return ()
    return (
        paced(
            release,
            values,
            ends_pause=ends_pause,
            extra_status=_extra_status(counted.ready, release.batch(index)),
        ),
    )


def _extra_status(ready: int, wanted: int) -> str:
    """In the form of the original's Deployment controller: clients read ready pods of the new revision there."""
    status = {"updatedReadyReplicas": ready, "expectedUpdatedReplicas": wanted}
    return msgspec.json.encode(status).decode()


def _planned(release: Release, index: int) -> RollingLimits | None:
    """The limits from plan, step and size alone, for the highest step that was visited.

    None while there are fewer new pods: maxUnavailable alone would remove a stable pod before a new one is ready.
    """
    visited = {visit.step for visit in release.ours.visits}
    share = max(release.batch(step) for step in {index, *visited})
    return RollingLimits(0, share) if _new_pods(release) >= share else None


def _new_pods(release: Release) -> int:
    """The number of new pods that the Deployment's controller wants."""
    sizes = [run.size for run in release.running if run.template_hash == release.template_hash]
    return sizes[-1] if sizes else 0


def old_share_removed(release: Release, index: int) -> bool:
    """No surge is left from growing, and the old pods that it replaced are gone."""
    rolling_limits = present_rolling_limits(release)
    return (
        rolling_limits.surge == 0
        and rolling_limits.new_pods >= release.batch(index)
        and release.deployment.observed
    )


def _grow_stable(release: Release, stable: int) -> MoveWorkload:
    rolling_limits = write_rolling_limits(
        RollingLimits(release.replicas - stable, 0), release.replicas
    )
    return paced(release, rolling_limits, ends_pause=True, owners=release.owners_values)


def _in_the_places_of_new_pods(release: Release) -> tuple[Action, ...]:
    """As many new pods as the owner allows, and at least one, may go before a stable pod has come.

    A quota that the release itself has filled, or full nodes, would refuse every surge for ever, and the new version
    would keep its share of the traffic.
    """
    owners, replicas = release.owners_values, release.replicas
    rolling = release.deployment.spec.strategy.rolling_update
    if rolling is None or scaled_down(rolling.max_unavailable, replicas):
        return ()
    if not _is_without_room(release):
        return ()
    going = max(1, owners_limits(owners, replicas).unavailable)
    allowed = write_rolling_limits(RollingLimits(0, going), replicas)
    limits = WrittenLimits(rolling.max_surge or 0, allowed.max_unavailable)
    return (paced(release, limits, owners=owners),)


def _is_without_room(release: Release) -> bool:
    """Pods of the workload's template are refused, or no node takes them."""
    revision = release.present_revision
    sets = [rs for rs, _ in release.workload.replica_sets if rs.revision == revision]
    refused = [condition for rs in sets for condition in rs.status.conditions]
    return without_room(refused, release.promoted_pods)
