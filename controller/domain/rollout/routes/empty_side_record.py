"""The facts of the sides without ready pods, from which their record advances (`sides`).

`empty_side_routes` moves the shares that this record names. A share moves after the grace period, or at once if no pod
of the side is wanted. This room returns a status and no action.
"""

from datetime import timedelta
from typing import NamedTuple

from controller.api import names
from controller.api.rollout import EmptySide
from controller.api.workload_kinds import WorkloadKind
from controller.domain.rollout.routes import routing
from controller.domain.rollout.routes.empty_sides import (
    has_ready_pods,
    reaches_a_ready_pod,
    ready_pods_if_unpinned,
    sides,
)
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.release_context import Style
from controller.domain.rollout.words.release_value import Release
from controller.domain.sides import ROUTES, SERVICE, Side, SideRevision, advanced
from controller.domain.target import Pinned, Traffic

PINNED_ON = (Goal.ROLLBACK, Goal.CONTINUOUS)
"""Ends of a release during which the stable Service stays pinned until the workload is released."""


def noted(release: Release) -> Release:
    """Record since when each side is empty while the other is not, and since when it is ready again.

    While a workload has no replicas, every side becomes empty: the record does not change.
    """
    if release.seen.workload is not None and not release.replicas:
        return release
    ours, found = release.ours, dict[str, EmptySide]()
    if ours.release and release.seen.workload is not None:
        observed = ((side, _Observed(release, side)) for side in sides(release))
        found = advanced(ours.empty_sides, observed, release.grace, release.now)
    return release if found == ours.empty_sides else release.noting(empty_sides=found)


class _Observed(NamedTuple):
    """The facts of one side of a release (`sides`)."""

    release: Release
    side: Side

    @property
    def patience(self) -> timedelta:
        return timedelta() if _no_pod_is_wanted(*self) else self.release.grace

    def is_ready(self) -> bool:
        return has_ready_pods(*self)

    def is_wrong(self) -> bool:
        return _has_share(*self) and _other_side_has_ready_pods(*self)

    def is_over(self, known: EmptySide) -> bool:
        return _is_over(*self, known)

    def way_to_move_share(self) -> str:
        return _way_to_move_share(*self)


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
