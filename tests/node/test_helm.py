"""The Helm chart is the manifests: the same objects, and what its values change."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.cluster.chart import CHART
from demo.cluster.install import KUSTOMIZATION
from localcluster.build import KUBERNETES_VERSION
from localcluster.extras import BuiltExtra
from localcluster.node.plane import NodePlane

pytestmark = pytest.mark.full
"""Images, Helm and an install take minutes: part of `make test-full`."""

Objects = dict[tuple[str, str], dict[str, Any]]
COMPONENT = KUSTOMIZATION / "secure-metrics"
DIGEST = f"sha256:{'0' * 64}"


def _by_name(text: str) -> Objects:
    documents = (d for d in yaml.safe_load_all(text) if d)
    return {(d["kind"], d["metadata"]["name"]): d for d in documents}


def relative_to(folder: Path, start: Path) -> str:
    """As a kustomization in `start` names a folder."""
    return os.path.relpath(folder, start)


async def _helm(helm: BuiltExtra, *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *(str(helm.binary), *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode()


async def _rendered(helm: BuiltExtra, namespace: str, *values: str) -> str:
    return await _helm(
        *(helm, "template", "moonshift", str(CHART), "--namespace", namespace),
        *("--kube-version", KUBERNETES_VERSION, *(f"--set={value}" for value in values)),
    )


async def test_the_chart_renders_the_objects_of_the_manifests(
    helm: BuiltExtra, node: NodePlane
) -> None:
    manifests = _by_name(await node.kubectl("kustomize", str(KUSTOMIZATION)))
    chart = _by_name(await _rendered(helm, "kruise-rollout", "namespace.create=true"))
    assert chart.keys() == manifests.keys()
    for name, expected in manifests.items():
        assert chart[name] == expected, name


async def test_secure_metrics_are_the_component_of_the_manifests(
    helm: BuiltExtra, node: NodePlane, tmp_path: Path
) -> None:
    body = {
        "resources": [relative_to(KUSTOMIZATION, tmp_path)],
        "components": [relative_to(COMPONENT, tmp_path)],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(body))
    manifests = _by_name(await node.kubectl("kustomize", str(tmp_path)))
    values = ("namespace.create=true", "metrics.secure=true")
    chart = _by_name(await _rendered(helm, "kruise-rollout", *values))
    for role in ("moonshift-metrics-auth-role", "moonshift-metrics-reader"):
        # A component's own objects are not labelled by the base that it is added to.
        chart["ClusterRole", role]["metadata"]["labels"].pop("app.kubernetes.io/part-of")
        manifests["ClusterRole", role]["metadata"].setdefault("labels", {})
    assert chart == manifests


async def test_lint_finds_nothing(helm: BuiltExtra) -> None:
    said = await _helm(helm, "lint", "--strict", str(CHART))
    assert "0 chart(s) failed" in said


async def test_an_api_server_takes_the_objects_in_any_namespace(
    helm: BuiltExtra, node: NodePlane, namespace: str, tmp_path: Path
) -> None:
    values = (f"controller.image.digest={DIGEST}", "controller.replicas=3", "worker.maxReplicas=4")
    rendered = await _rendered(helm, namespace, *values)
    assert "kruise-rollout\n" not in rendered
    file = tmp_path / "rendered.yaml"
    file.write_text(rendered)
    await node.kubectl("apply", "--dry-run=server", "-f", str(file))

    objects = _by_name(rendered)
    controller = objects["Deployment", "kruise-rollout-controller-manager"]["spec"]
    assert controller["replicas"] == 3
    (container,) = controller["template"]["spec"]["containers"]
    assert container["image"] == f"moonshift-controller@{DIGEST}"
    assert objects["HorizontalPodAutoscaler", "moonshift-luaworker"]["spec"]["maxReplicas"] == 4
