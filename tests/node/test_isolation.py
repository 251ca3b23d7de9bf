"""The policies of the manifests, enforced: who reaches the worker and the controller, and whom they reach."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml

from demo.cluster.install import KUSTOMIZATION
from demo.stage import CONTROLLER, NAMESPACE, WORKER
from localcluster.node.box import ADDRESS
from localcluster.node.lines import API_PORT
from localcluster.node.plane import NodePlane
from tests.node import apps
from tests.node.connections import Target, reached, reached_from, settles

pytestmark = pytest.mark.full
"""Images and an install take minutes: part of `make test-full`."""

LABELS = {
    CONTROLLER: "control-plane=controller-manager",
    WORKER: f"app.kubernetes.io/name={WORKER}",
}
API_SERVICE = "10.0.0.1"
GRPC, METRICS, PROBES, WEBHOOK, KUBELET = 9090, 8080, 8081, 9876, 10250


async def _pod(node: NodePlane, deployment: str) -> tuple[str, str]:
    """Return name and address of a ready pod."""
    listed = await node.kubectl(
        "get", "pods", "-n", NAMESPACE, "-l", LABELS[deployment], "-o", "json"
    )
    ready = [one for one in json.loads(listed)["items"] if _is_ready(one)]
    return ready[0]["metadata"]["name"], ready[0]["status"]["podIP"]


def _is_ready(pod: dict[str, Any]) -> bool:
    if "deletionTimestamp" in pod["metadata"]:
        return False
    return any(
        one["type"] == "Ready" and one["status"] == "True" for one in pod["status"]["conditions"]
    )


@pytest.fixture
async def stranger(installed: NodePlane, namespace: str) -> str:
    """Give the address of a pod that has nothing to do with us; it answers on 8080."""
    objects = (apps.deployment("stranger"), apps.service("stranger"))
    await installed.kubectl(
        "apply", "-n", namespace, "-f", "-", input=yaml.safe_dump_all(list(objects))
    )
    wait = ("wait", "--timeout=120s", "--for=condition=Available", "deployment/stranger")
    await installed.kubectl(*wait, "-n", namespace)
    listed = json.loads(await installed.kubectl("get", "pods", "-n", namespace, "-o", "json"))
    await apps.fetch(installed, namespace, "stranger", "http://stranger/")
    address: str = listed["items"][0]["status"]["podIP"]
    return address


@pytest.fixture
async def policies(installed: NodePlane) -> AsyncIterator[None]:
    """Put the policies of the manifests back after a test that took one away."""
    yield
    await installed.kubectl("apply", "-k", str(KUSTOMIZATION))


async def _without_policy(node: NodePlane, name: str) -> None:
    await node.kubectl("delete", "networkpolicy", "-n", NAMESPACE, name)


def _ways_out(stranger: str, controller: str) -> dict[str, Target]:
    return {
        "API server, by its Service": ("tcp", API_SERVICE, 443),
        "API server, by its address": ("tcp", ADDRESS, API_PORT),
        "kubelet": ("tcp", ADDRESS, KUBELET),
        "DNS": ("udp", ADDRESS, 53),
        "DNS, by TCP": ("tcp", ADDRESS, 53),
        "a pod of somebody else": ("tcp", stranger, apps.PORT),
        "the controller's webhooks": ("tcp", controller, WEBHOOK),
        "the controller's metrics": ("tcp", controller, METRICS),
    }


async def test_the_worker_reaches_nothing(
    installed: NodePlane, stranger: str, policies: None
) -> None:
    worker, _ = await _pod(installed, WORKER)
    _, controller = await _pod(installed, CONTROLLER)
    ways = _ways_out(stranger, controller)

    async def reached_by_the_worker() -> dict[str, bool]:
        return await reached_from(installed, NAMESPACE, worker, ways)

    await settles(reached_by_the_worker, dict.fromkeys(ways, False))
    # Not because nobody listens there: without the policy all of it is reached.
    await _without_policy(installed, WORKER)
    await settles(reached_by_the_worker, dict.fromkeys(ways, True))


async def test_nobody_but_the_controller_calls_the_worker(
    installed: NodePlane, stranger: str, namespace: str, policies: None
) -> None:
    _, worker = await _pod(installed, WORKER)
    controller, _ = await _pod(installed, CONTROLLER)
    ports = {"grpc": GRPC, "metrics": METRICS, "probes": PROBES}

    async def reached_by_a_stranger() -> dict[str, bool]:
        return {
            name: await reached(installed, namespace, "stranger", f"http://{worker}:{port}/")
            for name, port in ports.items()
        }

    await settles(reached_by_a_stranger, {"grpc": False, "metrics": True, "probes": True})
    called = await reached_from(installed, NAMESPACE, controller, {"grpc": ("tcp", worker, GRPC)})
    assert called == {"grpc": True}
    await _without_policy(installed, WORKER)
    await settles(reached_by_a_stranger, {"grpc": True, "metrics": True, "probes": True})


async def test_the_controller_reaches_the_ports_that_it_needs_and_no_other(
    installed: NodePlane, stranger: str, policies: None
) -> None:
    controller, _ = await _pod(installed, CONTROLLER)
    _, worker = await _pod(installed, WORKER)
    ways = _ways_out(stranger, worker)
    del ways["the controller's webhooks"], ways["the controller's metrics"]
    ways["the worker"] = ("tcp", worker, GRPC)
    needless = {"kubelet", "a pod of somebody else"}

    async def reached_by_the_controller() -> dict[str, bool]:
        return await reached_from(installed, NAMESPACE, controller, ways)

    await settles(reached_by_the_controller, {name: name not in needless for name in ways})
    await _without_policy(installed, CONTROLLER)
    await settles(reached_by_the_controller, dict.fromkeys(ways, True))


async def test_metrics_and_webhooks_of_the_controller_are_reached_by_every_pod(
    installed: NodePlane, stranger: str, namespace: str
) -> None:
    _, controller = await _pod(installed, CONTROLLER)
    for port in (WEBHOOK, METRICS, PROBES):
        # The API server that calls webhooks is in no pod, so nobody can be named.
        assert await reached(installed, namespace, "stranger", f"http://{controller}:{port}/"), port
