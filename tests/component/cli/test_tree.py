"""The tree of one Rollout, gathered from an API double: the objects that are read, and the gaps."""

import json
from pathlib import Path
from typing import Any

import pytest

from controller.api import names
from controller.domain.traffic.companions.companion import companion_body, written_sum
from controller.domain.traffic.original.content import write_original
from controller.domain.traffic.original.record import write_state
from controller.domain.traffic.tree import decode_tree
from tests.component.cli.double import (
    DEPLOYMENTS,
    REPLICA_SETS,
    ROLLOUTS,
    cluster,
    make_rollout,
)
from tests.component.kube.faulty_server import status

ISTIO = "/apis/networking.istio.io/v1"
VIRTUAL_SERVICES = f"{ISTIO}/namespaces/default/virtualservices"
CORE = "/api/v1/namespaces/default"
NOT_SERVED = (
    "not found: Nothing (networking.istio.io/v1) is not served by this cluster: install its CRD, or correct "
    "apiVersion and kind"
)
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


def routed(*references: tuple[str, str]) -> dict[str, Any]:
    """A Rollout whose traffic is led by these objects."""
    rollout = make_rollout()
    refs = [
        {"apiVersion": "networking.istio.io/v1", "kind": kind, "name": name}
        for kind, name in references
    ]
    routing = {"service": "app", "customNetworkRefs": refs}
    rollout["spec"]["strategy"]["canary"]["trafficRoutings"] = [routing]
    return rollout


def pod(name: str, *, ready: bool) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "labels": {"pod-template-hash": "new1"},
            "ownerReferences": [{"uid": "uid-new1", "controller": True}],
        },
        "status": {
            "conditions": [
                {
                    "type": "Ready",
                    "status": str(ready),
                    "lastTransitionTime": "2026-05-04T12:00:00Z",
                }
            ]
        },
    }


def world() -> dict[str, list[dict[str, Any]]]:
    """One workload with its pods, a Service, a VirtualService."""
    template = {"spec": {"image": "x"}}
    workload = {
        "metadata": {"name": "app", "namespace": "default", "uid": "u"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "x"}},
            "template": template,
        },
    }
    replica_set = {
        "metadata": {
            "name": "app-new1",
            "namespace": "default",
            "uid": "uid-new1",
            "labels": {"pod-template-hash": "new1"},
            "ownerReferences": [{"uid": "u", "controller": True}],
        },
        "spec": {"template": template},
    }
    route = {
        "apiVersion": "networking.istio.io/v1",
        "kind": "VirtualService",
        "metadata": {"name": "app", "namespace": "default"},
        "spec": {"http": [{"route": [{"destination": {"host": "app"}, "weight": 100}]}]},
    }
    service = {"metadata": {"name": "app", "namespace": "default"}, "spec": {"selector": {}}}
    return {
        DEPLOYMENTS: [workload],
        REPLICA_SETS: [replica_set],
        f"{CORE}/pods": [pod("a", ready=True), pod("b", ready=False), {"metadata": 1}],
        f"{CORE}/services": [service],
        SLICES: [],
        VIRTUAL_SERVICES: [route],
    }


async def test_all_that_belongs_to_a_release_is_gathered(tmp_path: Path) -> None:
    rollout = routed(("VirtualService", "app"), ("VirtualService", "gone"), ("Nothing", "x"))
    async with cluster(tmp_path, rollout) as api:
        api.collections |= world()
        kinds = {"resources": [{"name": "virtualservices", "kind": "VirtualService"}]}
        api.overrides["GET", ISTIO] = (200, kinds)
        result = await api.run("get", "web", "-o", "json")
        tree = await api.run("get", "web")
    view = json.loads(result.output)
    assert [route["state"] for route in view["routes"]] == [
        "as its owner wrote it",
        "does not exist",
        NOT_SERVED,
    ]
    assert view["routes"][0]["shares"] == ["app 100"]
    assert [(r["revision"], r["ready"], len(r["pods"])) for r in view["revisions"]] == [
        ("old1", 0, 0),
        ("new1", 1, 2),
    ]
    assert view["gaps"] == []
    assert "├── Services\n│   └── app  as its owner wrote it  0 ready endpoints" in tree.output


