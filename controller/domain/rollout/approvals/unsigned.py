"""Approvals and jumps whose author nobody recorded: no webhook answered when they were written.

Why it exists: only admission knows the author of a request, and writes the entry. Without a webhook the policies let an
approval pass, as clients of the original expect, and the record would not say that somebody approved. Invariant: every
approval and every jump that is followed has an entry; the one that is added here has no name, because whatever the
status says about a name was checked by nobody. It must not decide whether the request is followed.
"""

from datetime import timedelta

from controller.api.rollout import APPROVALS_KEPT, Approval, RolloutStatus
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.release_value import Release

NOT_RECORDED = "the author is not recorded: no webhook answered"
BEHIND = timedelta(minutes=1)
"""How far the clock of the replica that answered as webhook may be behind."""


def is_signed(status: RolloutStatus, to: int = 0) -> bool:
    """The record has the entry of this approval of the present step, or of this jump from it."""
    ours = moonshift_status(status)
    since = ours.visits[-1].started_at if ours.visits else None
    for entry in reversed(ours.approvals):
        if since is not None and entry.at is not None and entry.at < since - BEHIND:
            return False
        if (entry.step, entry.to) == (ours.step, to):
            return True
        if entry.to or entry.step < ours.step:
            return False
    return False


def signed(release: Release, to: int = 0) -> Release:
    """The status with an entry without a name, if the record has none."""
    if is_signed(release.status, to):
        return release
    ours = release.ours
    words = ours.approval.message if ours.approval is not None and not to else ""
    message = f"{NOT_RECORDED}; in their words: {words}" if words else NOT_RECORDED
    entry = Approval(step=ours.step, at=release.now, to=to, message=message)
    return release.noting(approvals=(*ours.approvals, entry)[-APPROVALS_KEPT:])
