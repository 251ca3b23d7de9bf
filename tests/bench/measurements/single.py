"""One Rollout, five automatic steps: from the change of the template to the end."""

from tests.bench.ground import Ground
from tests.bench.objects import Style
from tests.bench.registry import Row
from tests.bench.runs import automatic

LIMIT = 12.0


async def measure(ground: Ground) -> list[Row]:
    """Both styles."""
    rows = []
    for style in Style:
        run = await automatic(ground, style, 1)
        name = f"one Rollout, five automatic steps, {style}"
        rows.append(Row(name, "70 s", LIMIT, run.makespan))
    return rows
