"""A flood of oversized and forged reviews: its cost for the controller, and the delay of honest changes."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from localcluster.api import JsonObject
from tests.bench.figures import p50, p99
from tests.bench.fleet import Fleet, fleet
from tests.bench.ground import Ground
from tests.bench.objects import DEPLOYMENTS, Style
from tests.bench.registry import Row

MEGABYTE = 1 << 20
MEMORY_LIMIT = 0.8 * 512
"""MiB: four fifths of what the manifest grants."""
SECONDS_LIMIT = 1.0
HONEST = 200
PAUSE_SECONDS = 0.05
RAMP_SECONDS = 3.0
RESET_PEAK = "5"
"""To /proc/PID/clear_refs: the peak of the resident size begins again."""


async def measure(ground: Ground) -> list[Row]:
    """Dry-run changes of a labelled Deployment, through the API server, alone and in the flood."""
    async with fleet(ground, "flood", Style.PARTITION, 1) as made:
        alone = await _honest(ground, made)
        pid = ground.product.controller.pid
        await asyncio.to_thread(Path(f"/proc/{pid}/clear_refs").write_text, RESET_PEAK)
        async with _flooded(ground) as answers:
            with ground.reporter.phase(f"flood: {HONEST} honest changes"):
                beside = await _honest(ground, made)
            peak = await asyncio.to_thread(_peak, pid)
    note = (
        f"p50 {p50(beside):.3f} s, longest {max(beside):.3f} s; alone p50 {p50(alone):.3f} s, p99 {p99(alone):.3f} s; "
        f"{HONEST} changes; forged ones were answered {answers[0]}"
    )
    name = "a flood of forged reviews: "
    return [
        Row(f"{name}controller's memory", "-", MEMORY_LIMIT, peak / MEGABYTE, unit="MiB"),
        Row(f"{name}honest admission, p99", "-", SECONDS_LIMIT, p99(beside), note=note),
    ]


async def _honest(ground: Ground, made: Fleet) -> list[float]:
    """Seconds of each change, sent one after the other; admission handles each, and nothing is stored (dry run)."""
    loop = asyncio.get_running_loop()
    path = f"{DEPLOYMENTS}/namespaces/{made.namespace}/deployments/{made.names[0]}?dryRun=All"
    times: list[float] = []
    for number in range(HONEST):
        annotations = {"version": f"honest-{number}"}
        body: JsonObject = {"spec": {"template": {"metadata": {"annotations": annotations}}}}
        begun = loop.time()
        answer = await ground.developer.patch(path, body)
        times.append(loop.time() - begun)
        assert answer["spec"]["paused"] is True, "the webhook did not judge it"
        await asyncio.sleep(PAUSE_SECONDS)
    return times


@asynccontextmanager
async def _flooded(ground: Ground) -> AsyncIterator[list[str]]:
    """Send the flood during the block; at its end the list contains the seen answers."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.bench.flooding",
        str(ground.product.webhook_port),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    answers: list[str] = []
    try:
        await asyncio.sleep(RAMP_SECONDS)
        yield answers
    finally:
        output, _ = await process.communicate(b"")
        answers.append(output.decode())


def _peak(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) << 10