def too_deep(name: str) -> bytes:
    """A VirtualService with more nested levels than a decoder reads."""
    metadata = f'{{"name":"{name}","namespace":"default"}}'
    return f'{{"metadata":{metadata},"spec":{"[" * 1500}{"]" * 1500}}}'.encode()


@pytest.mark.parametrize("command", ["get", "why", "describe"])
async def test_an_object_that_is_nested_too_deeply_is_shown_with_the_reason(
    tmp_path: Path, command: str
) -> None:
    async with cluster(tmp_path, routed(("VirtualService", "app"))) as api:
        api.collections |= world()
        kinds = {"resources": [{"name": "virtualservices", "kind": "VirtualService"}]}
        api.overrides["GET", ISTIO] = (200, kinds)
        page = b'{"metadata":{},"items":[' + too_deep("app") + b"]}"
        api.overrides["GET", VIRTUAL_SERVICES] = (200, page)
        result = await api.run(command, "web")
    assert result.exit_code == 0
    assert "a list could not be read: the value is nested too deeply" in result.output


async def test_a_simulation_of_an_object_that_is_nested_too_deeply_is_refused_in_one_line(
    tmp_path: Path,
) -> None:
    async with cluster(tmp_path, routed(("VirtualService", "app"))) as api:
        api.collections |= world()
        kinds = {"resources": [{"name": "virtualservices", "kind": "VirtualService"}]}
        api.overrides["GET", ISTIO] = (200, kinds)
        api.overrides["GET", "/apis/apps/v1"] = (
            200,
            {"resources": [{"name": "deployments", "kind": "Deployment"}]},
        )
        api.overrides["GET", "/api/v1"] = (
            200,
            {"resources": [{"name": "services", "kind": "Service"}]},
        )
        api.overrides["GET", f"{VIRTUAL_SERVICES}/app"] = (200, too_deep("app"))
        result = await api.run("simulate", "web", "--from-cluster")
    assert result.exit_code == 1
    assert result.output == (
        "error: VirtualService default/app cannot be read: the value is nested too deeply\n"
    )


async def test_a_simulation_without_a_right_is_refused_in_one_line(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        denied = status(403, "Forbidden", "you may not read it")
        api.overrides["GET", f"{ROLLOUTS}/web"] = (403, denied)
        result = await api.run("simulate", "web", "--from-cluster")
    assert (result.exit_code, result.output) == (1, "error: refused: you may not read it\n")


def canary_ingress() -> tuple[dict[str, Any], dict[str, Any]]:
    """An Ingress at step 1 and the one beside it, as a list of Ingresses has them: without kinds."""
    spec = {"rules": [{"host": "app"}]}
    made = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "app-canary", "namespace": "default"},
        "spec": {"rules": [{"host": "app"}], "ingressClassName": "nginx"},
    }
    body = companion_body(
        decode_tree(json.dumps(made).encode()),
        None,
        rollout="web",
        uid="uid-web",
        beside="networking.k8s.io/Ingress/app",
    )
    content = decode_tree(json.dumps({"spec": spec}).encode())
    original = write_original(content)
    state = write_state(
        release="r",
        rollout="web",
        plan="p",
        depth=0,
        original=original,
        desired=content,
        objects={"Ingress/app-canary": written_sum(decode_tree(json.dumps(made).encode()))},
    )
    annotations = {names.ORIGINAL_SPEC: original, names.ROUTE_STATE: state}
    owners = {
        "metadata": {"name": "app", "namespace": "default", "annotations": annotations},
        "spec": spec,
    }
    beside = json.loads(body)
    return owners, {"metadata": beside["metadata"], "spec": beside["spec"]}


