"""A DaemonSet that loses its nodes during a release; other kinds are scaled to zero instead."""

from dataclasses import replace

import yaml

from tests.cluster import manifests
from tests.cluster.status_fields import at
from tests.trouble.forms import ADVANCED_DAEMON, DAEMON, FORMS, ON_NODES
from tests.trouble.scene import Scene
from tests.trouble.table import Message, Row, Trouble
from tests.trouble.why import theirs

BY_REPLICAS = "these kinds have as many pods as replicas, on any nodes"


async def loses_its_nodes_and_gets_them_back(scene: Scene) -> None:
    """Every node that the DaemonSet's pods may run on is removed for a while. The stable version does not change. When
    there are nodes again, no more than the step's share is new, and the steps begin again.
    """
    scene.app = replace(scene.app, pool=scene.app.namespace)
    nodes = manifests.nodes(scene.app.replicas, scene.app.pool)
    await scene.plane.apply(yaml.safe_dump_all(nodes))
    await scene.begin()
    await scene.reach(2)
    await _pooled(scene, "")
    await scene.no_pods()
    await scene.moment()
    await scene.rollout(lambda status: at(status, 1, "BeforeStepUpgrade"))
    await scene.is_explained()
    await _pooled(scene, scene.app.pool)
    await scene.rollout(lambda status: at(status, 1, "StepPaused"))
    await scene.at_its_share()
    await scene.approve(1)
    await scene.paused_at(2)
    await scene.approve(2)
    await scene.completed()
    await scene.runs(old=0, new=scene.app.replicas)


async def _pooled(scene: Scene, pool: str) -> None:
    """Label all its nodes; its pods select this label."""
    for node in manifests.nodes(scene.app.replicas, scene.app.pool):
        path = f"/api/v1/nodes/{node['metadata']['name']}"
        body = {"metadata": {"labels": {"pool": pool or None}}}
        await scene.plane.client().patch(path, body)


TROUBLES = (
    Trouble(
        "without-nodes",
        "Every node of a DaemonSet leaves during a release, and comes back",
        (
            Row(
                loses_its_nodes_and_gets_them_back,
                (
                    Message(
                        "message",
                        "workload is without nodes, or was: the release starts again at step 1 with the stable "
                        "revision",
                    ),
                ),
                ("nothing: the steps are approved again, from the first on",),
                why=(
                    "waits for a node for the workload's pods: no node accepts them",
                    theirs("describe daemonset/shop", "which nodes may take its pods"),
                ),
                played=ON_NODES,
                often=(DAEMON,),
                killed=(ADVANCED_DAEMON,),
            ),
        ),
        except_for={tuple(form for form in FORMS if form not in ON_NODES): BY_REPLICAS},
    ),
)
