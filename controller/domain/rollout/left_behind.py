"""A freeze of ours on a workload without a release: removes the freeze, or begins a release.

Why: label and marks can be lost between admission and our first pass, while no webhook answers. The workload's own
controller would then wait for ever for pods that count as available. Invariant: the freeze is removed only if no
other revision runs; otherwise nobody has approved the template, and the workload gets the marks of a release that
admission would have written.
"""

import msgspec
from msgspec import structs

from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.pods.marks import OwnersRecord
from controller.domain.pods.recovered_values import values_are_known
from controller.domain.rollout.beginning import stable_at_admission
from controller.domain.rollout.moving.freezing import freeze_again
from controller.domain.rollout.styles.choice import mechanism_of
from controller.domain.rollout.words import messages
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop


def without_a_release(release: Release) -> Stop | None:
    """Remove the freeze of a workload without a mark, or release its template; None without a freeze."""
    record = release.values_to_restore
    if record is None:
        return None
    if release.old_revision_runs and release.replicas:
        return _marked_again(release, record)
    known = release.owners is not None or values_are_known(release.workload)
    text = messages.FREEZE_TAKEN_OFF if known else messages.FREEZE_TAKEN_OFF_BY_DEFAULT
    note = Note(reasons.FREEZE_TAKEN_OFF, f"{release.workload_name} {text}", Severity.WARNING)
    action = mechanism_of(release).release(release, keep_mark=False)
    return release.stop(action, notes=(note,))


def _marked_again(release: Release, record: OwnersRecord) -> Stop:
    """Label, mark, record and pause, as admission wrote them for a template that was never released."""
    stable = stable_at_admission(release)[0] if release.kind is WorkloadKind.DEPLOYMENT else ""
    action = structs.replace(
        freeze_again(release),
        record=msgspec.json.encode(record).decode(),
        stable_revision=stable,
    )
    note = Note(reasons.HELD_AGAIN, messages.HELD_AGAIN, Severity.WARNING)
    return release.stop(action, notes=(note,))
