"""If people remove our labels, annotations and fields while no controller answers, the controller restores them
before any other action.

The controller is stopped, the label by which admission selects is removed, and then all our other marks: no webhook
is called any more. After its next start the controller holds the workload again.
"""

from collections.abc import AsyncIterator
from functools import partial

import pytest

from controller.api.names import (
    FREEZE_MIN_READY_SECONDS,
    IN_PROGRESSING,
    OURS_ON_WORKLOAD,
    WORKLOAD_TYPE,
)
from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.history import Change
from localcluster.record import Recorder
from tests.cluster import test_workloads
from tests.cluster.crowd import Crowd
from tests.cluster.kinds import DEPLOYMENTS, REPLICA_SETS, ROLLOUTS, path_of
from tests.cluster.kruise.test_killed_releases import settled_in
from tests.cluster.manifests import NEW_IMAGE
from tests.cluster.status_fields import at
from tests.cluster.story import Story, conclude
from tests.cluster.view import image_of

STEP = 2
STYLES = {
    title: app for title, app in test_workloads.STYLES.items() if not title.endswith("no traffic")
}


async def waits_at_its_step(story: Story) -> None:
    """The release has gone half of its way."""
    await story.begin()
    await story.reach(STEP)


async def loses_what_says_that_it_is_released(revisions: dict[str, int], story: Story) -> None:
    """Label first, then the marks, by kubectl: the hold in the spec is all that is left."""
    await _kubectl(story, "label", f"{WORKLOAD_TYPE}-")
    marks = {*OURS_ON_WORKLOAD} & {*await _annotations(story)}
    assert IN_PROGRESSING in marks
    await _kubectl(story, "annotate", *(f"{mark}-" for mark in sorted(marks)))
    found = await _workload(story)
    assert IN_PROGRESSING not in found["metadata"]["annotations"]
    revisions[story.app.namespace] = int(found["metadata"]["resourceVersion"])


async def loses_everything(revisions: dict[str, int], story: Story) -> None:
    """The owner's plain manifest is applied: the workload's own controller continues to the new version at once."""
    await _kubectl(story, "label", f"{WORKLOAD_TYPE}-")
    answer = await story.replace(NEW_IMAGE)
    revisions[story.app.namespace] = int(answer["metadata"]["resourceVersion"])


async def is_marked_again(story: Story) -> None:
    """Label and marks are restored, and an Event says so."""
    await story.event("HeldAgain")
    found = await _workload(story)
    assert WORKLOAD_TYPE in found["metadata"]["labels"]
    assert IN_PROGRESSING in found["metadata"]["annotations"]


async def has_not_moved(revisions: dict[str, int], story: Story) -> None:
    """All pods are the same as before, and the release continues to its end under every invariant.

    The step is walked through again after the marks; an approval that comes before its pause is reset.
    """
    await story.settled(STEP)
    marked = await story.until(story.workload, _is_marked, after=revisions[story.app.namespace])
    await story.until(
        ROLLOUTS,
        lambda rollout: at(rollout.get("status") or {}, STEP, "StepPaused"),
        after=marked.resource_version,
    )
    await story.approve(STEP)
    await story.approve_all(STEP + 1)
    await conclude(story)


async def moves_no_further(revisions: dict[str, int], story: Story) -> None:
    """After the workload's own controller has seen the hold, it creates no further pod of the new version."""
    replaced = revisions[story.app.namespace]
    held = await story.until(story.workload, partial(_is_held, story), after=replaced + 1)
    generation = held.object["metadata"]["generation"]
    seen = await story.until(
        story.workload,
        lambda w: w["status"].get("observedGeneration", 0) >= generation,
        after=held.resource_version,
    )
    await story.rollout(lambda status: _says_where_it_is(status))
    await story.recorder.caught_up()
    if story.workload == DEPLOYMENTS:
        sizes = _sizes_of_new(story.recorder.history(), story)
        before = [size for revision, size in sizes if revision <= seen.resource_version]
        after = [size for revision, size in sizes if revision > seen.resource_version]
        assert max(after, default=0) <= before[-1]


def _is_marked(workload: JsonObject) -> bool:
    return IN_PROGRESSING in (workload["metadata"].get("annotations") or {})


def _is_held(story: Story, workload: JsonObject) -> bool:
    marked = _is_marked(workload)
    if story.workload != DEPLOYMENTS:
        return marked
    return marked and workload["spec"].get("minReadySeconds") == FREEZE_MIN_READY_SECONDS


def _says_where_it_is(status: JsonObject) -> bool:
    """The release waits for people at a step, or is stalled with a reason."""
    conditions = {c["type"]: c["status"] for c in status.get("conditions") or ()}
    inner = status.get("canaryStatus") or status.get("blueGreenStatus") or {}
    return conditions.get("Stalled") == "True" or inner.get("currentStepState") == "StepPaused"


def _sizes_of_new(history: tuple[Change, ...], story: Story) -> list[tuple[int, int]]:
    """Replicas of the workload's own ReplicaSet of the new version, by revision."""
    return [
        (change.resource_version, change.object["spec"]["replicas"])
        for change in history
        if change.key.kind == REPLICA_SETS
        and change.key.namespace == story.app.namespace
        and image_of(change.object["spec"]["template"]) == NEW_IMAGE
        and change.object["metadata"]["ownerReferences"][0]["name"] == story.app.name
    ]


async def is_given_back(story: Story) -> None:
    """The Rollout can be deleted, and the workload is restored to its owner's values."""
    await story.delete()
    await story.gone(ROLLOUTS)
    await story.pods_ready()
    found = await _workload(story)
    assert not {*OURS_ON_WORKLOAD} & {*found["metadata"].get("annotations", {})}
    assert found["spec"].get("minReadySeconds", 0) == 0


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


async def test_a_workload_that_lost_its_label_and_marks_unseen_is_marked_again_and_no_pod_moves(
    crowd: Crowd, product: Product
) -> None:
    unmarked: dict[str, int] = {}
    await crowd.all(partial(loses_what_says_that_it_is_released, unmarked))
    await product.controller.start()
    await crowd.all(is_marked_again)
    await crowd.all(partial(has_not_moved, unmarked))
    assert not crowd.failures, "\n".join(crowd.failures.values())


async def test_a_workload_that_was_replaced_unseen_is_held_again_and_goes_no_further(
    crowd: Crowd, product: Product
) -> None:
    replaced: dict[str, int] = {}
    await crowd.all(partial(loses_everything, replaced))
    await product.controller.start()
    await crowd.all(is_marked_again)
    await crowd.all(partial(moves_no_further, replaced))
    await crowd.all(is_given_back)
    assert not crowd.failures, "\n".join(crowd.failures.values())
