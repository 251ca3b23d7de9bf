"""The Protocol through which `measuring` runs Jobs of gates.

Why a Protocol: this room sends requests to addresses and does not know the API server; a Job is an effect.
"""

from typing import Protocol

from controller.api.meta import Key
from controller.domain.decision import Measure, Value


class FinishedJob(Value, frozen=True):
    """An ended Job; `words` describe its end."""

    succeeded: bool
    words: str


class Jobs(Protocol):
    """Runs Jobs of gates."""

    async def run(self, key: Key, asked: Measure) -> FinishedJob:
        """Make the Job of this measurement, or find it, and wait for its end. Raises `Failed`."""
        ...

    async def drop(self, key: Key, asked: Measure) -> None:
        """Delete the Job of this measurement. Raises nothing."""
        ...
