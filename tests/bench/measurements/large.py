"""Memory at 1 000 idle Rollouts and 10 000 pods."""

from tests.bench.ground import Ground
from tests.bench.registry import Row


async def measure(ground: Ground) -> list[Row]:
    """To be made."""
    raise NotImplementedError
