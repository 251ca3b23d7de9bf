"""Releases of pods that a kubelet runs: they crash, cannot be pulled, are never ready, are evicted and drained.

On a control plane alone the words of these states are written by a model of a kubelet. Here the kubelet and containerd
write them, and the installed product has to say the same.
"""

import pytest

from localcluster.errors import CommandFailed
from localcluster.node.plane import NodePlane
from localcluster.node.settings import NODE
from tests.node import apps
from tests.node.releasing import Release, rollout, version_of

pytestmark = pytest.mark.full
"""Images of the product are built and installed: part of `make test-full`."""

REPLICAS = 4
READY = "v1"
NEW = "v2"


def _ready(pod: dict[str, object]) -> bool:
    status = pod["status"]
    assert isinstance(status, dict)
    return any(c["type"] == "Ready" and c["status"] == "True" for c in status["conditions"])


@pytest.fixture
async def release(installed: NodePlane, namespace: str) -> Release:
    """Give an application of four pods, with its Rollout, before a release."""
    made = Release(installed, namespace)
    await made.install(apps.deployment("web", REPLICAS), apps.service("web"), rollout())
    await made.wait("deployment/web", "condition=Available")
    return made


async def _old_pods_serve(release: Release, at_least: int) -> None:
    old = [pod for pod in await release.pods() if version_of(pod) == READY and _ready(pod)]
    assert len(old) >= at_least, [pod["metadata"]["name"] for pod in old]


async def _comes_back(release: Release) -> None:
    await release.apply(apps.deployment("web", REPLICAS))
    await release.completed()
    await release.wait("deployment/web", "condition=Available")
    assert await release.versions() == [READY] * REPLICAS


@pytest.mark.parametrize(
    ("environment", "version", "reason", "expected"),
    [
        pytest.param(
            {"CRASH": "0s"},
            NEW,
            "CrashLoopBackOff",
            "container greeter ends with exit code 1",
            id="crashes",
        ),
        pytest.param({}, "v404", "ImagePullBackOff", "cannot be pulled", id="has no image"),
        pytest.param(
            {"UNREADY": "forever"},
            NEW,
            "ReadinessProbeFailing",
            "its readiness probe fails",
            id="is never ready",
        ),
    ],
)
async def test_a_version_that_never_serves_is_named_and_goes_back(
    release: Release, environment: dict[str, str], version: str, reason: str, expected: str
) -> None:
    await release.apply(apps.deployment("web", REPLICAS, version, environment))
    message = await release.stalled(reason)
    assert expected in message
    await _old_pods_serve(release, REPLICAS - 1)
    await _comes_back(release)


async def test_an_evicted_pod_of_a_step_comes_back_in_its_own_revision(
    release: Release, installed: NodePlane, namespace: str
) -> None:
    await release.set_image(NEW)
    await release.paused_at(1)
    (canary,) = [pod for pod in await release.pods() if version_of(pod) == NEW]
    name = canary["metadata"]["name"]
    await installed.client().create(
        f"/api/v1/namespaces/{namespace}/pods/{name}/eviction",
        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}},
    )
    await release.wait(f"pod/{name}", "delete")
    await release.wait("deployment/web", f"jsonpath={{.status.readyReplicas}}={REPLICAS}")
    assert await release.versions() == [READY] * (REPLICAS - 1) + [NEW]
    await release.paused_at(1)


async def test_a_drain_is_held_by_the_budget_and_the_release_goes_on_after_it(
    release: Release, installed: NodePlane, namespace: str
) -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    await release.apply(budget)
    await release.wait("pdb/web", "jsonpath={.status.disruptionsAllowed}=1")
    await release.set_image(NEW)
    await release.paused_at(1)
    try:
        with pytest.raises(CommandFailed, match="global timeout reached"):
            # There is only this node: the replacement of the first evicted pod has no place, so no second pod may go.
            await installed.kubectl(
                *("drain", NODE, "--pod-selector=app=web", "--ignore-daemonsets", "--timeout=15s"),
            )
        assert sum(map(_ready, await release.pods())) == REPLICAS - 1
        # An approved step makes no pod ready while there is no place, and takes none away.
        await release.approve()
        await release.stalled("Unschedulable")
        assert sum(map(_ready, await release.pods())) >= REPLICAS - 2
    finally:
        await installed.kubectl("uncordon", NODE)
    await release.paused_at(2)
    assert await release.versions() == [READY] * 2 + [NEW] * 2
    await release.approve()
    await release.paused_at(3)
    await release.approve()
    await release.completed()
    assert await release.versions() == [NEW] * REPLICAS
