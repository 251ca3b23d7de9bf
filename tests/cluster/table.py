"""The table of releases: every workload in every style, and every disturbance at a step.

Invariant: a row waits for recorded changes, and ends by checking the whole history against every invariant.
"""

import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import pytest
import yaml
from _pytest.mark import ParameterSet

from controller.api.names import NO_NEED_UPDATE, ROLLBACK_IN_BATCH
from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.kinds import ROLLOUTS
from tests.cluster.manifests import (
    NEW_IMAGE,
    STABLE_IMAGE,
    THIRD_IMAGE,
    Application,
    StepPlan,
)
from tests.cluster.status_fields import at, condition
from tests.cluster.story import ROLLOUT_ID, WORKLOAD_TYPE, Story, assert_kept, conclude
from tests.cluster.together import Together
from tests.cluster.view import image_of, ready

AT_ONCE = 8

STEPS = (StepPlan(1, 20), StepPlan(2, 50), StepPlan(3, 75))
LAST = len(STEPS)

Disturbance = Callable[[Story, int], Awaitable[None]]


ALL_AT_ONCE = (StepPlan(2, 0), StepPlan(4, 0), StepPlan(4, 50))
"""Blue-green: half of the new pods, all of them, then the traffic."""


def application(
    workload: str, *, canary: bool = False, blue_green: bool = False, traffic: bool = True
) -> Application:
    """An application of three steps, each of which waits for its approval."""
    steps: tuple[StepPlan, ...] = ALL_AT_ONCE if blue_green else STEPS
    if not traffic:
        steps = tuple(StepPlan(step.pods) for step in steps)
    return Application(
        "shop",
        "",
        canary,
        steps,
        virtual_service=traffic,
        workload=workload,
        blue_green=blue_green,
        replicas=4,
    )


async def goes_through(story: Story, step: int) -> None:
    """Every step is approved."""
    await story.begin()
    await story.approve_all()
    await conclude(story)


async def is_rolled_back(story: Story, step: int) -> None:
    """The old template is applied."""
    await story.begin()
    await story.reach(step)
    await story.release(STABLE_IMAGE)
    await conclude(story)


async def goes_back_in_batches(story: Story, step: int) -> None:
    """The old template is applied, and the rollback goes step by step."""
    await story.begin()
    await story.amend({"metadata": {"annotations": {ROLLBACK_IN_BATCH: "true"}}})
    await story.reach(step)
    await story.restart(STABLE_IMAGE)
    await story.approve_all()
    await conclude(story)
    assert condition(await story.status(), "Succeeded")["status"] == "True"
    await story.recorder.caught_up()
    marks = [pod for pod in story.pods() if NO_NEED_UPDATE in pod["metadata"]["labels"]]
    assert not marks


async def starts_over(story: Story, step: int) -> None:
    """A third template is applied."""
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
    await story.settled(step)
    await story.paused_at(step)
    await story.approve(step)
    await story.approve_all(step + 1)
    await conclude(story)


async def is_scaled_down(story: Story, step: int) -> None:
    """An autoscaler removes one replica; a step that wants more pods than there are replaces all."""
    await story.begin()
    await story.reach(step)
    await story.scale(3)
    await story.settled(step)
    await story.paused_at(step)
    await story.approve(step)
    await story.approve_all(step + 1)
    await conclude(story)


async def is_replaced_by_its_bare_manifest(story: Story, step: int) -> None:
    """`kubectl replace` removes every field that is not in the owner's manifest, including all our labels and
    annotations."""
    await story.begin()
    await story.reach(step)
    await story.replace(NEW_IMAGE)
    await goes_on(story, step)


async def loses_its_label(story: Story, step: int) -> None:
    """Somebody removes the label by which admission selects workloads."""
    await story.begin()
    await story.reach(step)
    await story.amend({"metadata": {"labels": {WORKLOAD_TYPE: None}}}, story.workload)
    await goes_on(story, step)


