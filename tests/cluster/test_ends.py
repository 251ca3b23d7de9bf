"""Ends of releases on a real control plane: the owner's partition protects no rolled-back pod, and no end leaves the
stable Service without a pod.
"""

import pytest

from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.kinds import SERVICES, SLICES
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, Application, StepPlan
from tests.cluster.story import Story, conclude

PARTITION: JsonObject = {"type": "RollingUpdate", "rollingUpdate": {"partition": 3}}
LABEL = "version"


@pytest.mark.parametrize("routed", [False, True], ids=["plain", "routed"])
async def test_a_rollback_of_a_stateful_set_leaves_no_new_pod_below_its_owners_partition(
    product: Product, recorder: Recorder, namespace_of_product: str, routed: bool
) -> None:
    share = (50, 50) if routed else (None, None)
    steps = (StepPlan(2, share[0]), StepPlan(3, share[1]))
    app = Application(
        "shop", namespace_of_product, False, steps, routed, replicas=4, workload="StatefulSet"
    )
    story = Story(product.plane, recorder, app)
    made = [manifests.workload(app, updateStrategy=PARTITION), manifests.service(app)]
    await story.create(*made, *([manifests.virtual_service(app)] if routed else []))
    await story.pods_ready()
    await story.govern()
    await story.release(NEW_IMAGE)
    await story.paused_at(1)
    await story.release(STABLE_IMAGE)
    await conclude(story)


@pytest.mark.parametrize("canary", [False, True], ids=["partition", "canary"])
async def test_a_release_stops_before_the_stable_service_is_left_without_a_pod(
    product: Product, recorder: Recorder, namespace_of_product: str, canary: bool
) -> None:
    app = Application(
        "shop", namespace_of_product, canary, (StepPlan(1, 25), StepPlan(2, 50)), True
    )
    story = Story(product.plane, recorder, app)
    service = manifests.service(app)
    service["spec"]["selector"][LABEL] = "base"
    await story.create(manifests.workload(app), service, manifests.virtual_service(app))
    await story.pods_ready()
    await story.govern()
    await story.release(NEW_IMAGE, {LABEL: "next"})
    await stopped_for_the_selector(story)
    body: JsonObject = {"spec": {"selector": {LABEL: "next"}}}
    await story.client.patch(services_path(app, app.canary_service), body)
    await story.approve_all()
    await stopped_for_the_selector(story, "Finalising")
    assert ready_endpoints(recorder, app)
    await story.client.patch(services_path(app, app.name), {"spec": {"selector": {LABEL: None}}})
    del story.expected[story.key(SERVICES)]["spec"]["selector"][LABEL]
    await conclude(story)
    assert ready_endpoints(recorder, app)


def services_path(app: Application, name: str) -> str:
    """The path of a Service."""
    return f"/api/v1/namespaces/{app.namespace}/services/{name}"


async def stopped_for_the_selector(story: Story, progressing: str = "InRolling") -> None:
    """Wait until the Rollout says that the stable Service selects none of the new pods."""
    named = f"Service {story.app.namespace}/{story.app.name}: its selector"
    await story.rollout(lambda status: says(status, named, progressing))


def says(status: JsonObject, words: str, progressing: str) -> bool:
    """The Rollout is stalled by a Service that selects no pod."""
    by_type = {item["type"]: item for item in status.get("conditions") or ()}
    stalled = by_type.get("Stalled", {})
    return (
        by_type.get("Progressing", {}).get("reason") == progressing
        and stalled.get("reason") == "ServiceSelectsNoPod"
        and words in stalled.get("message", "")
    )


def ready_endpoints(recorder: Recorder, app: Application) -> int:
    """The number of ready endpoints of the stable Service."""
    return sum(
        bool(endpoint["conditions"].get("ready"))
        for key, part in recorder.state().items()
        if key.kind == SLICES
        and key.namespace == app.namespace
        and part["metadata"]["labels"].get("kubernetes.io/service-name") == app.name
        for endpoint in part.get("endpoints") or ()
    )
