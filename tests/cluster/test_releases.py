"""Releases of Deployments on a real control plane, each held against every invariant at every revision.

The scenarios of a run go on at the same time; the first test waits for all of them.
"""

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import pytest

from demo.stage import Product
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.kinds import ROLLOUTS, ROLLOUTS_V1ALPHA1
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, THIRD_IMAGE, Application, StepPlan
from tests.cluster.story import Story, assert_kept, at, conclude
from tests.cluster.together import Together

AT_ONCE = 8
"""Scenarios on one plane at a time: more gain nothing on two processors."""

TRAFFIC = (StepPlan(1, 20), StepPlan(2, 50), StepPlan(4, 100))
TRAFFIC_THEN_ALL = (StepPlan(1, 20), StepPlan(2, 50), StepPlan(4))
PODS_ONLY = (StepPlan(1), StepPlan(2), StepPlan(4))

Scenario = Callable[[Story], Awaitable[None]]

TEST = "test_a_release_keeps_every_invariant_when_it"

STYLES: dict[str, Application] = {
    "canary style, no traffic": Application("shop", "", True, PODS_ONLY),
    "canary style, a canary Service": Application("shop", "", True, TRAFFIC, virtual_service=True),
    "canary style, one shared Service": Application(
        "shop", "", True, TRAFFIC, virtual_service=True, shared=True
    ),
    "partition style, no traffic": Application("shop", "", False, PODS_ONLY),
    "partition style, a canary Service": Application(
        "shop", "", False, TRAFFIC_THEN_ALL, virtual_service=True
    ),
}


async def goes_through_all_steps(story: Story) -> None:
    await story.begin()
    await story.approve_all()
    await conclude(story)


async def is_rolled_back_at_step_2(story: Story) -> None:
    await story.begin()
    await story.reach(2)
    await story.release(STABLE_IMAGE)
    await conclude(story)


async def starts_over_with_a_third_revision_at_step_2(story: Story) -> None:
    await story.begin()
    await story.reach(2)
    await story.release(THIRD_IMAGE)
    await story.approve_all()
    await conclude(story)


async def is_disabled_at_step_2(story: Story) -> None:
    await story.begin()
    await story.reach(2)
    await story.disable()
    await story.rollout(lambda status: status.get("phase") == "Disabled")
    await story.pods_ready()
    assert_kept(await story.violations(), story)


async def loses_its_rollout_at_step_2(story: Story) -> None:
    await story.begin()
    await story.reach(2)
    await story.delete()
    await story.gone(ROLLOUTS)
    await story.pods_ready()
    assert_kept(await story.violations(), story)


EVERYWHERE: tuple[Scenario, ...] = (
    goes_through_all_steps,
    is_rolled_back_at_step_2,
    starts_over_with_a_third_revision_at_step_2,
    is_disabled_at_step_2,
    loses_its_rollout_at_step_2,
)


SCENARIOS: dict[str, tuple[Application, Scenario]] = {
    f"{style}: {scenario.__name__.replace('_', ' ')}": (app, scenario)
    for style, app in STYLES.items()
    for scenario in EVERYWHERE
}


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_release_keeps_every_invariant_when_it(
    name: str,
    product: Product,
    recorder: Recorder,
    releases: Together,
) -> None:
    await releases.result(name)


@pytest.fixture(scope="module")
async def releases(
    request: pytest.FixtureRequest, product: Product, recorder: Recorder
) -> Together:
    """Give the selected scenarios, running."""
    together = Together(AT_ONCE)

    async def tell(name: str) -> None:
        app, scenario = SCENARIOS[name]
        namespace = f"test-{uuid.uuid4().hex[:10]}"
        await product.plane.client().create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        story = Story(product.plane, recorder, replace(app, namespace=namespace))
        await scenario(story)

    selected = {
        item.callspec.params["name"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == TEST
    }
    together.start((name, partial(tell, name)) for name in sorted(selected))
    return together
