"""Pods of revisions that were given up leave a set of pods before its owner's own limits return.

Why: a partition and OnDelete say which pods may not get the *new* template. After a rollback the stable template is the
newest one, so these limits protected the pods that were rolled back: they ran and served for ever. The same holds for
pods of a revision that a third one replaced. Invariants: a revision is given up if it is neither the template's, nor
the stable one, nor one that ran beside the stable one when the release began: pods that the owner keeps at an older
revision stay there, as far as the order of the set's own controller allows. Without such limits nothing is written: the
owner's own update replaces these pods.
"""

from collections.abc import Sequence

from controller.api.jsontree import JsonObject, changed
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Pod
from controller.domain.decision import Action, FieldOfSpec
from controller.domain.pods.daemonset import Nodes, may_go, most_unavailable
from controller.domain.pods.partition import (
    kept_old,
    moving_no_pod,
    ordinals,
    partition_of,
    partitioned,
)
from controller.domain.rollout.moving.sets import (
    Sets,
    alive_pods,
    blocked_set,
    deletion_of,
    most_unavailable_pods,
    owners_limits,
    owners_strategy,
    set_strategy,
)
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop

BY_NODES = (WorkloadKind.DAEMON_SET, WorkloadKind.ADVANCED_DAEMON_SET)
"""Kinds whose controller creates every pod from the present template, so exactly these pods can be deleted."""


class SetsWithLimits(Sets):
    """Answers that are the same for all kinds, where the owner's limits keep pods from a new template."""

    def given_up_pods_leave(self, release: Release) -> Stop | None:
        """The pods of given-up revisions are replaced before the owner's limits return."""
        return given_up_pods_leave(release, self.owners_fields(release))


def stable_takes_places(
    release: Release, fields: tuple[FieldOfSpec, ...] = ()
) -> tuple[Action, ...]:
    """There is no surge: stable pods take the places of new ones, also of those that the owner's limits protect.

    A rollback is the owner's own update, and the traffic follows it.
    """
    if owner_limits_updates(release):
        return given_up_moves(release.at(release.stored), fields)
    return set_strategy(release, owners_strategy(release)) if release.admission_paused else ()


def given_up_pods(release: Release) -> list[Pod]:
    """The pods of given-up revisions, also those that are being deleted; none while the template's own revision is not
    known.
    """
    ours, present = release.ours, release.present_revision
    keep = (present, ours.stable_revision, *ours.older_revisions)
    return [pod for pod in release.workload.pods if present and pod.revision not in keep]


def owner_limits_updates(release: Release) -> bool:
    """The owner's strategy keeps some pods from getting a new template; false if it is not known: the live one has our
    part in it.
    """
    return release.owners is not None and keeps_old_pods(release)


def keeps_old_pods(release: Release) -> bool:
    """The owner's strategy, or the live one of a set that is not held, keeps some pods from getting a new template."""
    return owners_limits(release).type == "OnDelete" or _kept(release) > 0


def given_up_pods_leave(release: Release, fields: tuple[FieldOfSpec, ...] = ()) -> Stop | None:
    """Replace the pods of given-up revisions; None when the owner's own limits can return."""
    if not owner_limits_updates(release):
        return None
    left = given_up_pods(release)
    if not left and not _returns(release):
        return None
    counted = release.ready(release.promoted_pods)
    wanted = release.replicas - len(_others(release, left))
    enough = counted.ready >= wanted - most_unavailable_pods(release)
    if release.observed and not left and counted.pods >= wanted and enough:
        return None
    blocked = blocked_set(release)
    if blocked is not None:
        return blocked
    return release.stop(*given_up_moves(release, fields), wake_at=counted.next_at)


def given_up_moves(release: Release, fields: tuple[FieldOfSpec, ...] = ()) -> tuple[Action, ...]:
    """The next moves: the strategy under which these pods can leave; then deletions where it is not enough."""
    left = given_up_pods(release)
    written = set_strategy(release, _strategy(release, left), fields)
    if written or not release.observed:
        return written
    leaving = [pod for pod in left if not pod.metadata.deleting]
    going: Sequence[Pod] = ()
    match release.workload.kind:
        case WorkloadKind.DAEMON_SET | WorkloadKind.ADVANCED_DAEMON_SET:
            going = _node_by_node(release, leaving)
        case WorkloadKind.STATEFUL_SET:
            # An unready pod would block the set's controller for ever.
            going = [pod for pod in leaving if pod.ready_since is None and not pod.updated_in_place]
        case _:
            pass
    return tuple(map(deletion_of, going))


def _returns(release: Release) -> bool:
    """The template is the stable one again."""
    return release.template_hash == release.ours.stable_template


def _kept(release: Release) -> int:
    partition = partition_of(release.workload.kind, owners_strategy(release))
    return kept_old(partition, release.replicas)


def _others(release: Release, left: list[Pod]) -> list[Pod]:
    """The pods that are neither given up nor of the template's revision."""
    given_up = {pod.revision for pod in left}
    return [
        pod
        for pod in alive_pods(release)
        if pod.revision not in given_up and pod.revision != release.present_revision
    ]


def _strategy(release: Release, left: list[Pod]) -> JsonObject:
    """The owner's strategy with a limit that protects no given-up pod, and no fewer of the others than necessary."""
    kind, own = release.workload.kind, owners_strategy(release)
    if kind in BY_NODES:
        return moving_no_pod(kind, own)
    rolling = owners_limits(release).rolling_update
    unordered = rolling is not None and rolling.unordered_update is not None
    if kind is WorkloadKind.STATEFUL_SET and not unordered:
        first = release.pod_set.spec.ordinals
        there = ordinals(left, first.start if first is not None else 0)
        protected = min(there, default=_kept(release))
    else:
        protected = len(_others(release, left))
    return changed(
        partitioned(kind, own, min(_kept(release), protected)), ("rollingUpdate", "selector"), None
    )


def _node_by_node(release: Release, leaving: list[Pod]) -> tuple[Pod, ...]:
    alive = alive_pods(release)
    nodes = Nodes(
        size=release.replicas,
        new=tuple(pod for pod in alive if pod not in leaving),
        old=tuple(leaving),
        leaving=len(release.workload.pods) - len(alive),
    )
    rolling = owners_limits(release).rolling_update
    limit = most_unavailable(
        rolling.max_unavailable if rolling is not None else None, release.replicas
    )
    return may_go(nodes, release.replicas, limit, release.ours.stable_revision)
