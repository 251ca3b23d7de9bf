"""CPU seconds per Rollout, of controller and worker with all their processes."""

from tests.bench.ground import Ground
from tests.bench.objects import Style
from tests.bench.registry import Row
from tests.bench.runs import TOGETHER, automatic

LIMIT = 0.35


async def measure(ground: Ground) -> list[Row]:
    """Both styles."""
    rows = []
    for style in Style:
        run = await automatic(ground, style, TOGETHER)
        controller, worker = run.controller.cpu_seconds, run.worker.cpu_seconds
        note = f"controller {controller / TOGETHER:.3f}, worker {worker / TOGETHER:.3f}"
        rows.append(Row(f"CPU per Rollout, {style}", "0.37-0.64 s", LIMIT, run.cpu_each, note=note))
    return rows
