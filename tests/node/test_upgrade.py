"""An upgrade in the middle of a release, and the way back: the release goes on, and no write is refused."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

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
from tests.node.writes import writing

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]
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


def _rollout() -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"replicas": replicas, "pause": {}} for replicas in (1, 2, 3)]
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": "web"},
        "spec": {"workloadRef": reference, "strategy": {"canary": {"steps": steps}}},
    }


class _Shop:
    """The application that is released meanwhile."""

    def __init__(self, node: NodePlane, namespace: str, commands: Commands) -> None:
        self._node, self._where, self._commands = node, ("-n", namespace), commands

    async def begin(self) -> None:
        objects = yaml.safe_dump_all([apps.deployment("web", REPLICAS), _rollout()])
        await self._node.kubectl("apply", *self._where, "-f", "-", input=objects)
        await self._wait("rollout/web", "condition=Ready")
        image = f"greeter={apps.IMAGE}:v2"
        await self._node.kubectl("set", "image", *self._where, "deployment/web", image)
        await self.paused(1)

    async def paused(self, step: int) -> None:
        await self._wait(
            "rollout/web", f"jsonpath={{.status.canaryStatus.currentStepIndex}}={step}"
        )
        await self._wait(
            "rollout/web", "jsonpath={.status.canaryStatus.currentStepState}=StepPaused"
        )

    async def approve(self) -> None:
        await self._commands.run(f"kubectl moonshift approve web {' '.join(self._where)}")

    async def ended(self) -> None:
        await self._wait("rollout/web", "jsonpath={.status.phase}=Healthy")

    async def pods(self) -> dict[str, str]:
        """Each pod that is not on its way out, with its version."""
        got = await self._node.kubectl("get", "pods", *self._where, "-l", "app=web", "-o", "json")
        return {
            one["metadata"]["name"]: one["spec"]["containers"][0]["image"].rpartition(":")[2]
            for one in json.loads(got)["items"]
            if "deletionTimestamp" not in one["metadata"]
        }

    async def _wait(self, what: str, condition: str) -> None:
        wait = ("wait", "--timeout=140s", *self._where, what, f"--for={condition}")
        await self._node.kubectl(*wait)


async def test_a_release_goes_on_through_an_upgrade_and_back(
    previous: Path, installed: NodePlane, namespace: str, tmp_path: Path
) -> None:
    commands = Commands(installed, tmp_path / "commands")
    commands.install()
    shop = _Shop(installed, namespace, commands)
    assert TAG in await _images(installed)
    await shop.begin()
    first = await shop.pods()
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
    assert await shop.pods() == first
    await shop.approve()
    await shop.paused(2)
    second = await shop.pods()
    assert sorted(second.values()) == ["v1"] * 2 + ["v2"] * 2

    await _install(installed, previous)
    assert TAG in await _images(installed)
    assert await shop.pods() == second
    await shop.approve()
    await shop.paused(3)
    await shop.approve()
    await shop.ended()
    assert sorted((await shop.pods()).values()) == ["v2"] * REPLICAS
