"""The manifests as they are printed bring up the product on a real node, and it releases real pods."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from demo.cluster import shop
from demo.cluster.release import LOST, Release
from demo.stage import CONTROLLER, NAMESPACE, WORKER
from localcluster.node.gateway import NodeGateway
from localcluster.node.plane import NodePlane

pytestmark = pytest.mark.full
"""Images, Helm and an install take minutes: part of `make test-full`."""

LABELS = {
    CONTROLLER: "control-plane=controller-manager",
    WORKER: f"app.kubernetes.io/name={WORKER}",
}


async def _pods(node: NodePlane, deployment: str) -> list[dict[str, Any]]:
    listed = await node.kubectl(
        "get", "pods", "-n", NAMESPACE, "-l", LABELS[deployment], "-o", "json"
    )
    found: list[dict[str, Any]] = json.loads(listed)["items"]
    return found


async def test_both_deployments_come_up_without_one_restart(installed: NodePlane) -> None:
    for deployment in (CONTROLLER, WORKER):
        pods = await _pods(installed, deployment)
        assert pods
        for pod in pods:
            (status,) = pod["status"]["containerStatuses"]
            assert status["ready"], (deployment, status)
            assert status["restartCount"] == 0, (deployment, status)
            assert pod["spec"]["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"


async def test_the_images_have_no_pip_and_no_package_manager(installed: NodePlane) -> None:
    for deployment in (CONTROLLER, WORKER):
        (first, *_) = await _pods(installed, deployment)
        looked = await installed.kubectl(
            *("exec", "-n", NAMESPACE, first["metadata"]["name"], "--", "python", "-c"),
            "import importlib.util, shutil; print([n for n in ('pip', 'apt', 'dpkg', 'gcc', 'perl') "
            "if shutil.which(n)], importlib.util.find_spec('pip'), importlib.util.find_spec('pytest'))",
        )
        assert looked.strip() == "[] None None"


async def test_a_release_of_real_pods_goes_through_a_real_gateway(
    installed: NodePlane, gateway: NodeGateway, tmp_path: Path
) -> None:
    release = Release(installed, gateway, tmp_path / "commands")
    await release.deploy()
    assert set(await release.count(20)) == {shop.OLD}

    await release.begin()
    # Envoy hears of the new weights after the Rollout says that they are written.
    async with asyncio.timeout(60):
        while shop.NEW not in await release.count(10):
            pass
    counted = await release.count(400)
    # Envoy draws for each request: of 400 with a share of 25 %, fewer than 60 or more than 145 come once in a million.
    assert 60 <= counted[shop.NEW] <= 145, counted
    assert counted[LOST] == 0

    approving = asyncio.create_task(release.approve())
    during = await release.count_until(approving)
    await approving
    assert during[LOST] == 0, during
    assert set(await release.count(20)) == {shop.NEW}
