"""Pods of revisions that are neither stable nor new are removed before a native Deployment gets its next new pods.

Why: without this the next batch would be taken from the stable revision (a third revision of 2 pods over 5+5 leaves
5+3+2). The Deployment is paused meanwhile, and its own controller gives the share of an emptied ReplicaSet to the only
one that is left. Stable pods replace the abandoned ones within the owner's maxUnavailable: a rollback of a step with
all pods, followed by a third revision, had left no ready pod at all; and with routes, the two stable pods of eight had
got all traffic. Invariants: as long as requests reach them, at most as many ready pods go as the owner allows; if
stable pods do not become ready in time (`awaiting_stable`), the abandoned ones go nevertheless.
"""

from controller.api.quantity import scaled_up
from controller.api.workloads import ReplicaSet
from controller.domain.decision import REPLICA_SET, Action, SetSize, size
from controller.domain.pods.deployment import Limits, WrittenLimits, owners_limits
from controller.domain.pods.trouble import without_room
from controller.domain.rollout.moving.awaiting_stable import stable_is_awaited_until
from controller.domain.rollout.moving.deployments import paced
from controller.domain.rollout.moving.from_zero import stable_replica_set
from controller.domain.rollout.routes.services import pinned_to
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop


def clear_abandoned(release: Release) -> Stop | None:
    """Remove the pods of abandoned revisions, and wait until they are gone.

    If the stable ReplicaSet wants no pod, the Deployment's controller would fill the emptied ReplicaSet again, for
    ever. That is so where the stable ReplicaSet was deleted (`stable_gone`); the steps then replace the running pods.
    """
    stable = stable_replica_set(release)
    if stable is None or not stable.active:
        return None
    left = abandoned(release)
    if left:
        needed = not _all_requests_reach(release, stable.revision)
        replaced = replace_abandoned(release) if needed else None
        return replaced or release.stop(*tuple(_sized(rs, 0) for rs in left))
    keep = (release.ours.stable_revision, release.new_revision)
    leaving = any(
        pod.revision not in keep and not pod.metadata.deleting for pod in release.workload.pods
    )
    return release.stop() if leaving else None


def abandoned(release: Release) -> tuple[ReplicaSet, ...]:
    """Active ReplicaSets that are neither stable nor new: remains of an earlier release."""
    keep = (release.ours.stable_revision, release.new_revision)
    return tuple(
        rs for rs, _ in release.workload.replica_sets if rs.active and rs.revision not in keep
    )


def _all_requests_reach(release: Release, stable: str) -> bool:
    """Every Service that the routes name is pinned to the stable revision.

    A Service of a TrafficRouting never is: once its shared route is closed, abandoned pods get requests, too.
    """
    pinned = (pinned_to(release, service) == stable for service in release.stable_services)
    return bool(release.stable_services) and all(pinned)


def replace_abandoned(release: Release, *, enough: int = 0) -> Stop | None:
    """The next stable pods in place of abandoned ones.

    None if the stable revision wants no pod, has as many ready pods as the owner's maxUnavailable asks for and as are
    `enough`, or did not get them within the deadline. With `enough`, the routes can lead all traffic to the stable pods
    that there are: so one ready pod less than the owner wants is accepted where the Deployment's controller would undo
    the exchange, and a quota or full nodes end it.
    """
    stable, left = stable_replica_set(release), abandoned(release)
    if stable is None or not stable.active:
        return None
    counted = release.ready(release.pods_of(stable.revision))
    limits = owners_limits(release.owners_values, release.replicas)
    needed = max(0, release.replicas - limits.unavailable - counted.ready)
    ready = sum(release.ready(release.pods_of(rs.revision)).ready for rs in left)
    due = stable_is_awaited_until(release)
    there_are_enough = not needed and counted.ready >= enough
    if there_are_enough or due <= release.now or (left and not ready):
        return None
    if enough and without_room(stable.status.conditions, release.pods_of(stable.revision)):
        return None
    if not left or counted.ready < stable.spec.replicas:
        # Stable pods that take the places of abandoned ones are not ready yet, perhaps of the last ones.
        return release.stop(wake_at=min(counted.next_at or due, due))
    most = max(0, sum(rs.spec.replicas for rs in left) - min(needed, ready))
    going = _going(stable, left, most, _unused_surge(release, limits), strict=not enough)
    actions = _exchanged(stable, left, going) if going else _with_owners_surge(release, limits)
    return release.stop(*actions, wake_at=due)


def _going(
    stable: ReplicaSet, left: tuple[ReplicaSet, ...], most: int, surge: int, *, strict: bool
) -> int:
    """Abandoned pods of the next exchange: `most`, or one other number if that lasts; 0 if the owner's surge helps."""
    there, leaving = stable.spec.replicas, sum(rs.spec.replicas for rs in left)
    if lasting := lasting_exchange(there, leaving, most):
        return lasting
    grown = leaving + surge if leaving >= there else leaving
    if surge and (strict or lasting_exchange(there, grown, most + surge)):
        return 0
    # If `strict`, both writes may come before the Deployment's controller looks.
    return most if strict else most + 1


def lasting_exchange(stable: int, left: int, most: int) -> int:
    """How many of `left` abandoned pods, at most `most`, can be exchanged for stable ones; 0 if none can.

    The sizes of two ReplicaSets are two writes, and the Deployment's controller may look between them: it adds missing
    pods to the largest ReplicaSet (of equals to the newer) and removes surplus ones from the largest (of equals from
    the older, which is stable). So an exchange lasts if the abandoned ReplicaSet becomes smaller than the stable one
    is, or if the stable one stays smaller than the abandoned one is.
    """
    return most - 1 if most and left - stable == most else most


def _exchanged(stable: ReplicaSet, left: tuple[ReplicaSet, ...], pods: int) -> tuple[Action, ...]:
    """Stable pods in place of at most so many pods of the largest abandoned ReplicaSet.

    The paused Deployment's controller gives the freed share to the largest ReplicaSet. Where that is not the stable
    one, its size is written, too; the sum of the sizes stays, so that the controller changes none of them.
    """
    largest = max(left, key=lambda rs: rs.spec.replicas)
    going = min(pods, largest.spec.replicas)
    shrunk = _sized(largest, largest.spec.replicas - going)
    if len(left) == 1 and shrunk.replicas < stable.spec.replicas:
        return (shrunk,)
    return (shrunk, _sized(stable, stable.spec.replicas + going))


def _unused_surge(release: Release, limits: Limits) -> int:
    """Pods that the owner's maxSurge allows, and the limits in force do not yet."""
    rolling = release.deployment.spec.strategy.rolling_update
    present = (rolling.max_surge if rolling is not None else None) or 0
    return max(0, limits.surge - scaled_up(present, release.replicas))


def _with_owners_surge(release: Release, limits: Limits) -> tuple[Action, ...]:
    """Every ready pod is needed: the paused Deployment's controller adds the owner's surge."""
    if not _unused_surge(release, limits):
        return ()
    return (paced(release, WrittenLimits(limits.surge, 0)),)


def _sized(rs: ReplicaSet, replicas: int) -> SetSize:
    return size(REPLICA_SET, rs.metadata, replicas)
