"""How a release ended, in the labels of the metric that counts ends.

Why not the outcome in the record: that is the same for a rollback by a person, a gate or a deadline. Invariant:
reported once, in the pass that ends the release, from the status before it is reset.
"""

from enum import StrEnum

from controller.api.analysis import Verdict
from controller.api.rollout import RolloutStatus
from controller.domain import reasons
from controller.domain.decision import Note
from controller.domain.rollout.words.release_context import moonshift_status


class End(StrEnum):
    """The end of a release."""

    SUCCEEDED = "succeeded"
    ROLLED_BACK = "rolled_back"
    """A person or a tool restored the old template."""
    ROLLED_BACK_BY_GATE = "rolled_back_by_gate"
    ROLLED_BACK_BY_DEADLINE = "rolled_back_by_deadline"
    SUPERSEDED = "superseded"
    """Another revision came before the release was complete."""
    DISABLED = "disabled"
    """Its Rollout was disabled."""
    DELETED = "deleted"
    """Its Rollout was deleted."""
    WORKLOAD_DELETED = "workload_deleted"


def rolled_back_by(status: RolloutStatus) -> End:
    """The kind of rollback."""
    ours = moonshift_status(status)
    if not ours.failed_template or ours.failed_template != ours.revision:
        return End.ROLLED_BACK
    verdicts = [run.verdict for run in ours.analyses] + [run.verdict for run in ours.checks]
    failed = Verdict.FAILED in verdicts
    return End.ROLLED_BACK_BY_GATE if failed else End.ROLLED_BACK_BY_DEADLINE


_WORDS = {
    End.DISABLED: "the Rollout was disabled",
    End.DELETED: "the Rollout was deleted",
    End.WORKLOAD_DELETED: "the workload was deleted",
}


def abandoned(end: End) -> Note:
    """The note of a release that ends because its subject is gone or replaced."""
    return Note(reasons.RELEASE_ABANDONED, f"the release is over: {_WORDS[end]}", ended=end)