async def test_an_ingress_beside_another_is_seen_though_lists_do_not_say_kinds(
    tmp_path: Path,
) -> None:
    rollout = make_rollout()
    ingress = {"name": "app", "classType": "nginx"}
    routing = {"service": "app", "ingress": ingress}
    rollout["spec"]["strategy"]["canary"]["trafficRoutings"] = [routing]
    async with cluster(tmp_path, rollout) as api:
        path = "/apis/networking.k8s.io/v1"
        api.collections |= world() | {
            f"{path}/namespaces/default/ingresses": list(canary_ingress())
        }
        kinds = {"resources": [{"name": "ingresses", "kind": "Ingress"}]}
        api.overrides["GET", path] = (200, kinds)
        for command in ("get", "why", "describe"):
            result = await api.run(command, "web")
            assert result.exit_code == 0
            assert "is gone" not in result.output
        view = json.loads((await api.run("get", "web", "-o", "json")).output)
    (route,) = view["routes"]
    assert (route["state"], route["problem"]) == ("follows another plan", False)


async def test_pods_are_read_by_the_workloads_selector_only(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        api.collections |= world()
        await api.run("get", "web")
    (pods,) = [request for request in api.server.requests if request.path.endswith("/pods")]
    assert pods.query["labelSelector"] == "app=x"


STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"


def of_a_stateful_set() -> dict[str, Any]:
    rollout = make_rollout()
    rollout["spec"]["workloadRef"]["kind"] = "StatefulSet"
    rollout["status"]["moonshift"]["stableRevision"] = "app-old1"
    return rollout


def stateful_world() -> dict[str, list[dict[str, Any]]]:
    """A StatefulSet with one pod of each of its two revisions."""
    owner = [{"uid": "u", "controller": True}]
    pods = [pod("app-0", ready=True), pod("app-1", ready=False)]
    for found, revision in zip(pods, ("app-old1", "app-new1"), strict=True):
        found["metadata"]["ownerReferences"] = owner
        found["metadata"]["labels"] = {"controller-revision-hash": revision}
    revisions = [
        {
            "metadata": {"name": name, "namespace": "default", "ownerReferences": owner},
            "revision": number,
            "data": {"spec": {"template": {"spec": {"image": name}, "$patch": "replace"}}},
        }
        for number, name in enumerate(("app-old1", "app-new1"), start=1)
    ]
    selector = {"matchLabels": {"app": "x"}}
    workload = {
        "metadata": {"name": "app", "namespace": "default", "uid": "u"},
        "spec": {"replicas": 2, "selector": selector, "template": {"spec": {"image": "app-new1"}}},
        "status": {"updateRevision": "app-new1"},
    }
    return {STATEFUL_SETS: [workload], REVISIONS: revisions, f"{CORE}/pods": pods}


async def test_the_pods_of_a_set_are_distinguished_by_its_controller_revisions(
    tmp_path: Path,
) -> None:
    async with cluster(tmp_path, of_a_stateful_set()) as api:
        api.collections |= stateful_world()
        kinds = {"resources": [{"name": "statefulsets", "kind": "StatefulSet"}]}
        api.overrides["GET", "/apis/apps/v1"] = (200, kinds)
        result = await api.run("get", "web", "-o", "json")
        described = await api.run("describe", "web")
    view = json.loads(result.output)
    assert view["replicas"] == 2
    found = [(r["role"], r["revision"], r["ready"], len(r["pods"])) for r in view["revisions"]]
    assert found == [("stable", "app-old1", 1, 1), ("canary", "app-new1", 0, 1)]
    assert view["gaps"] == []
    assert "app-1" in described.output


async def test_a_workload_whose_kind_is_not_served_is_a_gap_that_is_named(tmp_path: Path) -> None:
    async with cluster(tmp_path, of_a_stateful_set()) as api:
        result = await api.run("get", "web", "-o", "json")
    view = json.loads(result.output)
    assert view["replicas"] is None
    assert "StatefulSet (apps/v1) is not served" in view["gaps"][0]


async def test_a_set_that_is_gone_has_no_pods(tmp_path: Path) -> None:
    async with cluster(tmp_path, of_a_stateful_set()) as api:
        api.collections |= {STATEFUL_SETS: []}
        kinds = {"resources": [{"name": "statefulsets", "kind": "StatefulSet"}]}
        api.overrides["GET", "/apis/apps/v1"] = (200, kinds)
        result = await api.run("get", "web", "-o", "json")
    view = json.loads(result.output)
    assert (view["replicas"], view["revisions"], view["gaps"]) == (None, [], [])
