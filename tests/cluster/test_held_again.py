"""What people take off a workload while no controller answers is put back before anything else is done.

The controller is stopped, the label that admission selects by is taken off, and then every mark of ours: no webhook is
asked any more. With its next start the controller marks the workload again.
"""

from collections.abc import AsyncIterator

import pytest

from controller.api.names import (
    IN_PROGRESSING,
    OURS_ON_WORKLOAD,
    WORKLOAD_TYPE,
)
from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.record import Recorder
from tests.cluster import test_workloads
from tests.cluster.crowd import Crowd
from tests.cluster.kinds import path_of
from tests.cluster.story import Story, conclude
from tests.cluster.test_killed_releases import settled_in

STEP = 2
STYLES = {
    title: app for title, app in test_workloads.STYLES.items() if not title.endswith("no traffic")
}


async def waits_at_its_step(story: Story) -> None:
    """Half of the way."""
    await story.begin()
    await story.reach(STEP)


async def loses_what_says_that_it_is_released(story: Story) -> None:
    """Label first, then the marks, by kubectl: the hold in the spec is all that is left."""
    await _kubectl(story, "label", f"{WORKLOAD_TYPE}-")
    marks = {*OURS_ON_WORKLOAD} & {*await _annotations(story)}
    assert IN_PROGRESSING in marks
    await _kubectl(story, "annotate", *(f"{mark}-" for mark in sorted(marks)))


async def is_marked_again(story: Story) -> None:
    """Label and marks are back, and it was said."""
    await story.event("HeldAgain")
    found = await _workload(story)
    assert WORKLOAD_TYPE in found["metadata"]["labels"]
    assert IN_PROGRESSING in found["metadata"]["annotations"]


async def has_not_moved(story: Story) -> None:
    """Every pod is what it was, and the release goes on to its end under every invariant."""
    await story.settled(STEP)
    await story.paused_at(STEP)
    await story.approve(STEP)
    await story.approve_all(STEP + 1)
    await conclude(story)


async def _kubectl(story: Story, verb: str, *words: str) -> None:
    kind = story.app.kind_name.lower()
    name = f"{kind}/{story.app.name}"
    await story.plane.kubectl(verb, name, *words, "-n", story.app.namespace, user="developer")


async def _workload(story: Story) -> JsonObject:
    return await story.client.get(path_of(story.key(story.workload)))


async def _annotations(story: Story) -> JsonObject:
    found: JsonObject = (await _workload(story))["metadata"]["annotations"]
    return found


@pytest.fixture
async def crowd(product: Product, recorder: Recorder) -> AsyncIterator[Crowd]:
    """Give a release of every style that waits at a step; nobody is at work."""
    found = Crowd(await settled_in(STYLES, product, recorder))
    await found.all(waits_at_its_step)
    await product.controller.terminate()
    yield found
    if not product.controller.running:
        await product.controller.start()


@pytest.mark.timeout(300)
async def test_a_workload_that_lost_its_label_and_marks_unheard_is_marked_again_and_no_pod_moves(
    crowd: Crowd, product: Product
) -> None:
    await crowd.all(loses_what_says_that_it_is_released)
    await product.controller.start()
    await crowd.all(is_marked_again)
    await crowd.all(has_not_moved)
    assert crowd.failures == {}
