"""CPU seconds per Rollout, of controller and worker with all their processes."""

from tests.bench.ground import Ground
from tests.bench.objects import Style
from tests.bench.registry import Row
from tests.bench.runs import TOGETHER, automatic

LIMITS = {Style.CANARY: 0.15, Style.PARTITION: 0.13}


async def measure(ground: Ground) -> list[Row]:
    """Both styles."""
    rows = []
    for style in Style:
        run = await automatic(ground, style, TOGETHER)
        controller, worker = run.controller.cpu_seconds, run.worker.cpu_seconds
        note = f"controller {controller / TOGETHER:.3f}, worker {worker / TOGETHER:.3f}"
        name = f"CPU per Rollout, {style}"
        rows.append(Row(name, "0.37-0.64 s", LIMITS[style], run.cpu_each, note=note))
    return rows
