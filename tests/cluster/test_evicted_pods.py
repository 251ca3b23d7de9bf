"""Pods that their node's kubelet has evicted stay as objects, and stop no release.

Why a real plane: the ReplicaSet controller decides which pods count, and never deletes an ended one. Two releases, so
that the evicted pod is first of the stable revision and then of neither.
"""

import pytest

from demo.stage import Product
from localcluster.record import Recorder
from tests.cluster.kinds import PODS, path_of
from tests.cluster.manifests import NEW_IMAGE, THIRD_IMAGE, Application, StepPlan
from tests.cluster.story import Story


@pytest.mark.parametrize("style", ["partition", "canary", "blue-green"])
async def test_an_evicted_pod_stops_no_release(
    product: Product, recorder: Recorder, namespace_of_product: str, style: str
) -> None:
    steps = (StepPlan(1, 20), StepPlan(2, 50))
    app = Application(
        "shop",
        namespace_of_product,
        style == "canary",
        steps,
        virtual_service=True,
        blue_green=style == "blue-green",
    )
    story = Story(product.plane, recorder, app)
    await story.install()
    await story.govern()
    name = story.pods()[0]["metadata"]["name"]
    ready = {"type": "Ready", "status": "False", "reason": "PodFailed"}
    evicted = {"phase": "Failed", "reason": "Evicted", "conditions": [ready]}
    path = f"{path_of(story.key(PODS, name))}/status"
    await story.client.patch(path, {"status": evicted})
    await recorder.until_state(lambda _: len(story.pods()) == app.replicas + 1)
    for image in (NEW_IMAGE, THIRD_IMAGE):
        await story.release(image)
        await story.approve_all()
        await story.completed()
    assert name in [pod["metadata"]["name"] for pod in story.pods()], "it lies about to the end"
