"""Gives a revision up automatically: restores the stable template, and stops the revision if it is applied again.

Why it is stopped: its source (a pipeline, a GitOps tool) applies it again at once, and the release would begin, fail
and be reverted for ever. Invariant: the restored template is that of the stable revision, from the object in which
Kubernetes keeps it, or from the ControllerRevision in which the release keeps it, never from the status, which more
people may write than the workload; where both are gone nothing is written, and the release stays stalled.
"""

from controller.api.meta import Key
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.decision import Note, Refusal, RevertTemplate, Severity
from controller.domain.rollout.trouble.kept import stable_template_in
from controller.domain.rollout.words.naming import new_in_words
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop


def given_up(release: Release, why: str) -> Stop | None:
    """Restore the stable template because of `why`; None if no object keeps that template any more, if the release
    changes no template, or if it goes back to the stable one already.
    """
    source, kept = kept_template(release), kept_by_us(release)
    if not (source or kept) or release.ours.by_id or release.ours.returning:
        return None
    message = f"{new_in_words(release)} is given up: {why}"
    failed = release.noting(failed_template=release.template_hash)
    action = RevertTemplate(
        kind=release.kind_name,
        workload=release.workload_key,
        generation=release.meta.generation,
        source=Key(release.namespace, source or kept),
        replica_sets=tuple(rs for rs, _ in release.workload.replica_sets),
        template=release.ours.stable_template,
        kept=not source,
    )
    return failed.stop(action, notes=(Note(reasons.GIVEN_UP, message, Severity.WARNING),))


def can_go_back(release: Release) -> bool:
    """The stable template is kept in some object."""
    return bool(kept_template(release) or kept_by_us(release))


def held_as_failed(release: Release) -> Refusal | None:
    """This revision was given up before, and nobody asked to try it again."""
    if release.template_hash != release.ours.failed_template:
        return None
    name = release.seen.rollout.metadata.name
    return Refusal(
        reasons.REVISION_FAILED,
        f"{new_in_words(release)} was given up before and is held: change the template, or try it again with "
        f"kubectl moonshift retry {name}",
        object=release.workload_name,
    )


def kept_template(release: Release) -> str:
    """Name of the ReplicaSet or ControllerRevision that keeps the stable template; empty when none does."""
    stable = release.ours.stable_revision
    if release.kind is WorkloadKind.DEPLOYMENT:
        found = stable_template_in(release)
        return found.metadata.name if found is not None else ""
    kept = [found.object for found in release.workload.revisions if found.name == stable]
    return kept[-1] if stable and kept else ""


def kept_by_us(release: Release) -> str:
    """Name of the ControllerRevision of ours with the stable template of a Deployment; empty without one."""
    kept = release.kept
    known = release.ours.stable_template
    return (
        kept.name if kept is not None and kept.has_template and kept.template_hash == known else ""
    )
