"""Restores admission's changes on a workload during a release: label, marks, availability freeze, admission pause.

Why: no webhook may have answered when somebody replaced a manifest, removed a label or edited the freeze. Without the
freeze the workload's own controller goes on to the new version at once, whatever the steps say. Invariant: the changes
are restored before anything else is decided, and without waiting for anything.
"""

import msgspec

from controller.api import names
from controller.api.jsontree import JsonObject
from controller.api.podsets import PodSet
from controller.api.rollout import StepState
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.decision import FreezeWorkload, Refusal
from controller.domain.pods.deployment import (
    RollingLimits,
    WrittenLimits,
    admission_paused,
    write_rolling_limits,
)
from controller.domain.pods.marks import hold_on
from controller.domain.pods.partition import partition_of
from controller.domain.rollout.words.release_context import Style
from controller.domain.rollout.words.release_value import Release


def values_are_lost(release: Release) -> Refusal | None:
    """The owner's own values are lost while the workload is frozen: nothing moves until people write them again."""
    known = release.owners is not None or release.kept_owners
    if known or _is_its_owners(release) or _moves_freely(release):
        return None
    return Refusal(
        reasons.OWNERS_VALUES_LOST,
        f"{release.workload_name} is held, and its annotation {names.ORIGINAL_STRATEGY} with its owner's own values is "
        "gone: write them into the workload's spec, and take off the hold (minReadySeconds) of a Deployment",
        object=release.workload_name,
    )


def _is_its_owners(release: Release) -> bool:
    """True for a Deployment that is not frozen: its spec has its owner's own values."""
    if release.kind is not WorkloadKind.DEPLOYMENT:
        return False
    return release.deployment.spec.min_ready_seconds != names.FREEZE_MIN_READY_SECONDS


def _moves_freely(release: Release) -> bool:
    """True for a set whose strategy holds no pod: its spec has its owner's own values."""
    found, kind = release.workload.object, release.workload.kind
    if not isinstance(found, PodSet):
        return False
    strategy = msgspec.json.decode(found.spec.update_strategy, type=JsonObject | None) or {}
    by_hand = strategy.get("type") == "OnDelete"
    waits = found.spec.min_ready_seconds == names.FREEZE_MIN_READY_SECONDS
    return not by_hand and not waits and partition_of(kind, strategy) == 0


def freeze_again(release: Release) -> FreezeWorkload:
    """Label, marks, freeze and pause, as admission would have set them."""
    ours = release.ours
    known = ours.release and release.template_hash == ours.revision
    limits = _limits(release) if known else None
    return FreezeWorkload(
        kind=release.kind_name,
        workload=release.workload_key,
        generation=release.meta.generation,
        rollout=release.seen.rollout.metadata.name,
        release=release.kept_identity if known else release.identity,
        record=release.kept_owners,
        stable_revision=ours.stable_revision if release.kind is WorkloadKind.DEPLOYMENT else "",
        beside=release.style is Style.BLUE_GREEN and release.kind is WorkloadKind.CLONE_SET,
        max_surge=limits.max_surge if limits is not None else None,
        max_unavailable=limits.max_unavailable if limits is not None else None,
        resumed=release.kind is WorkloadKind.DEPLOYMENT and _was_resumed_unseen(release),
    )


def _limits(release: Release) -> WrittenLimits | None:
    """The limits of a Deployment that has the step's pods, so that pods added by its owner's own limits are removed
    again.
    """
    ours = release.ours
    settled = ours.state in (StepState.STEP_METRICS_ANALYSIS, StepState.STEP_PAUSED)
    if release.kind is not WorkloadKind.DEPLOYMENT or release.style is Style.CANARY:
        return None
    if not settled or not release.replicas:
        # With no replicas both limits would be zero, which the API refuses.
        return None
    share = release.batch(ours.step)
    if release.style is Style.PARTITION:
        return write_rolling_limits(RollingLimits(0, share), release.replicas)
    return WrittenLimits(release.step(ours.step).replicas or 0, 0)


def lost_its_freeze(release: Release) -> bool:
    """The owner's record, the mark or the freeze is missing, or the record is outdated; in canary style the pause,
    which stays to the end.
    """
    if release.owners is None or not hold_on(release.workload.object).rollout:
        return True
    if release.kind is not WorkloadKind.DEPLOYMENT:
        return False
    if _is_its_owners(release) or _was_resumed_unseen(release):
        return True
    return release.style is Style.CANARY and not admission_paused(release.deployment)


def lost_its_record(release: Release) -> bool:
    """A Deployment that is still frozen has no record (an undo that no webhook saw drops it): its end could restore
    nothing, and would leave the freeze.
    """
    known = release.kept_owners
    return (
        release.kind is WorkloadKind.DEPLOYMENT
        and release.owners is None
        and bool(known)
        and not _is_its_owners(release)
    )


def _was_resumed_unseen(release: Release) -> bool:
    """The owner removed a pause of theirs while no webhook answered: the release would wait for ever."""
    known = release.owners is not None and release.owners.paused
    return known and not release.deployment.spec.paused
