"""After a restore of an etcd backup, releases continue from their stored state, as docs/operations.md says.

The backup is a copy of etcd's data, taken while a step waits for its approval; the release then goes on. After the
restore, all objects are older than the objects that the controllers have seen, so every controller is restarted.
"""

import shutil

from controller.api import names
from demo.stage import ROOT, Product
from localcluster.plane import Plane
from localcluster.startup import APISERVER, ETCD
from tests.cluster import manifests
from tests.cluster.conftest import fresh_namespace
from tests.cluster.kinds import RECORDED, ROLLOUTS, VIRTUAL_SERVICES, path_of
from tests.cluster.manifests import NEW_IMAGE, Application, StepPlan
from tests.cluster.status_fields import at
from tests.cluster.story import Story

STEPS = (StepPlan(1, 20), StepPlan(2, 50), StepPlan(4))
DOCUMENT = ROOT / "docs" / "operations.md"


async def store_is_down(plane: Plane) -> None:
    """Stop etcd. The API server would wait a minute for open watches."""
    await plane.components[APISERVER].kill()
    await plane.components[ETCD].terminate()


async def store_is_up(plane: Plane) -> None:
    for name in (ETCD, APISERVER):
        await plane.components[name].start()


async def others_start_again(plane: Plane) -> None:
    """Restart the cluster's own controllers: their caches are newer than the backup."""
    for name, component in plane.components.items():
        if name not in (ETCD, APISERVER):
            await component.restart()


async def test_a_release_goes_on_from_the_state_in_the_backup(alone: Product) -> None:
    plane = alone.plane
    data = plane.layout.data / ETCD
    async with fresh_namespace(plane) as namespace:
        app = Application("shop", namespace, False, STEPS, virtual_service=True)
        async with plane.recorder(*RECORDED) as recorder:
            story = Story(plane, recorder, app)
            await story.begin()
            await story.paused_at(1)
        # A leader that cannot renew its Lease ends; in a cluster its kubelet starts it again.
        await alone.controller.terminate()
        await store_is_down(plane)
        shutil.copytree(data, data.with_name("backup"))
        await store_is_up(plane)
        await alone.controller.start()
        async with plane.recorder(*RECORDED) as recorder:
            later = Story(plane, recorder, app)
            await later.approve(1)
            await later.paused_at(2)

        await alone.controller.terminate()
        await store_is_down(plane)
        shutil.rmtree(data)
        data.with_name("backup").rename(data)
        await store_is_up(plane)
        await others_start_again(plane)
        await alone.controller.start()

        found = await story.client.get(path_of(story.key(ROLLOUTS)))
        assert at(found["status"], 1, "StepPaused")
        async with plane.recorder(*RECORDED) as recorder:
            again = Story(plane, recorder, app)
            again.expected = story.expected
            await again.approve(1)
            await again.paused_at(2)
            await again.approve(2)
            await again.completed()
            await again.pods_ready()
        route = await story.client.get(path_of(story.key(VIRTUAL_SERVICES)))
        assert route["spec"] == manifests.virtual_service(app)["spec"]
        workload = await story.client.get(path_of(story.key(story.workload)))
        assert workload["spec"]["template"]["spec"]["containers"][0]["image"] == NEW_IMAGE
        assert names.IN_PROGRESSING not in workload["metadata"]["annotations"]


def test_the_document_names_the_controllers_to_restart() -> None:
    section = DOCUMENT.read_text().partition("## Back up and restore\n")[2].partition("\n## ")[0]
    assert "kubectl -n kruise-rollout rollout restart deployment" in section
