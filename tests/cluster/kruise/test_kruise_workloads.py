"""OpenKruise's workloads under its real manager: the same table of releases, checked against the same invariants.

In-place updates need a kubelet, which no plane has: every update here replaces pods.
"""

from dataclasses import replace
from typing import Any

import pytest

from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.kinds import path_of
from tests.cluster.kruise.conftest import EARLY
from tests.cluster.manifests import NEW_IMAGE
from tests.cluster.story import Story, conclude
from tests.cluster.table import application, sampled, started, table_of
from tests.cluster.together import Together

STYLES = {
    "CloneSet, partition": application("CloneSet"),
    "CloneSet, partition, no traffic": application("CloneSet", traffic=False),
    "CloneSet, blue-green": application("CloneSet", blue_green=True),
    "CloneSet, blue-green, no traffic": application("CloneSet", blue_green=True, traffic=False),
    "Advanced StatefulSet, partition": application("Advanced StatefulSet"),
    "Advanced StatefulSet, partition, no traffic": application(
        "Advanced StatefulSet", traffic=False
    ),
    "Advanced DaemonSet, partition": application("Advanced DaemonSet"),
}
TABLE = table_of(STYLES)


@pytest.mark.parametrize("title", sampled(TABLE))
async def test_a_release_keeps_every_invariant(
    title: str, kruise_product: Product, kruise_recorder: Recorder, table: Together
) -> None:
    await table.result(title)


async def test_a_kind_that_is_installed_after_the_product_is_picked_up(
    kruise_product: Product, kruise_recorder: Recorder
) -> None:
    app = replace(STYLES["CloneSet, partition, no traffic"], namespace=EARLY)
    story = Story(kruise_product.plane, kruise_recorder, app)
    await story.install()
    await story.labelled()
    await story.release(NEW_IMAGE)
    await story.approve_all()
    await conclude(story)


@pytest.mark.parametrize(
    "own", [None, {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}]
)
async def test_an_advanced_daemonset_says_that_it_is_not_paused_from_its_first_release_on(
    own: JsonObject | None,
    kruise_product: Product,
    kruise_recorder: Recorder,
    namespace_of_kruise_product: str,
) -> None:
    app = replace(
        STYLES["Advanced DaemonSet, partition"],
        namespace=namespace_of_kruise_product,
        virtual_service=False,
    )
    story = Story(kruise_product.plane, kruise_recorder, app)
    spec: dict[str, Any] = {} if own is None else {"updateStrategy": own}
    await story.create(manifests.workload(app, **spec))
    await story.pods_ready()
    before = _rolling(await story.client.get(path_of(story.key(story.workload))))
    await story.govern(manifests.rollout(app, [{"replicas": 1}]))
    await story.release(NEW_IMAGE)
    await story.paused_at(1)
    await story.approve(1)
    await story.completed()
    await kruise_recorder.caught_up()
    history = [c.object for c in kruise_recorder.history() if c.key == story.key(story.workload)]
    values = [_rolling(found).get("paused", before.get("paused")) for found in history]
    assert True not in values
    last = _rolling(history[-1])
    assert last["paused"] is False
    assert {key: value for key, value in last.items() if key != "paused"} == {
        key: value for key, value in before.items() if key != "paused"
    }


def _rolling(found: JsonObject) -> JsonObject:
    strategy: JsonObject = found["spec"].get("updateStrategy", {}).get("rollingUpdate") or {}
    return strategy


@pytest.fixture(scope="module")
async def table(
    request: pytest.FixtureRequest, kruise_product: Product, kruise_recorder: Recorder
) -> Together:
    """Give the selected rows, running."""
    return started(request, TABLE, kruise_product, kruise_recorder)