async def gets_another_id(story: Story, step: int) -> None:
    """Its owner changes the rollout-id alone: a release in steps of every kind but a Deployment, which ends at once."""
    await story.install()
    await story.govern()
    before = {pod["metadata"]["uid"] for pod in story.pods()}
    await story.give_id("second")
    if story.app.workload == "Deployment":
        await story.event("ReleaseCanceled")
        await conclude(story)
    else:
        for at_step, plan in enumerate(story.app.steps, start=1):
            await story.paused_at(at_step)
            # The watches of pods and of Rollouts are two: the pods' labels may be seen later.
            await story.recorder.caught_up()
            assert len(_of_id(story, "second")) == plan.pods
            await story.approve(at_step)
        await conclude(story)
        assert _of_id(story, "second") == _batches(story.app)
    assert {pod["metadata"]["uid"] for pod in story.pods()} == before


def _of_id(story: Story, rollout_id: str) -> list[str]:
    """Batches of the pods that have this rollout-id."""
    labels = [pod["metadata"]["labels"] for pod in story.pods()]
    mine = [found for found in labels if found.get(ROLLOUT_ID) == rollout_id]
    return sorted(found["rollouts.kruise.io/rollout-batch-id"] for found in mine)


def _batches(app: Application) -> list[str]:
    """The batch of each pod in the end: the first step with room for it, or the last one."""
    steps = tuple(enumerate(app.steps, start=1))
    return [
        str(next((number for number, plan in steps if plan.pods > at), len(steps)))
        for at in range(app.replicas)
    ]


async def goes_on(story: Story, step: int) -> None:
    """Nothing has moved, and the release goes on to its end."""
    await story.settled(step)
    await story.paused_at(step)
    await story.approve(step)
    await story.approve_all(step + 1)
    await conclude(story)


async def is_scaled_to_zero_and_back(story: Story, step: int) -> None:
    """The workload is at zero for a while: the stable version returns, and the release begins again at its first
    step."""
    await story.begin()
    await story.reach(step)
    await story.scale(0)
    await story.recorder.until_state(lambda state: not story.pods())
    await story.rollout(lambda status: at(status, 1, "BeforeStepUpgrade"))
    await story.scale(story.app.replicas)
    await story.approve_all()
    await conclude(story)


async def loses_its_nodes_and_gets_them_back(story: Story, step: int) -> None:
    """All nodes of a DaemonSet are drained for a while: the stable version returns, and the release begins again at
    its first step."""
    await _begin_on_nodes_of_its_own(story)
    await story.reach(step)
    nodes = manifests.nodes(story.app.replicas, story.app.pool)
    for node in nodes:
        await _give_pool(story, node, "")
    await story.recorder.until_state(lambda state: not story.pods())
    await story.rollout(lambda status: at(status, 1, "BeforeStepUpgrade"))
    for node in nodes:
        await _give_pool(story, node, story.app.pool)
    await story.rollout(lambda status: at(status, 1, "StepPaused"))
    await story.recorder.caught_up()
    assert _images(story) == {STABLE_IMAGE: 3, NEW_IMAGE: 1}
    await story.approve_all()
    await story.completed()
    await story.recorder.until_state(lambda state: _images(story) == {NEW_IMAGE: 4})


async def gets_more_nodes(story: Story, step: int) -> None:
    """Nodes join: the new version has the step's share of them, and no more."""
    await _begin_on_nodes_of_its_own(story)
    await story.reach(step)
    await story.plane.apply(
        yaml.safe_dump_all(manifests.nodes(2, story.app.pool, first=story.app.replicas))
    )
    share = {STABLE_IMAGE: 4, NEW_IMAGE: 2}
    await story.recorder.until_state(lambda state: _images(story) == share)
    await story.rollout(lambda status: not status["moonshift"].get("templateExchange"))
    await story.recorder.caught_up()
    assert _images(story) == share
    await story.approve(step)
    await story.approve_all(step + 1)
    await story.completed()
    await story.recorder.until_state(lambda state: _images(story) == {NEW_IMAGE: 6})


async def _begin_on_nodes_of_its_own(story: Story) -> None:
    story.app = replace(story.app, pool=story.app.namespace)
    await story.plane.apply(yaml.safe_dump_all(manifests.nodes(story.app.replicas, story.app.pool)))
    await story.begin()


