"""Facts about the Rollout itself: its finalizer, its records, its measurements, its checks."""

from collections.abc import Mapping
from datetime import datetime

from controller.api.analysis import Metric
from controller.api.checks import Check
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


class CheckedRelease(Value, frozen=True):
    """The facts about the release that a check gets; an unknown one is empty."""

    rollout: str
    namespace: str
    revision: str
    stable_revision: str
    step: int
    steps: int
    phase: str
    """The place of the check: start, before, routed, end or rollback."""
    weight: int | float | None = None
    images: dict[str, str] = {}
    """Of the new revision, by the name of the container."""


class AskCheck(Value, frozen=True, tag=True):
    """A check is asked for its answer number `turn`; a later observation has it.

    `id` is the same in every turn. `state` is what the script kept. `until` is the end of the check's time.
    """

    id: str
    turn: int
    check: Check
    release: CheckedRelease
    state: str
    until: datetime
