"""The manifests, as kubectl renders them, for a real API server that knows the scope of each kind."""

import shutil
from pathlib import Path

import yaml

from controller.api.names import CONTROLLER_ACCOUNT, CONTROLLER_POLICIES
from demo.stage import ROOT
from localcluster.plane import Plane


async def test_only_objects_of_namespaced_kinds_have_a_namespace(plane: Plane) -> None:
    """kustomize gives the namespace to every kind that it does not know."""
    listed = await plane.kubectl("api-resources", "--namespaced=true", "--no-headers")
    namespaced = {line.split()[-1] for line in listed.splitlines()}
    rendered = await plane.kubectl("kustomize", str(ROOT / "deploy" / "kustomize"))
    objects = [one for one in yaml.safe_load_all(rendered) if one]
    assert {"FlowSchema", "ClusterRole", "Deployment"} <= {one["kind"] for one in objects}
    for one in objects:
        assert ("namespace" in one["metadata"]) == (one["kind"] in namespaced), one["metadata"]


async def test_the_policies_know_the_controller_by_any_name_and_in_any_namespace(
    plane: Plane, tmp_path: Path
) -> None:
    folder = tmp_path / "kustomize"
    shutil.copytree(ROOT / "deploy" / "kustomize", folder)
    kustomization, accounts = folder / "base" / "kustomization.yaml", folder / "base/accounts.yaml"
    text = kustomization.read_text().replace("namespace: kruise-rollout\n", "namespace: other\n")
    kustomization.write_text(
        text.replace(f"name: {CONTROLLER_ACCOUNT}, field", "name: mine, field")
    )
    named = accounts.read_text().replace(f"name: {CONTROLLER_ACCOUNT}\n", "name: mine\n")
    accounts.write_text(named)
    objects = list(yaml.safe_load_all(await plane.kubectl("kustomize", str(folder))))
    policies = {
        one["metadata"]["name"]: one["spec"]
        for one in objects
        if one["kind"] == "ValidatingAdmissionPolicy"
    }
    for name in CONTROLLER_POLICIES:
        expression = policies[name]["matchConditions"][0]["expression"]
        assert expression.endswith("== 'mine'")
    places = [one for one in objects if one["kind"] == "ValidatingAdmissionPolicyBinding"]
    bound = next(one for one in places if one["metadata"]["name"] == CONTROLLER_POLICIES[0])
    (selected,) = bound["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
    assert selected["values"] == ["kube-public", "kube-node-lease", "kube-system", "other"]