async def _give_pool(story: Story, node: JsonObject, pool: str) -> None:
    path = f"/api/v1/nodes/{node['metadata']['name']}"
    body = {"metadata": {"labels": {"pool": pool or None}}}
    await story.plane.client().patch(path, body)


def _images(story: Story) -> dict[str, int]:
    """Pods that are ready, by version."""
    return dict(Counter(image_of(pod) for pod in story.pods() if ready(pod)))


JUMPS = {1: LAST, 2: 1, 3: 3}
"""Jumps from a step to another: forward over one step, back, and to the same step again."""


async def jumps(story: Story, step: int) -> None:
    """Somebody jumps to another step than the next."""
    await story.begin()
    await story.reach(step)
    await story.jump(JUMPS[step])
    await story.approve_all(JUMPS[step])
    await conclude(story)


IN_BATCHES = ("StatefulSet", "CloneSet")
WITH_REPLICAS: tuple[Disturbance, ...] = (is_scaled_up, is_scaled_down)
AT_STEP_2: tuple[Disturbance, ...] = (is_replaced_by_its_bare_manifest, loses_its_label)
AT_EVERY_STEP: tuple[Disturbance, ...] = (
    is_rolled_back,
    starts_over,
    loses_its_rollout,
    jumps,
)


class Playable(Protocol):
    """A scenario that can be played on a product."""

    async def tell(self, product: Product, recorder: Recorder) -> None:
        """Live it through in a namespace of its own."""


@dataclass(frozen=True, slots=True)
class Row:
    """An application, an event during its release, and the step of the event."""

    app: Application
    disturbance: Disturbance
    step: int = 0

    async def tell(self, product: Product, recorder: Recorder) -> None:
        """Live it through in a namespace of its own."""
        namespace = f"test-{uuid.uuid4().hex[:10]}"
        await product.plane.client().create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        app = replace(self.app, namespace=namespace)
        await self.disturbance(Story(product.plane, recorder, app, plainly=True), self.step)


def emptied(app: Application) -> tuple[Disturbance, ...]:
    """How each kind of workload loses all of its pods, and gets more than it had."""
    if app.on_nodes:
        return (loses_its_nodes_and_gets_them_back, gets_more_nodes)
    return (is_scaled_to_zero_and_back,)


def table_of(styles: Mapping[str, Application]) -> dict[str, Row]:
    """The rows of these styles, by title."""
    return dict(_rows(styles))


def _rows(styles: Mapping[str, Application]) -> Iterator[tuple[str, Row]]:
    for style, app in styles.items():
        yield f"{style}: goes through", Row(app, goes_through)
        yield f"{style}: gets another id", Row(app, gets_another_id)
        if not app.virtual_service and app.kind_name in IN_BATCHES and not app.blue_green:
            for step in range(1, LAST + 1):
                title = f"{style}: goes back in batches at step {step}"
                yield title, Row(app, goes_back_in_batches, step)
        scaled = () if app.on_nodes else WITH_REPLICAS
        for disturbance in (*AT_STEP_2, *emptied(app)):
            title = f"{style}: {disturbance.__name__.replace('_', ' ')} at step 2"
            yield title, Row(app, disturbance, 2)
        for disturbance in (*AT_EVERY_STEP, *scaled):
            for step in range(1, LAST + 1):
                title = f"{style}: {disturbance.__name__.replace('_', ' ')} at step {step}"
                yield title, Row(app, disturbance, step)


def sampled(table: Mapping[str, Row]) -> list[ParameterSet]:
    """All titles as parameters; titles that are not part of every run are marked."""
    ends = ("goes through", "rolled back at step 2", "batches at step 2", "starts over at step 2")
    return [
        pytest.param(title, marks=[] if title.endswith(ends) else pytest.mark.full)
        for title in table
    ]


def started(
    request: pytest.FixtureRequest,
    table: Mapping[str, Playable],
    product: Product,
    recorder: Recorder,
) -> Together:
    """The selected rows of the requesting module's parametrised test, running."""
    selected = {
        str(item.callspec.params["title"])
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.module is request.module
        and "title" in getattr(getattr(item, "callspec", None), "params", {})
    }
    together = Together(AT_ONCE)
    together.start(
        (title, partial(table[title].tell, product, recorder)) for title in sorted(selected)
    )
    return together
