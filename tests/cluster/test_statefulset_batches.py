"""A StatefulSet released in three batches, by a manifest of v1alpha1 that counts its steps as 1, 2 and 2."""

import pytest

from demo.stage import Product
from localcluster.errors import CommandFailed
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.kinds import PODS, ROLLOUTS, ROLLOUTS_V1ALPHA1
from tests.cluster.manifests import NEW_IMAGE, Application, StepPlan
from tests.cluster.story import Story, conclude

ROLLOUT = """
apiVersion: rollouts.kruise.io/v1alpha1
kind: Rollout
metadata:
  name: shop
spec:
  objectRef:
    workloadRef:
      apiVersion: apps/v1
      kind: StatefulSet
      name: shop
  strategy:
    canary:
      steps:
      - replicas: 1
        pause: {}
      - replicas: 2
        pause: {duration: 60}
      - replicas: 2
"""
STEPS = (StepPlan(1), StepPlan(2), StepPlan(2))


async def test_three_batches_of_five_pods_are_1_1_and_3_and_the_idle_step_is_reported(
    product: Product, recorder: Recorder, namespace_of_product: str
) -> None:
    app = Application(
        "shop", namespace_of_product, False, STEPS, replicas=5, workload="StatefulSet"
    )
    story = Story(product.plane, recorder, app)
    await story.create(manifests.workload(app), manifests.service(app))
    await story.pods_ready()
    there = ("-n", namespace_of_product, "-f", "-")
    with pytest.raises(CommandFailed, match="step 3 adds no pod"):
        await product.plane.kubectl(
            "create", "--dry-run=server", "--warnings-as-errors", *there, input=ROLLOUT
        )
    await product.plane.kubectl("create", *there, input=ROLLOUT)
    await story.labelled()
    await story.release(NEW_IMAGE)
    await story.paused_at(1)
    await story.approve(1, ROLLOUTS_V1ALPHA1)
    await story.paused_at(2)
    await story.approve(2, ROLLOUTS)
    await story.paused_at(3)
    await story.approve(3, ROLLOUTS)
    await conclude(story)
    batches = {
        key.name: pod["metadata"]["labels"]["rollouts.kruise.io/rollout-batch-id"]
        for key, pod in recorder.state().items()
        if key.kind == PODS and key.namespace == app.namespace
    }
    assert batches == {"shop-0": "3", "shop-1": "3", "shop-2": "3", "shop-3": "2", "shop-4": "1"}
