"""A freeze of ours on a workload without a release: removes the freeze, or begins a release.

Why: label and marks can be lost between admission and our first pass, while no webhook answers. The workload's own
controller would then wait for ever for pods that count as available. Invariant: the freeze is removed only if no
other revision runs; otherwise nobody has approved the template, and the workload gets the marks of a release that
admission would have written.
"""

import msgspec
from msgspec import structs

from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.pods.left_behind import values_are_known
from controller.domain.pods.marks import OwnersRecord
from controller.domain.rollout import messages
from controller.domain.rollout.beginning import stable_at_admission
from controller.domain.rollout.moving.choice import mechanism_of
from controller.domain.rollout.moving.freezing import freeze_again
from controller.domain.rollout.release_context import ReleaseContext
from controller.domain.rollout.transition import Stop


def without_a_release(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Remove the freeze of a workload without a mark, or release its template; None without a freeze."""
    record = context.values_to_restore
    if record is None:
        return None
    if context.old_revision_runs and context.replicas:
        return _marked_again(context, status, record)
    known = context.owners is not None or values_are_known(context.workload)
    text = messages.FREEZE_TAKEN_OFF if known else messages.FREEZE_TAKEN_OFF_BY_DEFAULT
    note = Note(reasons.FREEZE_TAKEN_OFF, f"{context.workload_name} {text}", Severity.WARNING)
    action = mechanism_of(context).release(context, keep_mark=False)
    return Stop(status, (action,), notes=(note,))


def _marked_again(context: ReleaseContext, status: RolloutStatus, record: OwnersRecord) -> Stop:
    """Label, mark, record and pause, as admission wrote them for a template that was never released."""
    stable = stable_at_admission(context)[0] if context.kind is WorkloadKind.DEPLOYMENT else ""
    action = structs.replace(
        freeze_again(context, status),
        record=msgspec.json.encode(record).decode(),
        stable_revision=stable,
    )
    note = Note(reasons.HELD_AGAIN, messages.HELD_AGAIN, Severity.WARNING)
    return Stop(status, (action,), notes=(note,))
