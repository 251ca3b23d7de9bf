"""The interrupted releases, and the end state that must be the same however often they are interrupted."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from localcluster.api import JsonObject
from tests.cluster.invariants import owned
from tests.cluster.kinds import (
    AUTOSCALERS,
    DEPLOYMENTS,
    DESTINATION_RULES,
    ROLLOUTS,
    SERVICES,
    VIRTUAL_SERVICES,
)
from tests.cluster.manifests import NEW_IMAGE, Application, StepPlan
from tests.cluster.status_fields import sub_status
from tests.cluster.story import Story
from tests.kill.courses import Course, goes_through, whole
from tests.kill.lanes import Laboratory, Lane
from tests.kill.proxy import Moment

STYLES: dict[str, Application] = {
    "canary style, one shared Service": Application(
        "app", "", True, (StepPlan(1, 50), StepPlan(2, 100)), True, shared=True, replicas=2
    ),
    "partition style, a canary Service": Application(
        "app", "", False, (StepPlan(1, 50), StepPlan(2)), True, replicas=2
    ),
    "blue-green, a canary Service": Application(
        "app", "", False, (StepPlan(1, 0), StepPlan(2, 50)), True, replicas=2, blue_green=True
    ),
}
OWNED = (DEPLOYMENTS, SERVICES, VIRTUAL_SERVICES, DESTINATION_RULES, AUTOSCALERS)


async def release(
    laboratory: Laboratory,
    lane: Lane,
    app: Application,
    target: tuple[int, Moment] | None = None,
    *,
    course: Course = goes_through,
    turned: Callable[[], None] = lambda: None,
) -> Story:
    """One release from the first object to the last write, interrupted at `target`.

    `turned` is called when step 1 waits for its approval, before the actions of the course.
    """
    app = replace(app, namespace=lane.namespace)
    story = Story(laboratory.plane, laboratory.recorder, app, plainly=True)
    mending = asyncio.create_task(lane.mend())
    try:
        await story.install()
        await lane.ready()  # the requests of its start belong to the case before
        lane.aim(app.name, target)
        await story.govern()
        await story.release(NEW_IMAGE)
        await story.paused_at(1)
        turned()
        await course(story)
        await whole(story)
        lane.rest()
    finally:
        mending.cancel()
        with suppress(asyncio.CancelledError):
            await mending
    return story


def end_of(story: Story) -> JsonObject:
    """The end state without values that differ from run to run: names, revisions, times."""
    state = story.recorder.state()
    found: JsonObject = {}
    for kind in OWNED:
        obj = state.get(story.key(kind))
        if obj is not None:
            found[kind.plural] = owned(obj)
    rollout = state.get(story.key(ROLLOUTS))
    found["rollout"] = _of_status(rollout) if rollout is not None else "gone"
    found["pods"] = sorted(
        (
            pod["spec"]["containers"][0]["image"],
            pod["metadata"]["labels"].get("rollouts.kruise.io/rollout-batch-id", ""),
        )
        for pod in story.pods()
    )
    # Service addresses are handed out one by one.
    services = found["services"]["spec"]
    for field in ("clusterIP", "clusterIPs"):
        services.pop(field, None)
    text = json.dumps(found, sort_keys=True).replace(f'"{story.app.name}', '"APP')
    result: JsonObject = json.loads(text)
    return result


def _of_status(rollout: JsonObject) -> JsonObject:
    """The fields of the Rollout that clients read at the end."""
    status = rollout["status"]
    inner = sub_status(status)
    return {
        "finalizers": rollout["metadata"].get("finalizers"),
        "phase": status["phase"],
        "message": status["message"],
        "conditions": {c["type"]: (c["status"], c["reason"]) for c in status["conditions"]},
        "step": (inner["currentStepIndex"], inner["nextStepIndex"]),
        "state": (inner["currentStepState"], inner["finalisingStep"]),
        "replicas": {name: count for name, count in inner.items() if name.endswith("Replicas")},
        "observed": status["observedGeneration"],
    }
