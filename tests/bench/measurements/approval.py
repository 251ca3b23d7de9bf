"""The time from an approval to the new weight in the VirtualService, and the controller's share of it."""

from tests.bench.figures import p50, p99
from tests.bench.ground import Ground
from tests.bench.objects import Style
from tests.bench.registry import Row
from tests.bench.runs import approved

WHOLE = 1.5
OURS_P50 = 0.3
OURS_P99 = 0.8


async def measure(ground: Ground) -> list[Row]:
    """Both styles; steps of several Rollouts at once."""
    rows = []
    for style in Style:
        steps = await approved(ground, style)
        whole, ours = [step.whole for step in steps], [step.ours for step in steps]
        pods = [step.pods for step in steps]
        note = f"p99 {p99(whole):.2f} s; pods alone p50 {p50(pods):.2f} s; {len(steps)} steps"
        title = f"approval to new weight, {style}"
        rows += [
            Row(f"{title}, p50", "7.2 s, max 9.3 s", WHOLE, p50(whole), note=note),
            Row(f"{title}, our share, p50", "-", OURS_P50, p50(ours)),
            Row(f"{title}, our share, p99", "-", OURS_P99, p99(ours)),
        ]
    return rows
