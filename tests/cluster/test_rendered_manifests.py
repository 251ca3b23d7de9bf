"""The manifests, as kubectl renders them, for a real API server that knows the scope of each kind."""

import yaml

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
