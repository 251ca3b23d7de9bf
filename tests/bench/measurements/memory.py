"""Memory at 50 Rollouts and 500 pods: the highest value while all of them were released."""

from tests.bench.ground import Ground
from tests.bench.objects import Style
from tests.bench.registry import Row
from tests.bench.runs import TOGETHER, automatic

LIMIT = 150.0
MEGABYTE = 1e6


async def measure(ground: Ground) -> list[Row]:
    """Partition style: ten pods each."""
    run = await automatic(ground, Style.PARTITION, TOGETHER)
    controller, worker = run.controller.pss_bytes / MEGABYTE, run.worker.pss_bytes / MEGABYTE
    note = f"at rest after it: controller {controller:.0f}, worker {worker:.0f}"
    name = "memory, 50 Rollouts, 500 pods, released"
    return [Row(name, "72 MB", LIMIT, run.peak_bytes / MEGABYTE, unit="MB", note=note)]
