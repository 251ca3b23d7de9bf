"""The controller is killed at every step of every release, in the midst of its work: nothing is lost, nobody notices.

All workloads and styles are released at the same time, so one kill meets each of them somewhere else. Where every
single write is the moment of the kill, see `tests/kill`.
"""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial

import pytest

from demo.stage import Product
from localcluster.record import Recorder
from tests.cluster import test_kruise_workloads, test_workloads
from tests.cluster.crowd import Crowd
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, THIRD_IMAGE, Application
from tests.cluster.story import Story, conclude
from tests.cluster.table import LAST

Tale = Callable[[Crowd, Product], Awaitable[None]]


async def goes_through(crowd: Crowd, product: Product) -> None:
    """Killed after the release has begun, and after every approval."""
    await crowd.all(begin)
    await killed(product)
    for step in range(1, LAST + 1):
        await crowd.all(partial(Story.paused_at, step=step))
        await crowd.all(partial(Story.approve, step=step))
        await killed(product)
    await crowd.all(conclude)


async def is_rolled_back(crowd: Crowd, product: Product) -> None:
    """Killed on the way back."""
    await crowd.all(begin)
    await crowd.all(lambda story: story.reach(2))
    await crowd.all(lambda story: story.release(STABLE_IMAGE))
    await killed(product)
    await crowd.all(conclude)


async def starts_over(crowd: Crowd, product: Product) -> None:
    """Killed while the second revision makes way for the third."""
    await crowd.all(begin)
    await crowd.all(lambda story: story.reach(2))
    await crowd.all(lambda story: story.restart(THIRD_IMAGE))
    await killed(product)
    await crowd.all(lambda story: story.approve_all())
    await crowd.all(conclude)


async def begin(story: Story) -> None:
    """Install, govern, release; who waits for nothing has what follows meet the release at its very start."""
    await story.install()
    await story.govern()
    await story.release(NEW_IMAGE)


async def killed(product: Product) -> None:
    """The process is gone without a word, and another starts."""
    await product.controller.kill()
    await product.controller.start()


TALES: tuple[Tale, ...] = (goes_through, is_rolled_back, starts_over)


async def told(
    tale: Tale, product: Product, recorder: Recorder, styles: Mapping[str, Application]
) -> Crowd:
    """Every style lives through the tale in a namespace of its own."""
    stories: dict[str, Story] = {}
    for style, app in styles.items():
        namespace = f"test-{uuid.uuid4().hex[:10]}"
        await product.plane.client().create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        stories[style] = Story(product.plane, recorder, replace(app, namespace=namespace))
    crowd = Crowd(stories)
    await tale(crowd, product)
    return crowd


def titled(*, often: Tale | None = None) -> list[object]:
    """All tales; every start waits for the Lease of the killed one to run out, so only one is part of every run."""
    return [
        pytest.param(tale, id=tale.__name__, marks=[] if tale is often else pytest.mark.full)
        for tale in TALES
    ]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("tale", titled(often=goes_through))
async def test_native_workloads_are_released_though_the_controller_is_killed_at_every_step(
    tale: Tale, product: Product, recorder: Recorder
) -> None:
    crowd = await told(tale, product, recorder, test_workloads.STYLES)
    for style in test_workloads.STYLES:
        crowd.result(style)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("tale", titled())
async def test_kruise_workloads_are_released_though_the_controller_is_killed_at_every_step(
    tale: Tale, kruise_product: Product, kruise_recorder: Recorder
) -> None:
    crowd = await told(tale, kruise_product, kruise_recorder, test_kruise_workloads.STYLES)
    for style in test_kruise_workloads.STYLES:
        crowd.result(style)
