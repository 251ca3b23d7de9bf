"""Rollback in batches: releases the stable revision step by step over the revision that was given up.

An annotation of the Rollout asks for it; without it, and where it has no effect, a rollback is immediate. Invariants:
steps, pauses and approvals are those of the plan; the stable revision does not change; if the annotation is removed,
the remaining pods return at once. A release that was given up automatically never waits for a person during its
rollback.
"""

from controller.api import names
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Pod
from controller.domain.decision import POD, Action, SetMetadata
from controller.domain.pods.partition import ordinals
from controller.domain.pods.rollback_batches import to_label
from controller.domain.rollout.routes.shared_routing import divides_traffic
from controller.domain.rollout.words.by_id import share_by_id
from controller.domain.rollout.words.release_context import Style, known_template
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop

IN_BATCHES = (WorkloadKind.STATEFUL_SET, WorkloadKind.CLONE_SET)


def may_return_in_batches(release: Release) -> bool:
    """The annotation asks for it, and no traffic waits for the rollback."""
    asked = release.seen.rollout.metadata.annotations.get(names.ROLLBACK_IN_BATCH) == "true"
    by_kind = release.style is Style.PARTITION and release.kind in IN_BATCHES
    return asked and by_kind and not divides_traffic(release)


def returns_in_batches(release: Release) -> bool:
    """The stable template came back and begins a rollback in batches: there are new pods to replace."""
    given_up = release.ours.failed_template == known_template(release.status)
    return may_return_in_batches(release) and release.old_revision_runs and not given_up


def still_returning(release: Release) -> bool:
    """A rollback in batches is under way, and the annotation still asks for it."""
    return release.ours.returning and may_return_in_batches(release)


def returning_id(release: Release) -> str:
    """The release's id on pods: different from the id of the release that created the stable revision."""
    own = release.rollout_id
    return f"rollback-{own}" if own == release.template_hash else own


def observed_id(release: Release) -> str:
    """The id of the release under way."""
    return returning_id(release) if release.ours.returning else release.rollout_id


def mark_pods_that_stayed(release: Release) -> Stop | None:
    """Before the first move, mark every pod of the stable revision that no step has replaced."""
    if not (release.ours.returning and release.admission_paused):
        return None
    rollout_id = observed_id(release)
    actions: tuple[Action, ...] = tuple(
        _marked(pod, rollout_id)
        for pod in release.new_pods
        if not pod.metadata.deleting and pod.metadata.labels.get(names.NO_NEED_UPDATE) != rollout_id
    )
    return release.stop(*actions) if actions else None


def _marked(pod: Pod, rollout_id: str | None) -> SetMetadata:
    """The pod never left the revision to which the release of this id goes back."""
    labels = {names.NO_NEED_UPDATE: rollout_id}
    return SetMetadata(POD, pod.metadata.key, pod.metadata.uid, labels=labels)


def unmark(release: Release) -> Stop | None:
    """Remove these marks from all pods."""
    actions: tuple[Action, ...] = tuple(
        _marked(pod, None)
        for pod in release.workload.pods
        if names.NO_NEED_UPDATE in pod.metadata.labels and not pod.metadata.deleting
    )
    return release.stop(*actions) if actions else None


def pods_to_label(release: Release) -> tuple[Pod, ...]:
    """The pods of the new revision that carry the number of their batch."""
    index = max(1, release.ours.step)
    rollout_id = release.shown.observed_rollout_id
    if release.ours.by_id:
        return share_by_id(release, index, rollout_id)
    if not release.ours.returning:
        return release.new_pods
    alive = [pod for pod in release.new_pods if not pod.metadata.deleting]
    preferred = sorted(alive, key=lambda pod: (-max(ordinals([pod]), default=0), pod.metadata.name))
    return to_label(preferred, rollout_id, release.batch(index), release.wanted(index))
