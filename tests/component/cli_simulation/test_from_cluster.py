"""`simulate --from-cluster`: the objects that no file has are read from the Rollout's own namespace."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.component.cli.double import Cluster, cluster
from tests.component.cli_simulation.test_simulate import SERVICE, rollout, workload
from tests.component.cli_simulation.test_simulated_gates import METRIC

APPS = "/apis/apps/v1"
GROUP = "/apis/rollouts.kruise.io/v1alpha1"
WITH_TEMPLATE = {"replicas": 1, "analysis": {"templates": [{"name": "errors"}]}}


def named(obj: dict[str, Any], name: str) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "name": name}}


def serve(api: Cluster) -> None:
    """The application in the namespace `demo`, which is not that of the command line."""
    kinds = {
        APPS: [{"name": "deployments", "kind": "Deployment", "namespaced": True}],
        "/api/v1": [{"name": "services", "kind": "Service", "namespaced": True}],
        GROUP: [{"name": "analysistemplates", "kind": "AnalysisTemplate", "namespaced": True}],
    }
    for path, found in kinds.items():
        api.overrides["GET", path] = (200, {"resources": found})
    template = {
        "apiVersion": "rollouts.kruise.io/v1alpha1",
        "kind": "AnalysisTemplate",
        "metadata": {"name": "errors", "namespace": "demo"},
        "spec": {"metrics": [{**METRIC, "prometheus": {"query": "rate(errors[1m])"}}]},
    }
    api.collections |= {
        f"{APPS}/namespaces/demo/deployments": [workload()],
        "/api/v1/namespaces/demo/services": [SERVICE],
        f"{GROUP}/namespaces/demo/analysistemplates": [template],
    }


@pytest.mark.parametrize("own_name", ["", "web"])
async def test_a_rollout_of_a_file_is_completed_from_its_own_namespace(
    tmp_path: Path, own_name: str
) -> None:
    plan = rollout({"replicas": 1}, {"replicas": "100%"})
    plan["spec"]["strategy"]["canary"].pop("trafficRoutings", None)
    others = [named(rollout({"replicas": 2}), "api")] if own_name else []
    file = tmp_path / "plans.yaml"
    file.write_text(yaml.safe_dump_all([*others, plan]))
    async with cluster(tmp_path) as api:
        serve(api)
        result = await api.run(
            "simulate", *filter(None, [own_name]), "-f", str(file), "--from-cluster", "-o", "json"
        )
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["rollout"] == "demo/web"


async def test_the_templates_of_gates_are_read_as_well(tmp_path: Path) -> None:
    plan = rollout(WITH_TEMPLATE, {"replicas": "100%"})
    plan["spec"]["strategy"]["canary"].pop("trafficRoutings", None)
    file = tmp_path / "plan.yaml"
    file.write_text(yaml.safe_dump(plan))
    async with cluster(tmp_path) as api:
        serve(api)
        result = await api.run(
            "simulate", "-f", str(file), "--from-cluster", "--metric", "errors=0.001", "-o", "json"
        )
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["steps"][0]["metrics"].startswith("Passed")
