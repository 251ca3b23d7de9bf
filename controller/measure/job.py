"""A gate whose measurement is a Job: what `measuring` needs of whoever can make one.

Why a Protocol: this room asks addresses and knows no API server; the Job itself is an effect.
"""

from typing import Protocol

from controller.api.meta import Key
from controller.domain.decision import Measure, Value


class Ran(Value, frozen=True):
    """A Job that came to its end; `said` is how, in words."""

    succeeded: bool
    said: str


class Jobs(Protocol):
    """Runs Jobs of gates."""

    async def run(self, key: Key, asked: Measure) -> Ran:
        """Make the Job of this measurement, or find it, and wait for its end. Raises `Failed`."""
        ...

    async def drop(self, key: Key, asked: Measure) -> None:
        """Take away the Job of this measurement. Raises nothing."""
        ...
