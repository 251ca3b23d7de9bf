"""Every workload, every style, every disturbance: releases on a real control plane, held against every invariant.

The table is generated: a workload in a style, and what comes in between at which step. A few rows are part of every
run, all of them of `make test-full`. The scenarios of a run go on at the same time; the first test waits for all.
"""

import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest

from demo.stage import Product
from localcluster.record import Recorder
from tests.cluster.kinds import ROLLOUTS
from tests.cluster.manifests import STABLE_IMAGE, THIRD_IMAGE, Application, StepPlan
from tests.cluster.story import Story, assert_kept, conclude
from tests.cluster.together import Together

AT_ONCE = 8
TEST = "test_a_release_keeps_every_invariant"

STEPS = (StepPlan(1, 20), StepPlan(2, 50), StepPlan(3, 75))
LAST = len(STEPS)

Disturbance = Callable[[Story, int], Awaitable[None]]


def _application(workload: str, *, canary: bool = False, traffic: bool = True) -> Application:
    steps = STEPS if traffic else tuple(StepPlan(step.pods) for step in STEPS)
    return Application(
        "shop", "", canary, steps, virtual_service=traffic, workload=workload, replicas=4
    )


STYLES = {
    "Deployment, partition": _application("Deployment"),
    "Deployment, canary": _application("Deployment", canary=True),
    "StatefulSet, partition": _application("StatefulSet"),
    "StatefulSet, partition, no traffic": _application("StatefulSet", traffic=False),
    "DaemonSet, partition": _application("DaemonSet"),
    "DaemonSet, partition, no traffic": _application("DaemonSet", traffic=False),
}


async def goes_through(story: Story, step: int) -> None:
    """Every step is approved."""
    await story.begin()
    await story.approve_all()
    await conclude(story)


async def is_rolled_back(story: Story, step: int) -> None:
    """The template is what it was."""
    await story.begin()
    await story.reach(step)
    await story.release(STABLE_IMAGE)
    await conclude(story)


async def starts_over(story: Story, step: int) -> None:
    """A third revision comes."""
    await story.begin()
    await story.reach(step)
    await story.restart(THIRD_IMAGE)
    await story.approve_all()
    await conclude(story)


async def loses_its_rollout(story: Story, step: int) -> None:
    """The Rollout is deleted; the workload goes on to the new template."""
    await story.begin()
    await story.reach(step)
    await story.delete()
    await story.gone(ROLLOUTS)
    await story.pods_ready()
    assert_kept(await story.violations(), story)


async def is_scaled_up(story: Story, step: int) -> None:
    """An autoscaler adds half of the replicas."""
    await story.begin()
    await story.reach(step)
    await story.scale(6)
    await story.settled()
    await story.paused_at(step)
    await story.approve(step)
    await story.approve_all(step + 1)
    await conclude(story)


async def is_scaled_down(story: Story, step: int) -> None:
    """An autoscaler takes one replica away; steps that want more pods than there are take all."""
    await story.begin()
    await story.reach(step)
    await story.scale(3)
    await story.settled()
    await story.paused_at(step)
    await story.approve(step)
    await story.approve_all(step + 1)
    await conclude(story)


WITH_REPLICAS: tuple[Disturbance, ...] = (is_scaled_up, is_scaled_down)
AT_EVERY_STEP: tuple[Disturbance, ...] = (is_rolled_back, starts_over, loses_its_rollout)


def rows() -> Iterator[tuple[str, Application, Disturbance, int]]:
    """The table: title, application, what happens, and at which step."""
    for style, app in STYLES.items():
        yield f"{style}: goes through", app, goes_through, 0
        scaled = () if app.on_nodes else WITH_REPLICAS
        for disturbance in (*AT_EVERY_STEP, *scaled):
            for step in range(1, LAST + 1):
                title = f"{style}: {disturbance.__name__.replace('_', ' ')} at step {step}"
                yield title, app, disturbance, step


TABLE = {title: (app, disturbance, step) for title, app, disturbance, step in rows()}
SAMPLE = frozenset(
    title
    for title in TABLE
    if "Deployment" not in title
    and title.endswith(("goes through", "rolled back at step 2", "starts over at step 2"))
)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "title", [pytest.param(t, marks=[] if t in SAMPLE else pytest.mark.full) for t in TABLE]
)
async def test_a_release_keeps_every_invariant(
    title: str, product: Product, recorder: Recorder, table: Together
) -> None:
    await table.result(title)


@pytest.fixture(scope="module")
async def table(request: pytest.FixtureRequest, product: Product, recorder: Recorder) -> Together:
    """Give the selected rows, running."""
    together = Together(AT_ONCE)

    async def tell(title: str) -> None:
        app, disturbance, step = TABLE[title]
        namespace = f"test-{uuid.uuid4().hex[:10]}"
        await product.plane.client().create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        story = Story(product.plane, recorder, replace(app, namespace=namespace))
        await disturbance(story, step)

    selected = {
        str(item.callspec.params["title"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == TEST
    }
    together.start((title, partial(tell, title)) for title in sorted(selected))
    return together
