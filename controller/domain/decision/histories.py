"""Facts about the records of releases."""

from controller.api.history import RolloutHistory
from controller.domain.decision.value import Value


class RecordRelease(Value, frozen=True, tag=True):
    """The record of a finished release exists, and at most `keep` records of its Rollout."""

    history: RolloutHistory
    keep: int
