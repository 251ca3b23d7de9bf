"""Facts about the records of releases."""

from controller.api.history import RolloutHistory
from controller.domain.decision.value import Value


class RecordRelease(Value, frozen=True, tag=True):
    """A release that is over is written down, and no more than `keep` of its Rollout are kept."""

    history: RolloutHistory
    keep: int
