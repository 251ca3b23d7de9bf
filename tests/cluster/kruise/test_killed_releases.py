"""The controller is killed at every step of every release, during its work: no request is lost, and each release ends
as without the kill.

All workloads and styles are released at the same time, so each kill hits them at different moments. `tests/kill`
kills the controller at every single write.
"""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial

import pytest

from demo.stage import Product
from localcluster.errors import CommandFailed, NotReady
from localcluster.history import Change
from localcluster.record import Recorder
from tests.cluster import manifests, test_workloads
from tests.cluster.crowd import Crowd
from tests.cluster.killed import replace_controller
from tests.cluster.kinds import AUTOSCALERS, EVENTS
from tests.cluster.kruise import test_kruise_workloads
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, THIRD_IMAGE, Application
from tests.cluster.story import Story, conclude
from tests.cluster.table import LAST

MINUTE = 60.0
Course = Callable[[Crowd, Product], Awaitable[None]]


async def goes_through(crowd: Crowd, product: Product) -> None:
    """Killed after the release has begun, and after every approval."""
    await crowd.all(begin)
    await replace_controller(product)
    for step in range(1, LAST + 1):
        await crowd.all(partial(Story.paused_at, step=step))
        await crowd.all(partial(Story.approve, step=step))
        await replace_controller(product)
    await crowd.all(conclude)


async def is_rolled_back(crowd: Crowd, product: Product) -> None:
    """Killed during the rollback."""
    await crowd.all(begin)
    await crowd.all(lambda story: story.reach(2))
    await crowd.all(lambda story: story.release(STABLE_IMAGE))
    await replace_controller(product)
    await crowd.all(conclude)


async def starts_over(crowd: Crowd, product: Product) -> None:
    """Killed while the second revision is removed for the third."""
    await crowd.all(begin)
    await crowd.all(lambda story: story.reach(2))
    await crowd.all(lambda story: story.restart(THIRD_IMAGE))
    await replace_controller(product)
    await crowd.all(lambda story: story.approve_all())
    await crowd.all(conclude)


async def begin(story: Story) -> None:
    """Install, govern, release. It does not wait for a step, so the next action comes at the start of the release."""
    await story.install()
    await story.govern()
    await story.release(NEW_IMAGE)


COURSES: tuple[Course, ...] = (goes_through, is_rolled_back, starts_over)


async def played(
    course: Course, product: Product, recorder: Recorder, styles: Mapping[str, Application]
) -> Crowd:
    """Play the scenario in every style, each in a namespace of its own."""
    crowd = Crowd(await settled_in(styles, product, recorder))
    await course(crowd, product)
    return crowd


async def settled_in(
    styles: Mapping[str, Application], product: Product, recorder: Recorder
) -> dict[str, Story]:
    """A story of each style, with a namespace of its own."""
    stories: dict[str, Story] = {}
    for style, app in styles.items():
        namespace = f"test-{uuid.uuid4().hex[:10]}"
        await product.plane.client().create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        stories[style] = Story(product.plane, recorder, replace(app, namespace=namespace))
    return stories


def titled(*, often: Course | None = None) -> list[object]:
    """All scenarios, of which one is part of every run."""
    return [
        pytest.param(course, id=course.__name__, marks=[] if course is often else pytest.mark.full)
        for course in COURSES
    ]


@pytest.mark.parametrize("course", titled(often=goes_through))
async def test_native_workloads_are_released_though_the_controller_is_killed_at_every_step(
    course: Course, product: Product, recorder: Recorder
) -> None:
    crowd = await played(course, product, recorder, test_workloads.STYLES)
    assert not crowd.failures, "\n".join(crowd.failures.values())


@pytest.mark.parametrize("course", titled())
async def test_kruise_workloads_are_released_though_the_controller_is_killed_at_every_step(
    course: Course, kruise_product: Product, kruise_recorder: Recorder
) -> None:
    crowd = await played(course, kruise_product, kruise_recorder, test_kruise_workloads.STYLES)
    assert not crowd.failures, "\n".join(crowd.failures.values())


@pytest.mark.full
async def test_nothing_moves_for_a_minute_without_a_controller(
    product: Product, recorder: Recorder
) -> None:
    """Every change within the minute is checked."""
    styles = test_workloads.STYLES
    crowd = Crowd(await settled_in(styles, product, recorder))
    await crowd.all(begin)
    await crowd.all(lambda story: story.reach(2))
    await product.controller.kill()
    try:
        await recorder.caught_up()
        known = frozenset(change.resource_version for change in recorder.history())
        await crowd.all(is_refused_a_change)
        with pytest.raises(NotReady):
            await recorder.until(partial(moves, known), MINUTE)
    finally:
        await product.controller.start()
    await crowd.all(lambda story: story.approve_all(2))
    await crowd.all(conclude)
    assert not crowd.failures, "\n".join(crowd.failures.values())


async def is_refused_a_change(story: Story) -> None:
    """The owner applies another template, and the error says why it is refused."""
    changed = manifests.workload(story.app, THIRD_IMAGE)
    label = {"rollouts.kruise.io/workload-type": story.app.kind_name.lower()}
    changed["metadata"]["labels"] = label
    with pytest.raises(CommandFailed, match="failed calling webhook"):
        await story.apply(changed, server_side=True)


def moves(known: frozenset[int], change: Change) -> bool:
    """A new change of any object except Events and the status of autoscalers."""
    played = change.key.kind in (EVENTS, AUTOSCALERS)
    ours = not played and change.key.namespace.startswith("test-")
    return ours and change.resource_version not in known
