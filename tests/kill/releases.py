"""The releases that are interrupted, and what must be the same however often they are."""

import asyncio
import json
from contextlib import suppress
from dataclasses import replace

from localcluster.api import JsonObject
from tests.cluster.invariants import owned
from tests.cluster.kinds import (
    DEPLOYMENTS,
    DESTINATION_RULES,
    ROLLOUTS,
    SERVICES,
    VIRTUAL_SERVICES,
)
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.story import Story
from tests.kill.lanes import Laboratory, Lane
from tests.kill.proxy import Moment

STYLES: dict[str, Application] = {
    "canary style, one shared Service": Application(
        "app", "", True, (StepPlan(1, 50), StepPlan(2, 100)), True, shared=True, replicas=2
    ),
    "partition style, a canary Service": Application(
        "app", "", False, (StepPlan(1, 50), StepPlan(2)), True, replicas=2
    ),
}


async def release(
    laboratory: Laboratory, lane: Lane, app: Application, target: tuple[int, Moment] | None
) -> Story:
    """One release from the first object to the last write, interrupted at `target`."""
    app = replace(app, namespace=lane.namespace)
    story = Story(laboratory.plane, laboratory.recorder, app)
    mending = asyncio.create_task(lane.mend())
    try:
        await story.install()
        lane.aim(app.name, target)
        await story.govern()
        await story.release("shop:v2")
        await story.approve_all()
        await story.completed()
        lane.rest()
    finally:
        mending.cancel()
        with suppress(asyncio.CancelledError):
            await mending
    return story


def end_of(story: Story) -> JsonObject:
    """The end state without what differs from run to run: names, revisions, instants."""
    state = story.recorder.state()
    found: JsonObject = {}
    for kind in (DEPLOYMENTS, SERVICES, VIRTUAL_SERVICES, DESTINATION_RULES):
        obj = state.get(story.key(kind))
        if obj is not None:
            found[kind.plural] = owned(obj)
    rollout = state[story.key(ROLLOUTS)]
    status = rollout["status"]
    canary = status["canaryStatus"]
    found["status"] = {
        "phase": status["phase"],
        "message": status["message"],
        "conditions": {c["type"]: (c["status"], c["reason"]) for c in status["conditions"]},
        "step": (canary["currentStepIndex"], canary["nextStepIndex"]),
        "state": (canary["currentStepState"], canary["finalisingStep"]),
        "replicas": (canary["canaryReplicas"], canary["canaryReadyReplicas"]),
        "observed": status["observedGeneration"],
    }
    found["finalizers"] = rollout["metadata"].get("finalizers")
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
