"""Measuring for metric gates."""

from datetime import datetime

from controller.api.analysis import Metric
from controller.domain.decision.value import Value


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
