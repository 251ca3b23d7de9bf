"""The two checks as a person types them: they read only, and their exit code says whether something has to be done."""

from pathlib import Path
from typing import Any, cast

import pytest

from controller.api import names
from controller.api.conversion import converted
from tests.component.cli.double import DEPLOYMENTS, ROLLOUTS, cluster, make_rollout
from tests.component.kube.faulty_server import status

SERVICES = "/api/v1/namespaces/default/services"


async def test_a_cluster_at_rest_can_be_taken_over(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(phase="Healthy", state="Completed")) as api:
        result = await api.run("takeover", "--check")
    assert result.exit_code == 0, result.output
    assert "Rollout default/web: " in result.stdout
    assert api.patches == []


async def test_a_release_under_way_is_in_the_way_of_leaving(tmp_path: Path) -> None:
    found = make_rollout()
    found["status"]["moonshift"]["release"] = "r1"
    async with cluster(tmp_path, found) as api:
        result = await api.run("uninstall", "--check")
        data = await api.run("uninstall", "--check", "-o", "json")
    assert result.exit_code == 1
    assert "undo web" in result.stdout
    assert "kubectl delete --ignore-not-found -k ." in result.stdout
    assert "1 objects need a person first" in result.stderr
    assert '"kind": "Rollout"' in data.stdout
    assert api.patches == []


async def test_kinds_that_may_not_be_listed_are_reported(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(phase="Healthy")) as api:
        api.overrides["GET", SERVICES] = (403, status(403, "Forbidden", "services is forbidden"))
        result = await api.run("takeover", "--check")
    assert result.exit_code == 1
    assert "not seen: services: " in result.stdout
    assert "1 kinds could not be listed" in result.stderr


async def test_an_empty_namespace_has_nothing(tmp_path: Path) -> None:
    async with cluster(tmp_path) as api:
        api.collections[ROLLOUTS] = []
        api.collections[DEPLOYMENTS] = []
        result = await api.run("takeover", "--check")
    assert (result.exit_code, result.stdout) == (0, "Nothing was found.\n")


async def test_without_check_nothing_is_looked_at(tmp_path: Path) -> None:
    async with cluster(tmp_path) as api:
        result = await api.run("takeover")
    assert result.exit_code == 2


async def test_gateway_objects_of_an_older_mesh_are_seen(tmp_path: Path) -> None:
    route = {
        "metadata": {
            "name": "web",
            "namespace": "default",
            "annotations": {names.ROUTE_STATE: "{}"},
        }
    }
    group = "networking.istio.io"
    async with cluster(tmp_path) as api:
        versions = {"versions": [{"groupVersion": f"{group}/v1beta1"}]}
        kinds = {"resources": [{"name": "virtualservices", "kind": "VirtualService"}]}
        api.overrides["GET", f"/apis/{group}"] = (200, versions)
        api.overrides["GET", f"/apis/{group}/v1beta1"] = (200, kinds)
        api.collections[f"/apis/{group}/v1beta1/namespaces/default/virtualservices"] = [route]
        result = await api.run("uninstall", "--check")
    assert "VirtualService default/web: follows a step" in result.stdout


async def test_rollouts_of_an_original_without_v1beta1_are_seen(tmp_path: Path) -> None:
    older = converted(make_rollout(phase="Healthy"), names.V1ALPHA1)
    group = names.GROUP
    async with cluster(tmp_path) as api:
        del api.collections[ROLLOUTS]
        versions = {"versions": [{"groupVersion": names.V1ALPHA1}]}
        kinds = {"resources": [{"name": "rollouts", "kind": "Rollout", "namespaced": True}]}
        api.overrides["GET", f"/apis/{group}"] = (200, versions)
        api.overrides["GET", f"/apis/{names.V1ALPHA1}"] = (200, kinds)
        api.collections[f"/apis/{names.V1ALPHA1}/namespaces/default/rollouts"] = [cast(Any, older)]
        result = await api.run("takeover", "--check")
    assert "Rollout default/web: its workload was not found here" in result.stdout


@pytest.mark.parametrize(
    ("api_version", "kind", "plural"),
    [
        pytest.param("traefik.io/v1alpha1", "IngressRoute", "ingressroutes", id="packaged"),
        pytest.param("shop.example/v2", "Lane", "lanes", id="named by a Rollout"),
    ],
)
async def test_a_route_of_any_kind_that_we_changed_is_seen(
    tmp_path: Path, api_version: str, kind: str, plural: str
) -> None:
    rollout = make_rollout(phase="Healthy")
    lane = {"apiVersion": "shop.example/v2", "kind": "Lane", "name": "web"}
    routing = {"service": "web", "customNetworkRefs": [lane]}
    rollout["spec"]["strategy"]["canary"]["trafficRoutings"] = [routing]
    annotations = {names.ROUTE_STATE: "{}"}
    route = {"metadata": {"name": "web", "namespace": "default", "annotations": annotations}}
    group = api_version.partition("/")[0]
    async with cluster(tmp_path, rollout) as api:
        versions = {"versions": [{"groupVersion": api_version}]}
        kinds = {"resources": [{"name": plural, "kind": kind, "namespaced": True}]}
        api.overrides["GET", f"/apis/{group}"] = (200, versions)
        api.overrides["GET", f"/apis/{api_version}"] = (200, kinds)
        api.collections[f"/apis/{api_version}/namespaces/default/{plural}"] = [route]
        result = await api.run("uninstall", "--check")
    assert f"{kind} default/web: follows a step" in result.stdout
    assert result.exit_code == 1


async def test_a_held_workload_of_a_kind_that_is_known_by_its_label_is_seen(tmp_path: Path) -> None:
    rollout = make_rollout(phase="Healthy")
    rollout["spec"]["workloadRef"] = {
        "apiVersion": "db.example/v1",
        "kind": "Cluster",
        "name": "db",
    }
    annotations = {names.IN_PROGRESSING: "{}"}
    held = {"metadata": {"name": "db", "namespace": "default", "annotations": annotations}}
    async with cluster(tmp_path, rollout) as api:
        kinds = {"resources": [{"name": "clusters", "kind": "Cluster", "namespaced": True}]}
        api.overrides["GET", "/apis/db.example/v1"] = (200, kinds)
        api.collections["/apis/db.example/v1/namespaces/default/clusters"] = [held]
        result = await api.run("uninstall", "--check")
    assert "Cluster default/db: is held" in result.stdout
