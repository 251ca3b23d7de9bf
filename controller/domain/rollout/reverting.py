"""Gives a revision up automatically: restores the stable template, and stops the revision if it is applied again.

Why it is stopped: its source (a pipeline, a GitOps tool) applies it again at once, and the release would begin, fail
and be reverted for ever. Invariant: the restored template is that of the stable revision, from the object in which
Kubernetes keeps it, or from the ControllerRevision in which the release keeps it, never from the status, which more
people may write than the workload; where both are gone nothing is written, and the release stays stalled.
"""

from controller.api.meta import Key
from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.decision import Note, Refusal, RevertTemplate, Severity
from controller.domain.rollout.kept import stable_template_in
from controller.domain.rollout.naming import new_in_words
from controller.domain.rollout.release_context import ReleaseContext, moonshift_status
from controller.domain.rollout.status import with_moonshift_status
from controller.domain.rollout.transition import Stop


def given_up(context: ReleaseContext, status: RolloutStatus, why: str) -> Stop | None:
    """Restore the stable template because of `why`; None if no object keeps that template any more, if the release
    changes no template, or if it goes back to the stable one already.
    """
    source, kept = kept_template(context, status), kept_by_us(context, status)
    if not (source or kept) or moonshift_status(status).by_id or context.returning:
        return None
    message = f"{new_in_words(context)} is given up: {why}"
    failed = with_moonshift_status(status, failed_template=context.template_hash)
    action = RevertTemplate(
        kind=context.kind_name,
        workload=context.workload_key,
        generation=context.meta.generation,
        source=Key(context.namespace, source or kept),
        replica_sets=tuple(rs for rs, _ in context.workload.replica_sets),
        template=moonshift_status(status).stable_template,
        kept=not source,
    )
    return Stop(failed, (action,), notes=(Note(reasons.GIVEN_UP, message, Severity.WARNING),))


def can_go_back(context: ReleaseContext, status: RolloutStatus) -> bool:
    """The stable template is kept in some object."""
    return bool(kept_template(context, status) or kept_by_us(context, status))


def held_as_failed(context: ReleaseContext, status: RolloutStatus) -> Refusal | None:
    """This revision was given up before, and nobody asked to try it again."""
    if context.template_hash != moonshift_status(status).failed_template:
        return None
    name = context.seen.rollout.metadata.name
    return Refusal(
        reasons.REVISION_FAILED,
        f"{new_in_words(context)} was given up before and is held: change the template, or try it again with "
        f"kubectl moonshift retry {name}",
        object=context.workload_name,
    )


def kept_template(context: ReleaseContext, status: RolloutStatus) -> str:
    """Name of the ReplicaSet or ControllerRevision that keeps the stable template; empty when none does."""
    stable = moonshift_status(status).stable_revision
    if context.kind is WorkloadKind.DEPLOYMENT:
        found = stable_template_in(context, status)
        return found.metadata.name if found is not None else ""
    kept = [found.object for found in context.workload.revisions if found.name == stable]
    return kept[-1] if stable and kept else ""


def kept_by_us(context: ReleaseContext, status: RolloutStatus) -> str:
    """Name of the ControllerRevision of ours with the stable template of a Deployment; empty without one."""
    kept = context.kept
    known = moonshift_status(status).stable_template
    return (
        kept.name if kept is not None and kept.has_template and kept.template_hash == known else ""
    )
