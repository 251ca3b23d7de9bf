"""CloneSets and Advanced StatefulSets that update pods in place: the kubelet changes the container, the pod stays.

OpenKruise's own manager decides which pods; the release says how many. The identity of the pods, their containers'
restarts and the answers of their servers are those of real containers.
"""

from typing import Any

import pytest

from localcluster.node.plane import NodePlane
from localcluster.openkruise import start_kruise
from tests.node import apps
from tests.node.releasing import Release, rollout, version_of

pytestmark = pytest.mark.full
"""OpenKruise's manager is compiled, images are built: part of `make test-full`."""

REPLICAS = 3
KINDS = {
    "CloneSet": ("apps.kruise.io/v1alpha1", "clonesets.apps.kruise.io"),
    "StatefulSet": ("apps.kruise.io/v1beta1", "statefulsets.apps.kruise.io"),
}


@pytest.fixture(scope="module")
async def kruise(installed: NodePlane) -> NodePlane:
    """Give the node with OpenKruise's manager beside the product."""
    await start_kruise(installed)
    return installed


def _workload(kind: str) -> dict[str, Any]:
    labels = {"app": "web"}
    pods: dict[str, Any] = {"metadata": {"labels": labels}, "spec": apps.pod_spec("v1")}
    spec: dict[str, Any] = {
        "replicas": REPLICAS,
        "selector": {"matchLabels": labels},
        "template": pods,
    }
    if kind == "CloneSet":
        return spec | {"updateStrategy": {"type": "InPlaceOnly", "maxUnavailable": 1}}
    pods["spec"]["readinessGates"] = [{"conditionType": "InPlaceUpdateReady"}]
    rolling = {"podUpdatePolicy": "InPlaceOnly", "maxUnavailable": 1}
    return spec | {"serviceName": "web", "updateStrategy": {"rollingUpdate": rolling}}


def _identities(pods: list[dict[str, Any]]) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods}


def _restarts(pods: list[dict[str, Any]]) -> dict[str, int]:
    return {pod["metadata"]["name"]: _container(pod)["restartCount"] for pod in pods}


def _container(pod: dict[str, Any]) -> dict[str, Any]:
    (status,) = pod["status"]["containerStatuses"]
    assert isinstance(status, dict)
    return status


def _running(pods: list[dict[str, Any]]) -> list[str]:
    """The versions that containers run, as the kubelet tells them."""
    return sorted(str(_container(pod)["image"]).rpartition(":")[2] for pod in pods)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_step_updates_its_pods_in_place_and_undo_brings_them_back(
    kind: str, kruise: NodePlane, namespace: str
) -> None:
    version, plural = KINDS[kind]
    release = Release(kruise, namespace, f"{plural}/web")
    workload = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "web"},
        "spec": _workload(kind),
    }
    reference = {"apiVersion": version, "kind": kind, "name": "web"}
    await release.install(workload, apps.service("web"), rollout(reference, (1, 2)))
    await release.wait(f"{plural}/web", f"jsonpath={{.status.readyReplicas}}={REPLICAS}")
    before = _identities(await release.pods())

    await release.set_image("v2")
    await release.paused_at(1)
    pods = await release.pods()
    assert _identities(pods) == before
    assert _running(pods) == ["v1", "v1", "v2"]
    assert sorted(_restarts(pods).values()) == [0, 0, 1]
    assert [_restarts([p])[p["metadata"]["name"]] for p in pods if version_of(p) == "v2"] == [1]

    await release.set_image("v1")
    await release.completed()
    # A rollback ends when enough pods are ready, and maxUnavailable is one: the last one may still change.
    await release.all_run("v1")
    assert _identities(await release.pods()) == before

    await release.set_image("v2")
    await release.paused_at(1)
    await release.approve()
    await release.paused_at(2)
    assert _running(await release.pods()) == ["v1", "v2", "v2"]
    await release.approve()
    await release.completed()
    await release.all_run("v2")
    assert _identities(await release.pods()) == before
    answer = await apps.fetch(kruise, namespace, "web", "http://web/")
    assert answer.startswith("v2 ")
