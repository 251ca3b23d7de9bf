"""`kubectl delete --cascade=orphan` of a workload during a release: its pods stay, as the owner asked.

Why a real plane: Kubernetes gives ReplicaSets without an owner to any Deployment whose selector takes them. The extra
Deployment of canary style had such a selector; it scaled the stable pods down, and its deletion deleted the rest.
"""

from demo.stage import Product
from localcluster.record import Recorder
from tests.cluster.kinds import DEPLOYMENTS, PODS, path_of
from tests.cluster.manifests import STABLE_IMAGE, Application, StepPlan
from tests.cluster.story import Story
from tests.cluster.view import image_of


async def test_the_stable_pods_of_a_workload_that_left_them_stay(
    product: Product, recorder: Recorder, namespace_of_product: str
) -> None:
    steps = (StepPlan(1, 20), StepPlan(4, 100))
    app = Application("shop", namespace_of_product, True, steps, virtual_service=True)
    story = Story(product.plane, recorder, app)
    await story.begin()
    await story.paused_at(1)
    stable = stable_pods(story)
    await story.client.delete(path_of(story.key(DEPLOYMENTS)), propagationPolicy="Orphan")
    await recorder.until_state(
        lambda state: (
            not any(
                key.kind in (DEPLOYMENTS, PODS)
                and key.namespace == app.namespace
                and key.name not in stable
                for key in state
            )
        )
    )
    assert len(stable) == app.replicas
    assert stable_pods(story) == stable
    assert not any(pod["metadata"].get("deletionTimestamp") for pod in story.pods()), (
        "none of them is about to go"
    )


def stable_pods(story: Story) -> set[str]:
    """The names of the pods that ran when the release began."""
    return {pod["metadata"]["name"] for pod in story.pods() if image_of(pod) == STABLE_IMAGE}
