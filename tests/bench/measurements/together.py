"""50 Rollouts released in the same instant: until the last one is done."""

from tests.bench.figures import p50
from tests.bench.ground import Ground
from tests.bench.objects import Style
from tests.bench.registry import Row
from tests.bench.runs import TOGETHER, automatic

LIMIT = 30.0


async def measure(ground: Ground) -> list[Row]:
    """Both styles."""
    rows = []
    for style in Style:
        run = await automatic(ground, style, TOGETHER)
        note = f"one of them p50 {p50([span.seconds for span in run.releases]):.1f} s"
        rows.append(
            Row(f"{TOGETHER} at once, makespan, {style}", "141 s", LIMIT, run.makespan, note=note)
        )
    return rows
