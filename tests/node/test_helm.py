"""The Helm chart gives the same objects as the manifests, apart from the changes by its values."""

import asyncio
import json
import os
from collections.abc import Iterator
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
Leaf = tuple[str, dict[str, Any]]
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


OVERLAYS = {
    "api-server": ("networkPolicy.apiServer.cidrs={192.0.2.0/24}",),
    "cert-manager": ("certManager=true",),
    "dual-stack": ("ipFamilyPolicy=PreferDualStack",),
    "namespaced": ("watchNamespace=shop",),
    "openshift": ("openshift=true",),
    "secure-metrics": ("metrics.secure=true",),
    "single-replica": ("controller.replicas=1", "worker.minReplicas=1"),
    "track-config/configmaps": ("trackConfig=configmaps",),
    "track-config/secrets": ("trackConfig=configmaps\\,secrets",),
}
"""Component of the manifests → the same as values."""
EXAMPLES = {"other-kinds"}
"""Components that are copied and filled in: there is nothing to set."""


def test_every_component_is_a_value() -> None:
    files = KUSTOMIZATION.rglob("kustomization.yaml")
    kinds = {str(p.parent.relative_to(KUSTOMIZATION)): yaml.safe_load(p.read_text()) for p in files}
    components = {name for name, one in kinds.items() if one["kind"] == "Component"}
    assert components - EXAMPLES == OVERLAYS.keys()


@pytest.mark.parametrize("component", OVERLAYS)
async def test_a_component_and_its_values_render_the_same(
    component: str, helm: BuiltExtra, node: NodePlane, tmp_path: Path
) -> None:
    base = _by_name(await node.kubectl("kustomize", str(KUSTOMIZATION)))
    body = {
        "resources": [relative_to(KUSTOMIZATION, tmp_path)],
        "components": [relative_to(KUSTOMIZATION / component, tmp_path)],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(body))
    manifests = _by_name(await node.kubectl("kustomize", str(tmp_path)))
    values = ("namespace.create=true", *OVERLAYS[component])
    chart = _by_name(await _rendered(helm, "kruise-rollout", *values))
    for name in chart.keys() - base.keys():
        # A component's own objects are not labelled by the base that it is added to.
        chart[name]["metadata"]["labels"].pop("app.kubernetes.io/part-of")
        manifests[name]["metadata"].setdefault("labels", {})
    assert chart == manifests
    assert manifests != base


async def test_the_roles_of_gateways_are_a_value(helm: BuiltExtra, node: NodePlane) -> None:
    roles = _by_name(await node.kubectl("kustomize", str(KUSTOMIZATION / "gateways")))
    without = _by_name(await _rendered(helm, "kruise-rollout"))
    chart = _by_name(await _rendered(helm, "kruise-rollout", "gateways=true"))
    assert chart.keys() - without.keys() == roles.keys()
    assert all(chart[name]["rules"] == role["rules"] for name, role in roles.items())


async def test_one_namespace_is_chosen_in_every_webhook(helm: BuiltExtra) -> None:
    rendered = _by_name(await _rendered(helm, "kruise-rollout", "watchNamespace=shop"))
    chosen = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["shop"]}
    entries = [one for document in rendered.values() for one in document.get("webhooks", ())]
    assert len(entries) > 10
    for entry in entries:
        assert chosen in entry["namespaceSelector"]["matchExpressions"], entry["name"]


def test_every_value_has_a_description() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    leaves = list(_leaves(schema, schema["definitions"]))
    assert len(leaves) > 15
    assert [name for name, leaf in leaves if not leaf.get("description")] == []


def _leaves(one: dict[str, Any], definitions: dict[str, Any], name: str = "") -> Iterator[Leaf]:
    if reference := one.get("$ref"):
        one = definitions[reference.rpartition("/")[2]]
    for key, value in one.get("properties", {}).items():
        yield from _leaves(value, definitions, f"{name}.{key}")
    if "properties" not in one:
        yield name, one


async def test_lint_finds_nothing(helm: BuiltExtra) -> None:
    output = await _helm(helm, "lint", "--strict", str(CHART))
    assert "0 chart(s) failed" in output


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
