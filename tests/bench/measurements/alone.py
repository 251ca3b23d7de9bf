"""API requests and CPU seconds of one release alone: no other release runs at the same time, so the counts are
exact."""

from tests.bench.ground import Ground
from tests.bench.objects import Style
from tests.bench.registry import Row
from tests.bench.runs import automatic

LIMITS = {Style.CANARY: 49.0, Style.PARTITION: 62.0}
"""Two of them keep the stable template where only the controller writes, and delete it (docs/decisions); in canary
style, two more are dry runs of the extra Deployment and the canary Service."""
CPU_LIMIT = 0.5


async def measure(ground: Ground) -> list[Row]:
    """Both styles; it uses the runs of the measurement `single`."""
    rows = []
    for style in Style:
        run = await automatic(ground, style, 1)
        requests = Row(
            f"API requests of a release alone, {style}",
            "152-216" if style is Style.CANARY else "321",
            LIMITS[style],
            run.requests_each,
            unit="",
            details=run.requests,
        )
        controller, worker = run.controller.cpu_seconds, run.worker.cpu_seconds
        note = f"controller {controller:.3f}, worker {worker:.3f}"
        name = f"CPU of a release alone, {style}"
        rows += [requests, Row(name, "-", CPU_LIMIT, run.cpu_each, note=note)]
    return rows
