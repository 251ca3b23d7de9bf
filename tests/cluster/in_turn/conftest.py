"""One plane on which tests start Moonshifts of their own, one after the other.

Why it exists: these tests start the controller with other flags or another account, or remove objects that it needs.
A plane takes longer to start than Moonshift. Invariant: at most one Moonshift runs on the plane, and each is
installed again, so that objects which an earlier test removed are there. Objects that earlier tests left (namespaces,
kinds and rights) are ignored.
"""

import contextlib
from collections.abc import AsyncIterator

import pytest
import yaml

from controller.api.names import GROUP, MUTATING_CONFIGURATION, VALIDATING_CONFIGURATION
from demo.stage import CRDS, GATEWAY_KINDS, Product
from localcluster.errors import RequestRefused
from localcluster.plane import Plane
from tests.cluster import manifests
from tests.cluster.kinds import RECORDED
from tests.cluster.replicas import LEASES
from tests.cluster.secrecy import kept_product

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS = (
    f"{REGISTRATION}/mutatingwebhookconfigurations/{MUTATING_CONFIGURATION}",
    f"{REGISTRATION}/validatingwebhookconfigurations/{VALIDATING_CONFIGURATION}",
)
DEFINITION = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rollouts.{GROUP}"


@pytest.fixture(scope="package")
async def shared_ground(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Plane]:
    """Give the plane, with the gateway kinds of the demo."""
    async with Plane.start(tmp_path_factory.mktemp("ground")) as started:
        await started.kubectl("apply", "--server-side", "-f", str(GATEWAY_KINDS))
        await started.apply(yaml.safe_dump_all(manifests.nodes()))
        yield started


@pytest.fixture(scope="module")
async def ground(shared_ground: Plane) -> Plane:
    """Give the plane to a test file; no Moonshift runs on it."""
    await vacated(shared_ground)
    return shared_ground


@pytest.fixture
async def alone(ground: Plane, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Product]:
    """Give Moonshift as it is shipped, for one test."""
    await vacated(ground)
    folder = tmp_path_factory.mktemp("alone")
    async with kept_product(ground, folder) as running:
        await recordable(ground)
        yield running


async def vacated(ground: Plane) -> None:
    """Remove the address that the Moonshift before has published, because the manifests cannot be applied over it; and
    its Leases, because a process that was killed still holds them for fifteen seconds."""
    client = ground.client()
    for lease in (await client.get(LEASES))["items"]:
        await client.patch(
            f"{LEASES}/{lease['metadata']['name']}", {"spec": {"holderIdentity": ""}}
        )
    for path in CONFIGURATIONS:
        with contextlib.suppress(RequestRefused):  # nobody was here before
            await client.delete(path)
    conversion = yaml.safe_load((CRDS / "rollouts.yaml").read_text())["spec"]["conversion"]
    conversion["webhook"]["clientConfig"] |= {"url": None, "caBundle": None}
    with contextlib.suppress(RequestRefused):
        await client.patch(DEFINITION, {"spec": {"conversion": conversion}})


async def deletions_ended(ground: Plane) -> None:
    """Return when the namespaces that earlier tests deleted are gone. Moonshift must be running: it ends the releases
    in them."""
    listed = await ground.client().get("/api/v1/namespaces")
    leaving = [
        f"namespace/{one['metadata']['name']}"
        for one in listed["items"]
        if "deletionTimestamp" in one["metadata"]
    ]
    if leaving:
        await ground.kubectl("wait", "--for=delete", "--timeout=180s", *leaving)


async def recordable(ground: Plane) -> None:
    """Return when every recorded kind can be listed: kubectl asks again while their storage is being made."""
    kinds = ",".join(f"{kind.plural}.{kind.group}".rstrip(".") for kind in RECORDED)
    await ground.kubectl("get", kinds, "--all-namespaces")
