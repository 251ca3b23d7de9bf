"""Planes with OpenKruise's real manager: one without Moonshift, one on which the manager comes after Moonshift.

Why it exists: the manager takes long to start, and these tests are about its workloads. Invariant: the tests of
this folder share both planes and keep apart by namespaces; the planes end with the last of them.
"""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import yaml

from demo.stage import Product
from localcluster.openkruise import start_kruise
from localcluster.plane import Plane
from localcluster.record import Recorder
from tests.cluster import manifests, table
from tests.cluster.conftest import GATEWAY_KINDS, fresh_namespace
from tests.cluster.kinds import RECORDED, RECORDED_OF_KRUISE, ROLLOUTS, collection
from tests.cluster.secrecy import kept_product


@pytest.fixture(scope="package")
async def kruise_plane(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Plane]:
    """Give a plane with OpenKruise's real manager; nothing of Moonshift is on it."""
    async with Plane.start(tmp_path_factory.mktemp("kruise-plane")) as started:
        await start_kruise(started)
        yield started


@pytest.fixture
async def namespace_of_kruise(kruise_plane: Plane) -> AsyncIterator[str]:
    """Give a fresh namespace on the plane with OpenKruise; its deletion is not waited for."""
    async with fresh_namespace(kruise_plane) as name:
        yield name


EARLY = "test-early"
"""Namespace with a Rollout that was created before the kind CloneSet was installed."""


async def _rollout_of_a_kind_to_come(plane: Plane) -> None:
    """A Rollout of a CloneSet on a plane that does not serve the kind is Stalled and says so."""
    await plane.client().create("/api/v1/namespaces", {"metadata": {"name": EARLY}})
    app = table.application("CloneSet", traffic=False)
    body = manifests.rollout(replace(app, namespace=EARLY))
    async with plane.recorder(ROLLOUTS) as rollouts:
        await plane.client("developer").create(collection(ROLLOUTS, EARLY), body)
        await rollouts.until(
            lambda c: (
                "is not served by this cluster" in c.object.get("status", {}).get("message", "")
            )
        )


@pytest.fixture(scope="package")
async def kruise_product(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Product]:
    """Give Moonshift on a plane with OpenKruise's real manager, which is installed after Moonshift has started."""
    async with Plane.start(tmp_path_factory.mktemp("kruise-product-plane")) as started:
        await started.kubectl("apply", "--server-side", "-f", str(GATEWAY_KINDS))
        await started.apply(yaml.safe_dump_all(manifests.nodes()))
        folder = tmp_path_factory.mktemp("kruise-product")
        async with kept_product(started, folder) as running:
            await _rollout_of_a_kind_to_come(started)
            await start_kruise(started)
            yield running


@pytest.fixture
async def namespace_of_kruise_product(kruise_product: Product) -> AsyncIterator[str]:
    """Give a fresh namespace on the product's plane with OpenKruise; its deletion is not waited for."""
    async with fresh_namespace(kruise_product.plane) as name:
        yield name


@pytest.fixture(scope="package")
async def kruise_recorder(kruise_product: Product) -> AsyncIterator[Recorder]:
    """Give a recording of everything that releases of OpenKruise's workloads touch."""
    every = (*RECORDED, *RECORDED_OF_KRUISE)
    kinds = ",".join(f"{kind.plural}.{kind.group}".rstrip(".") for kind in every)
    await kruise_product.plane.kubectl("get", kinds, "--all-namespaces")
    async with kruise_product.plane.recorder(*every) as started:
        yield started
