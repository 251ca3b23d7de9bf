"""Brings the stable revision of a Deployment back when somebody deleted its ReplicaSet during a release.

Why: otherwise new pods that nobody approved serve everybody until a person decides. The ReplicaSet is made again
without pods, from the template that the release keeps. In canary style the paused Deployment's controller then fills
it; in partition style the release goes the way of a workload that returned from zero as its new revision (`from_zero`):
stable pods first, then the new ones go, and the release begins again at step 1. In blue-green style `blue_green` gives
it its size, and the step stays. Invariant: only while steps leave stable pods, and never where the Deployment's
controller went on by itself: then people decide (`stable_gone`).
"""

from controller.api.meta import Key, OwnerReference
from controller.api.names import FREEZE_MIN_READY_SECONDS, REVISION
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.decision import Note, RebuildReplicaSet, Severity
from controller.domain.rollout.moving.from_zero import leaves_stable_pods, stable_replica_set
from controller.domain.rollout.trouble.reverting import kept_by_us
from controller.domain.rollout.words import messages
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.release_context import Style
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop

GOALS = ("", Goal.CONTINUOUS, Goal.SCALED_AWAY)


def rebuilt(release: Release) -> Stop | None:
    """Make the stable ReplicaSet again; None where it exists, or is not wanted."""
    if not release.seen.kept or not _is_missed(release):
        return None
    ours, source = release.ours, kept_by_us(release)
    if not source or ours.goal not in GOALS:
        return None
    meta = release.meta
    action = RebuildReplicaSet(
        replica_set=Key(release.namespace, f"{meta.name}-{ours.stable_revision}"),
        deployment=OwnerReference("apps/v1", "Deployment", meta.name, meta.uid, controller=True),
        selector=release.deployment.spec.selector,
        revision=ours.stable_revision,
        number=_number(release),
        min_ready_seconds=_min_ready_seconds(release),
        source=Key(release.namespace, source),
    )
    text = f"{release.workload_name}: {messages.STABLE_REBUILT}"
    return release.stop(action, notes=(Note(reasons.STABLE_REBUILT, text, Severity.WARNING),))


def _is_missed(release: Release) -> bool:
    ours = release.ours
    if release.template_hash == ours.stable_template or ours.by_id or ours.went_on:
        return False
    if stable_replica_set(release) is not None:
        return False
    return release.kind is WorkloadKind.DEPLOYMENT and leaves_stable_pods(release)


def _min_ready_seconds(release: Release) -> int:
    """Blue-green holds the stable pods, too: those of the deleted ReplicaSet were held."""
    is_held = release.style is Style.BLUE_GREEN
    return FREEZE_MIN_READY_SECONDS if is_held else release.owners_values.min_ready_seconds


def _number(release: Release) -> int:
    """Just below the newest: of empty ReplicaSets, the Deployment's controller deletes those of the lowest numbers."""
    numbers = (rs.metadata.annotations.get(REVISION, "") for rs, _ in release.workload.replica_sets)
    return max(max((int(n) for n in numbers if n.isdecimal()), default=1) - 1, 1)
