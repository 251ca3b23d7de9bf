"""Every workload, every style, every disturbance: releases on a real control plane, checked against every invariant.

The table is generated: a workload in a style, and a disturbance at a step. A few rows are part of every
run, all of them of `make test-full`. The scenarios of a run go on at the same time; the first test waits for all.
"""

import pytest

from demo.stage import Product
from localcluster.record import Recorder
from tests.cluster.table import application, sampled, started, table_of
from tests.cluster.together import Together

STYLES = {
    "Deployment, partition": application("Deployment"),
    "Deployment, canary": application("Deployment", canary=True),
    "Deployment, blue-green": application("Deployment", blue_green=True),
    "Deployment, blue-green, no traffic": application("Deployment", blue_green=True, traffic=False),
    "StatefulSet, partition": application("StatefulSet"),
    "StatefulSet, partition, no traffic": application("StatefulSet", traffic=False),
    "DaemonSet, partition": application("DaemonSet"),
    "DaemonSet, partition, no traffic": application("DaemonSet", traffic=False),
}


TABLE = table_of(STYLES)


@pytest.mark.parametrize("title", sampled(TABLE))
async def test_a_release_keeps_every_invariant(
    title: str, product: Product, recorder: Recorder, table: Together
) -> None:
    await table.result(title)


@pytest.fixture(scope="module")
async def table(request: pytest.FixtureRequest, product: Product, recorder: Recorder) -> Together:
    """Give the selected rows, running."""
    return started(request, TABLE, product, recorder)
