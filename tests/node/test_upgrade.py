"""An upgrade and a downgrade during a release: the release continues, and no write is refused."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from demo.cluster.images import ensure_images
from demo.cluster.install import KUSTOMIZATION
from demo.commands import Commands
from demo.stage import CONTROLLER, CRDS, NAMESPACE, WORKER
from localcluster.node.plane import NodePlane
from localcluster.progress import SilentReporter
from tests.node import apps
from tests.node.previous import TAG, kustomization, load_previous_images, previous_version
from tests.node.releasing import Release, rollout, version_of
from tests.node.writes import writing

pytestmark = pytest.mark.full
"""Images of two versions are built: part of `make test-full`."""

REPLICAS = 4
STATUS = ("rollout", "status", "--timeout=140s", "-n", NAMESPACE)
CONFIGURATIONS = "mutatingwebhookconfigurations,validatingwebhookconfigurations"


@pytest.fixture
async def previous(installed: NodePlane, tmp_path: Path) -> AsyncIterator[Path]:
    """Give the kustomization of an earlier version, which is installed; afterwards the present one is."""
    version = await previous_version(tmp_path)
    await load_previous_images(installed, version, await ensure_images(SilentReporter()))
    folder = tmp_path / "install"
    folder.mkdir()
    await _install(installed, kustomization(version, folder))
    yield folder
    await _install(installed, KUSTOMIZATION)


async def _install(node: NodePlane, folder: Path) -> None:
    """Apply, worker and controller at once, and wait until only the new pods are there."""
    await node.kubectl("apply", "-k", str(folder))
    for name in (WORKER, CONTROLLER):
        await node.kubectl(*STATUS, f"deployment/{name}")


async def _images(node: NodePlane) -> set[str]:
    got = await node.kubectl("get", "deployments", "-n", NAMESPACE, "-o", "json")
    specs = [one["spec"]["template"]["spec"] for one in json.loads(got)["items"]]
    return {spec["containers"][0]["image"].rpartition(":")[2] for spec in specs}


async def _webhooks(node: NodePlane) -> set[str]:
    listed = json.loads(await node.kubectl("get", CONFIGURATIONS, "-o", "json"))["items"]
    ours = [one for one in listed if one["metadata"]["name"].startswith("kruise-rollout")]
    return {entry["name"] for one in ours for entry in one["webhooks"]}


async def _begun(node: NodePlane, namespace: str) -> Release:
    """A release that waits at its first step."""
    shop = Release(node, namespace)
    await shop.install(apps.deployment("web", REPLICAS), rollout())
    await shop.set_image("v2")
    await shop.paused_at(1)
    return shop


async def _running(shop: Release) -> dict[str, str]:
    """Each pod that is not on its way out, with its version."""
    return {pod["metadata"]["name"]: version_of(pod) for pod in await shop.pods()}


async def test_a_release_goes_on_through_an_upgrade_and_back(
    previous: Path, installed: NodePlane, namespace: str, tmp_path: Path
) -> None:
    commands = Commands(installed, tmp_path / "commands")
    commands.install()
    approve = f"kubectl moonshift approve web -n {namespace}"
    assert TAG in await _images(installed)
    shop = await _begun(installed, namespace)
    first = await _running(shop)
    assert sorted(first.values()) == ["v1"] * 3 + ["v2"]

    async with writing(installed.client("developer"), namespace) as writes:
        await installed.kubectl("apply", "--server-side", "-f", str(CRDS))
        await _install(installed, KUSTOMIZATION)
        webhooks = await _webhooks(installed)
    assert TAG not in await _images(installed)
    assert writes.refused == []
    # The earlier replicas ran beside the newer ones for a while: what the manifests have is still there.
    rendered = await installed.kubectl("kustomize", str(KUSTOMIZATION))
    entries = [d.get("webhooks") or () for d in yaml.safe_load_all(rendered) if d]
    assert webhooks == {entry["name"] for one in entries for entry in one}
    # Nothing moved because of it.
    assert await _running(shop) == first
    await commands.run(approve)
    await shop.paused_at(2)
    second = await _running(shop)
    assert sorted(second.values()) == ["v1"] * 2 + ["v2"] * 2

    await _install(installed, previous)
    assert TAG in await _images(installed)
    assert await _running(shop) == second
    await commands.run(approve)
    await shop.paused_at(3)
    await commands.run(approve)
    await shop.completed()
    assert await shop.versions() == ["v2"] * REPLICAS
