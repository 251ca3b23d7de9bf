"""Facts about the Rollout itself: its finalizer, its records, its measurements."""

from collections.abc import Mapping
from datetime import datetime

from controller.api.analysis import Metric
from controller.api.history import RolloutHistory
from controller.domain.decision.value import Value


class PrepareRollout(Value, frozen=True, tag=True):
    """The Rollout carries our finalizer and the hash of its plan."""

    plan_hash: str


class RemoveFinalizer(Value, frozen=True, tag=True):
    """The Rollout no longer carries our finalizer."""


class RecordRelease(Value, frozen=True, tag=True):
    """The record of a finished release exists, and at most `keep` records of its Rollout."""

    history: RolloutHistory
    keep: int


class Measure(Value, frozen=True, tag=True):
    """A metric of a gate is measured for the `number`th time; a later observation has the answer.

    `stable` is the same metric about the stable revision, where the two are compared. `gate` identifies one start of a
    gate. `until` is the time at which the gate ends without a verdict, if it has such a limit.
    """

    gate: str
    number: int
    metric: Metric
    stable: Metric | None = None
    until: datetime | None = None
    words: Mapping[str, str] = {}
    """Of the release, for a script that asks."""
