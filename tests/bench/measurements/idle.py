"""50 Rollouts that wait for a person: the controller sends only requests for its Lease."""

import asyncio

from tests.bench.fleet import RELEASE_SECONDS, change, fleet, paused, quiet, wait
from tests.bench.ground import Ground
from tests.bench.objects import Style
from tests.bench.registry import Row
from tests.bench.requests import breakdown, ours_since
from tests.bench.runs import TOGETHER

WINDOW_SECONDS = 60.0


async def measure(ground: Ground) -> list[Row]:
    """Requests in a window of one minute; canary style, which has more objects to look at."""
    async with fleet(ground, "idle", Style.CANARY, TOGETHER, approvals=True) as made:
        await change(ground, made)
        await wait(ground, made.keys, paused, RELEASE_SECONDS)
        await quiet(ground, made.namespace)
        mark = ground.plane.audit.mark()
        use = ground.product.controller.resource_use().cpu_seconds
        with ground.reporter.phase(f"idle: watch for {WINDOW_SECONDS:.0f} s"):
            await asyncio.sleep(WINDOW_SECONDS)
        use = ground.product.controller.resource_use().cpu_seconds - use
        seen = ours_since(ground.plane.audit, mark)
    name = f"{TOGETHER} paused Rollouts, requests in {WINDOW_SECONDS:.0f} s"
    note = f"controller's CPU {use:.2f} s"
    return [Row(name, "-", 0, len(seen), unit="", note=note, details=breakdown(seen, 1))]
