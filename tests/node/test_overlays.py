"""The components of the manifests on a real node, all at once: one namespace, chosen addresses, any user.

A patch adds the fields that OpenShift's admission adds (a user and a group of the namespace's range).
"""

import json
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.cluster.install import KUSTOMIZATION
from demo.stage import CONTROLLER, NAMESPACE, WORKER
from localcluster.errors import CommandFailed
from localcluster.node.box import ADDRESS
from localcluster.node.plane import NodePlane
from tests.node import apps

pytestmark = pytest.mark.full
"""Images and an install take minutes: part of `make test-full`."""

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{CONTROLLER}"
RANGE = 1_000_650_000
"""Where OpenShift's range of a namespace may begin."""
COPIED = ("namespaced", "api-server")
USED = ("openshift", "single-replica", "dual-stack")
BOUND = ("kruise-rollout-manager-rolebinding", "kruise-rollout-gateways-rolebinding")
STATUS = ("rollout", "status", "--timeout=140s", "-n", NAMESPACE)


def _kustomization(folder: Path, namespace: str) -> Path:
    """Write the files of a user: copies of components with the user's values, and a list of components."""
    values = {"shop": namespace, "192.0.2.0/24": f"{ADDRESS}/32"}
    for name in COPIED:
        copy = shutil.copytree(KUSTOMIZATION / name, folder / name)
        for file in copy.iterdir():
            text = file.read_text()
            for old, new in values.items():
                text = text.replace(old, new)
            file.write_text(text)
    user = {"runAsUser": RANGE, "fsGroup": RANGE}
    patch = {"spec": {"template": {"spec": {"securityContext": user}}}}
    body = {
        "resources": [os.path.relpath(KUSTOMIZATION, folder)],
        "components": [*COPIED, *(os.path.relpath(KUSTOMIZATION / n, folder) for n in USED)],
        "patches": [
            {
                "target": {"kind": "Deployment"},
                "patch": yaml.safe_dump(
                    {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}}
                    | patch
                ),
            }
        ],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(body))
    return folder


@pytest.fixture
async def overlaid(
    installed: NodePlane, namespace: str, tmp_path: Path
) -> AsyncIterator[NodePlane]:
    """Give the node with all components applied; afterwards, restore it."""
    bindings = ("clusterrolebinding", *BOUND)
    await installed.kubectl("apply", "-k", str(_kustomization(tmp_path, namespace)))
    await installed.kubectl("delete", *bindings)
    for name in (CONTROLLER, WORKER):
        await installed.kubectl(*STATUS, f"deployment/{name}")
    yield installed
    await installed.kubectl("apply", "-k", str(KUSTOMIZATION))
    for name in (CONTROLLER, WORKER):
        await installed.kubectl(*STATUS, f"deployment/{name}")


def _rollout() -> dict[str, Any]:
    steps = [{"replicas": "50%", "pause": {"duration": 1}}, {"replicas": "100%"}]
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": "web"},
        "spec": {"workloadRef": reference, "strategy": {"canary": {"steps": steps}}},
    }


async def test_a_release_goes_through_with_rights_in_one_namespace(
    overlaid: NodePlane, namespace: str
) -> None:
    where = ("-n", namespace)
    objects = [apps.deployment("web", replicas=2), _rollout()]
    await overlaid.kubectl("apply", *where, "-f", "-", input=yaml.safe_dump_all(objects))
    ready = ("wait", "--timeout=120s", *where, "rollout/web", "--for=condition=Ready")
    await overlaid.kubectl(*ready)
    await overlaid.kubectl("set", "image", *where, "deployment/web", f"greeter={apps.IMAGE}:v2")
    await overlaid.kubectl(
        *("wait", "--timeout=120s", *where, "deployment/web"),
        "--for=jsonpath={.status.updatedReplicas}=2",
    )
    await overlaid.kubectl(*ready)
    pods = json.loads(await overlaid.kubectl("get", "pods", *where, "-l", "app=web", "-o", "json"))
    versions = {p["spec"]["containers"][0]["image"] for p in pods["items"]}
    assert f"{apps.IMAGE}:v2" in versions

    assert await _may(overlaid, "patch", "deployments", namespace)
    assert not await _may(overlaid, "list", "pods", "default")
    assert not await _may(overlaid, "patch", "deployments", "default")
    for name in (CONTROLLER, WORKER):
        got = await overlaid.kubectl("get", "-n", NAMESPACE, f"deployment/{name}", "-o", "json")
        user = json.loads(got)["spec"]["template"]["spec"]["securityContext"]
        assert user["runAsUser"] == RANGE
        assert "runAsGroup" not in user


async def _may(node: NodePlane, verb: str, resource: str, namespace: str) -> bool:
    try:
        await node.kubectl("auth", "can-i", verb, resource, "-n", namespace, f"--as={ACCOUNT}")
    except CommandFailed:
        return False
    return True
