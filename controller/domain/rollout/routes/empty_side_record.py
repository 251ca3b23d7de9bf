"""The record of the sides without ready pods: since when each is empty, and when its share has to move or to return.

`empty_side_routes` moves the shares that this record names. A share moves after the grace period, or at once if no pod
of the side is wanted; it returns when the side has been ready for the grace period. Invariant: instants are kept in the
status, and a missing instant counts as now. This room returns a status and no action.
"""

from datetime import timedelta

from msgspec import structs

from controller.api import names
from controller.api.duration import later
from controller.api.rollout import EmptySide
from controller.api.workload_kinds import WorkloadKind
from controller.domain.rollout.routes import routing
from controller.domain.rollout.routes.empty_sides import (
    ROUTES,
    SERVICE,
    Side,
    SideRevision,
    has_ready_pods,
    reaches_a_ready_pod,
    ready_pods_if_unpinned,
    sides,
)
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.release_context import Style
from controller.domain.rollout.words.release_value import Release
from controller.domain.target import Pinned, Traffic

PINNED_ON = (Goal.ROLLBACK, Goal.CONTINUOUS)
"""Ends of a release during which the stable Service stays pinned until the workload is released."""


def noted(release: Release) -> Release:
    """Record since when each side is empty while the other is not, and since when it is ready again.

    While a workload has no replicas, every side becomes empty: the record does not change.
    """
    if release.seen.workload is not None and not release.replicas:
        return release
    ours = release.ours
    known = ours.empty_sides
    found: dict[str, EmptySide] = {}
    if ours.release and release.seen.workload is not None:
        for side in sides(release):
            entry = _entry_after_this_pass(release, side, known.get(side.key))
            if entry is not None:
                found[side.key] = entry
    return release if found == known else release.noting(empty_sides=found)


def _entry_after_this_pass(
    release: Release, side: Side, known: EmptySide | None
) -> EmptySide | None:
    """The record of a side; None if the side has no problem.

    A record begins only for a side that has a share, while the other side has ready pods. It then stays until the side
    is ready again, or until its share does not return.
    """
    alive = has_ready_pods(release, side)
    if known is None:
        wrong = (
            not alive and _has_share(release, side) and _other_side_has_ready_pods(release, side)
        )
        return _due(release, side, EmptySide()) if wrong else None
    if alive:
        return _returning(release, known)
    if _is_over(release, side, known):
        return None
    return _due(release, side, structs.replace(known, ready_again=None))


def _returning(release: Release, known: EmptySide) -> EmptySide | None:
    """The record ends when the side has been ready for the grace period; at once where no share was moved."""
    since = known.ready_again or release.now
    if not known.led_away or later(since, release.grace) <= release.now:
        return None
    return structs.replace(known, ready_again=since)


def _due(release: Release, side: Side, entry: EmptySide) -> EmptySide:
    """The share moves as soon as the grace period is over, if the other side has ready pods."""
    since = entry.since or release.now
    entry = structs.replace(entry, since=since)
    patience = timedelta() if _no_pod_is_wanted(release, side) else release.grace
    if entry.led_away or later(since, patience) > release.now:
        return entry
    return structs.replace(entry, led_away=_way_to_move_share(release, side))


def _no_pod_is_wanted(release: Release, side: Side) -> bool:
    """The side has no ready pod because no pod of it is wanted."""
    if is_removed_by_the_release(release, side):
        return True
    is_deployment = release.workload.kind is WorkloadKind.DEPLOYMENT
    return side.revision is SideRevision.STABLE and is_deployment and not _is_wanted(release)


def _is_wanted(release: Release) -> bool:
    """Pods of the stable revision are wanted; where that revision is not known, pods of any but the new one.

    A paused Deployment whose stable ReplicaSet was deleted may have pods of an older revision, which the pinned Service
    does not select.
    """
    stable = release.ours.stable_revision
    if not stable:
        return release.old_revision_runs
    return any(run.name == stable for run in release.running)


def is_removed_by_the_release(release: Release, side: Side) -> bool:
    """The release itself removes the last pod of this side."""
    return side.revision is SideRevision.STABLE and removes_the_stable_side(release)


def removes_the_stable_side(release: Release) -> bool:
    """The release, or its step, replaces the last stable pod."""
    ours = release.ours
    if release.style is not Style.PARTITION or not release.steps:
        return False
    return ours.goal == Goal.SUCCESS or release.target(max(1, ours.step)).replaces_all


def _is_over(release: Release, side: Side, known: EmptySide) -> bool:
    """The share that was moved does not return: nothing is pinned, or routed, any more."""
    ours = release.ours
    # The new side: the release ends, or its step leaves the new side without a route of its own.
    if side.revision is SideRevision.NEW:
        ends = bool(ours.goal) or release.target(ours.step).traffic is not Traffic.DIVIDED
        return ends and not release.routes_lead
    if known.led_away == ROUTES:
        return not release.routes_lead
    # The share moved by un-pinning. While routes still lead to a Service without any ready pod, the record is needed.
    stranded = release.routes_lead and not reaches_a_ready_pod(release, side.service)
    if stranded or _is_pinned(release, side.service):
        return False
    return (
        is_removed_by_the_release(release, side)
        or release.target(max(1, ours.step)).pinned is Pinned.NO
        or (bool(ours.goal) and ours.goal not in PINNED_ON)
    )


def _has_share(release: Release, side: Side) -> bool:
    """This side receives requests: from the routes, or because its Service is pinned."""
    if side.revision is SideRevision.STABLE and not release.shared:
        if _is_pinned(release, side.service):
            return True
        if reaches_a_ready_pod(release, side.service):
            return False
    if not release.routes_lead:
        return False
    share = routing.present_share(release)
    if share is None:
        # A step with matches, or a plan that is not known: some requests may go to either side.
        return True
    return share > 0 if side.revision is SideRevision.NEW else share < 100


def _other_side_has_ready_pods(release: Release, side: Side) -> bool:
    """The other side has ready pods."""
    canary = release.canary_service_of(side.service)
    if side.revision is SideRevision.NEW:
        return reaches_a_ready_pod(release, side.service)
    if not release.shared and ready_pods_if_unpinned(release, side.service):
        # The Service is un-pinned already; its slices will soon show it.
        return _is_pinned(release, side.service)
    return release.routes_lead and reaches_a_ready_pod(release, canary)


def _is_pinned(release: Release, service: str) -> bool:
    found = release.service(service)
    return found is not None and names.PINNED in found.metadata.labels


def _way_to_move_share(release: Release, side: Side) -> str:
    """The way in which the side's share can be moved now; empty if no pod would receive the share."""
    un_pinned = (
        side.revision is SideRevision.STABLE
        and not release.shared
        and reaches_a_ready_pod(release, side.service)
    )
    if un_pinned:
        return SERVICE
    if not _other_side_has_ready_pods(release, side):
        return ""
    by_service = (
        side.revision is SideRevision.STABLE
        and not release.shared
        and ready_pods_if_unpinned(release, side.service)
    )
    return SERVICE if by_service else ROUTES
