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
        cpu = run.controller.cpu_seconds + run.worker.cpu_seconds
        note = (
            f"p50 of a single release {p50([span.seconds for span in run.releases]):.1f} s; CPU: control plane "
            f"{run.plane_seconds:.0f} s, product {cpu:.0f} s, others {run.others_percent:.0f} %"
        )
        rows.append(
            Row(f"{TOGETHER} at once, makespan, {style}", "141 s", LIMIT, run.makespan, note=note)
        )
    return rows
