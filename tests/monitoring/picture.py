"""The picture of the overview dashboard in docs/metrics.md: `python -m tests.monitoring.picture`, or `make picture`.

Why it exists: a reader wants to see the dashboard before installing Grafana. Invariant: every line in the picture is an
answer of a real Prometheus, which scraped Moonshift while three real releases ran, to the panel's own query. It must
not know a panel: the drawing follows from the dashboard's description.
"""

import asyncio
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from controller.cli.terminal import say
from demo.stage import install_gateway_kinds, product
from localcluster.plane import Plane
from localcluster.prometheus import Prometheus, started_prometheus
from tests.cluster.kinds import RECORDED
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.story import Story
from tests.monitoring.dashboards import OVERVIEW, RATE, Dashboard, Panel, Query
from tests.monitoring.drawing import Series, draw

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "overview.png"
WINDOW = "20s"
"""The window of a rate: scrapes come twice a second."""
SEEN_FOR = 12
"""Seconds that a state is left as it is, so that the picture shows it."""
STEPS = (StepPlan(1, 20), StepPlan(2, 50))


class Answers(NamedTuple):
    """A panel, and Prometheus' answers to its queries."""

    panel: Panel
    series: tuple[Series, ...]


async def seen(prometheus: Prometheus, rollout: str) -> None:
    """Wait until Prometheus has seen the Rollout in one state for long enough."""
    query = f'max(moonshift_rollout_state_seconds{{rollout="{rollout}"}}) > {SEEN_FOR}'
    await until(prometheus, query)


async def until(prometheus: Prometheus, query: str) -> None:
    """Ask every second whether a query answers: Prometheus tells nobody when it has scraped."""
    while not await prometheus.query(query):  # noqa: ASYNC110
        await asyncio.sleep(1)


async def play(story: Story, prometheus: Prometheus, approvals: int) -> None:
    """Begin a release and approve this number of its steps."""
    await story.begin()
    for step in range(1, approvals + 1):
        await story.paused_at(step)
        await seen(prometheus, story.app.name)
        await story.approve(step)
    if approvals == len(STEPS):
        await story.completed()
        await until(prometheus, "sum(increase(moonshift_rollouts_completed_total[1h])) > 0")
    else:
        await story.paused_at(approvals + 1)
        await seen(prometheus, story.app.name)


async def answers(prometheus: Prometheus, query: Query, begin: float, end: float) -> list[Series]:
    """The series of a query between two moments, a value a second."""
    text = query.text.replace(RATE, WINDOW)
    found = await prometheus.query_range(text, begin, end, 1)
    return [
        Series(_legend(query.legend, labels), [(at - begin, value) for at, value in values])
        for labels, values in found
    ]


def _legend(template: str, labels: dict[str, str]) -> str:
    for name, value in labels.items():
        template = template.replace("{{" + name + "}}", value)
    return re.sub(r"{{\w+}}", "none", template)


async def overview(dashboard: Dashboard) -> list[Answers]:
    """The series in the panels of a dashboard after three releases on a plane of their own."""
    with tempfile.TemporaryDirectory(prefix="moonshift-picture-") as scratch:
        folder = Path(scratch)
        async with Plane.start(folder / "plane") as plane:
            await install_gateway_kinds(plane)
            async with product(plane, folder / "product") as running:
                targets = [
                    f"127.0.0.1:{port}"
                    for port in (running.controller_metrics, running.worker_metrics)
                ]
                (folder / "prometheus").mkdir()
                async with started_prometheus(folder / "prometheus", targets) as prometheus:
                    return await _released(plane, prometheus, dashboard)


async def _released(plane: Plane, prometheus: Prometheus, dashboard: Dashboard) -> list[Answers]:
    begin = time.time()
    namespace = "store"
    await plane.client().create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    async with plane.recorder(*RECORDED) as recorder:
        played = (
            (Application("shop", namespace, True, STEPS, virtual_service=True), 2),
            (Application("cart", namespace, False, STEPS, virtual_service=True), 1),
            (Application("search", namespace, False, STEPS, virtual_service=True), 0),
        )
        async with asyncio.TaskGroup() as together:
            for app, approvals in played:
                story = Story(plane, recorder, app)
                together.create_task(play(story, prometheus, approvals))
        return [
            Answers(panel, await _series(prometheus, panel, begin)) for panel in dashboard.panels
        ]


async def _series(prometheus: Prometheus, panel: Panel, begin: float) -> tuple[Series, ...]:
    end = time.time()
    found = [await answers(prometheus, query, begin, end) for query in panel.queries]
    return tuple(series for some in found for series in some)


def main(arguments: Sequence[str] = ()) -> int:
    """Draw the overview into the file that is named, else into the documents."""
    target = Path(arguments[0]) if arguments else PICTURE
    shown = asyncio.run(overview(OVERVIEW))
    empty = [answer.panel.title for answer in shown if not answer.series]
    if empty:
        say(f"no data for {', '.join(empty)}: the picture is not drawn", err=True)
        return 1
    draw(OVERVIEW.title, [(answer.panel, answer.series) for answer in shown], target)
    say(f"drawn: {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
