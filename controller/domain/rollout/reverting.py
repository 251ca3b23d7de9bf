"""Giving a revision up without a person: its template is taken back, and it is held if it is asked for again.

Why held: whoever applied it (a pipeline, a GitOps tool) applies it again at once, and the release would begin, fail and
be taken back for ever. Invariant: the template that comes back is that of the stable revision, from what Kubernetes
itself kept of it; where that is gone nothing is written, and the release stays stalled with the reason.
"""

from controller.api.meta import Key
from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.decision import Note, Refusal, RevertTemplate, Severity
from controller.domain.rollout.naming import new_in_words
from controller.domain.rollout.situation import Situation, position
from controller.domain.rollout.status import with_position
from controller.domain.rollout.turn import Stop


def given_up(sit: Situation, status: RolloutStatus, why: str) -> Stop | None:
    """Take the template back because of `why`; None where the stable one is not kept any more, or is what runs."""
    source = kept_template(sit, position(status).stable_revision)
    if not source or position(status).by_id:
        return None
    text = f"{new_in_words(sit)} is given up: {why}"
    failed = with_position(status, failed_template=sit.template_hash)
    action = RevertTemplate(
        kind=sit.kind_name,
        workload=sit.workload_key,
        generation=sit.meta.generation,
        source=Key(sit.namespace, source),
        replica_sets=tuple(rs for rs, _ in sit.workload.replica_sets),
    )
    return Stop(failed, (action,), notes=(Note(reasons.GIVEN_UP, text, Severity.WARNING),))


def held_as_failed(sit: Situation, status: RolloutStatus) -> Refusal | None:
    """The revision that is asked for was given up before, and nobody has said to try it again."""
    if sit.template_hash != position(status).failed_template:
        return None
    name = sit.seen.rollout.metadata.name
    return Refusal(
        reasons.REVISION_FAILED,
        f"{new_in_words(sit)} was given up before and is held: change the template, or try it again with "
        f"kubectl moonshift retry {name}",
        object=sit.workload_name,
    )


def kept_template(sit: Situation, stable: str) -> str:
    """Name of the ReplicaSet or ControllerRevision that keeps the stable template; empty when none does."""
    if sit.kind is WorkloadKind.DEPLOYMENT:
        kept = [rs.metadata.name for rs, _ in sit.workload.replica_sets if rs.revision == stable]
    else:
        kept = [found.object for found in sit.workload.revisions if found.name == stable]
    return kept[-1] if stable and kept else ""
