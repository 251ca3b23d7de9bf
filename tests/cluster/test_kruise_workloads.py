"""OpenKruise's workloads under its real manager: the same table of releases, held against the same invariants.

In-place updates need a kubelet, which no plane has: what is run here replaces pods.
"""

from dataclasses import replace

import pytest

from demo.stage import Product
from localcluster.record import Recorder
from tests.cluster.conftest import EARLY
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


@pytest.mark.timeout(900)
@pytest.mark.parametrize("title", sampled(TABLE))
async def test_a_release_keeps_every_invariant(
    title: str, kruise_product: Product, kruise_recorder: Recorder, table: Together
) -> None:
    await table.result(title)


@pytest.mark.timeout(180)
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


@pytest.fixture(scope="module")
async def table(
    request: pytest.FixtureRequest, kruise_product: Product, kruise_recorder: Recorder
) -> Together:
    """Give the selected rows, running."""
    return started(request, TABLE, kruise_product, kruise_recorder)
