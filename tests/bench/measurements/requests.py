"""API requests per Rollout, of the controller's user, Events and pods' labels included."""

from tests.bench.ground import Ground
from tests.bench.objects import Style
from tests.bench.registry import Row
from tests.bench.runs import TOGETHER, automatic

LIMITS = {Style.CANARY: 55.0, Style.PARTITION: 70.0}
ORIGINAL = {Style.CANARY: "152-216", Style.PARTITION: "321"}


async def measure(ground: Ground) -> list[Row]:
    """Both styles."""
    rows = []
    for style in Style:
        run = await automatic(ground, style, TOGETHER)
        row = Row(
            f"API requests per Rollout, {style}",
            ORIGINAL[style],
            LIMITS[style],
            run.requests_each,
            unit="",
            details=run.requests,
        )
        rows.append(row)
    return rows
