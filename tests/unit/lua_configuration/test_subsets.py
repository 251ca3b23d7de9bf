"""Subsets of one Service that belong to several workloads: only those of the release are divided, in every kind."""

from typing import Any

import pytest

from tests.component.luaworker.process import Worker
from tests.unit.lua_configuration.running import answered, flat, header, refused

Tree = dict[str, Any]
PODS = {"app": "web", "version": "v1", "pod-template-hash": "x"}
OURS, THEIRS = {"version": "v1"}, {"version": "v2"}
ISTIO, KUMA, CONSUL = "networking.istio.io", "kuma.io", "consul.hashicorp.com"
VIRTUAL_SERVICE, CANARY = f"{ISTIO}/VirtualService", "web-canary"
RULE: Tree = {
    "kind": "DestinationRule",
    "spec": {
        "host": "web.demo.svc.cluster.local",
        "subsets": [{"name": "one", "labels": OURS}, {"name": "two", "labels": THEIRS}],
    },
}


def istio_route(one: int, two: int, canary: int | None = None) -> Tree:
    """A VirtualService that divides the Service between two subsets."""
    entries = [
        ("web", "one", one),
        *([(CANARY, None, canary)] if canary else []),
        ("web", "two", two),
    ]
    route = [
        {"destination": {"host": host, **({"subset": name} if name else {})}, "weight": weight}
        for host, name, weight in entries
    ]  # fmt: skip
    return {"http": [{"route": route}]}


def mesh_subset(name: str, tags: Tree | None, weight: int) -> Tree:
    """A reference of MeshHTTPRoute."""
    kind = {"kind": "MeshServiceSubset", "tags": tags} if tags else {"kind": "MeshService"}
    return {**kind, "name": name, "weight": weight}


def mesh_route(kind: str, refs: list[Tree]) -> Tree:
    """A route of Kuma with one rule."""
    target = {"kind": "MeshService", "name": "web"}
    return {"to": [{"targetRef": target, "rules": [{"default": {"backendRefs": refs}}]}]}


def split(*entries: tuple[str, Tree, int]) -> Tree:
    """The configuration of a TrafficRoute."""
    listed = [
        {"weight": weight, "destination": {"kuma.io/service": f"{name}_demo_svc_80", **tags}}
        for name, tags, weight in entries
    ]
    return {"conf": {"split": listed}}


async def test_istio_divides_the_subset_with_the_stable_pods(script_worker: Worker) -> None:
    found = await answered(
        script_worker, VIRTUAL_SERVICE, istio_route(50, 50), 100,
        stablePodLabels=PODS, siblings=[RULE],
    )  # fmt: skip
    assert found == istio_route(0, 50, 50)


async def test_istio_copies_only_rules_to_a_subset_with_the_stable_pods(
    script_worker: Worker,
) -> None:
    rules = [
        {"match": [{"uri": {"prefix": "/two"}}], **istio_route(50, 50)["http"][0]},
        {"route": [{"destination": {"host": "web", "subset": "two"}}]},
    ]
    found = await answered(
        script_worker, VIRTUAL_SERVICE, {"http": rules},
        stablePodLabels=PODS, siblings=[RULE], matches=[header("x", "1")],
    )  # fmt: skip
    assert found["http"][1:] == rules
    assert found["http"][0]["route"] == [{"destination": {"host": CANARY}}]


@pytest.mark.parametrize("named", ["one", ["one"]])
async def test_a_parameter_can_name_the_subset(script_worker: Worker, named: object) -> None:
    given = {"stableSubset": named}
    found = await answered(script_worker, VIRTUAL_SERVICE, istio_route(50, 50), 50, params=given)
    assert found == istio_route(25, 50, 25)
    splits = {"splits": [{"weight": 50, "serviceSubset": name} for name in ("one", "two")]}
    found = await answered(script_worker, f"{CONSUL}/ServiceSplitter", splits, 50, params=given)
    assert [entry["weight"] for entry in found["splits"]] == [25, 25, 50]


async def test_subsets_of_unknown_pods_are_not_divided(script_worker: Worker) -> None:
    text = await refused(
        script_worker, VIRTUAL_SERVICE, istio_route(50, 50), 50, stablePodLabels=PODS  # type: ignore[arg-type] # a tree is taken, too
    )  # fmt: skip
    assert "name the DestinationRule of this Service in the release as well" in text
    splits = "splits: [{weight: 50, serviceSubset: a}, {weight: 50, serviceSubset: b}]"
    text = await refused(script_worker, f"{CONSUL}/ServiceSplitter", splits, 50)
    assert "give params.stableSubset" in text


async def test_a_release_whose_pods_are_in_no_subset_is_refused(script_worker: Worker) -> None:
    text = await refused(
        script_worker, VIRTUAL_SERVICE, istio_route(50, 50), 50,  # type: ignore[arg-type] # a tree is taken, too
        stablePodLabels={"app": "web"}, siblings=[RULE],
    )  # fmt: skip
    assert "none of them has the stable pods of this release" in text


@pytest.mark.parametrize("kind", ["MeshHTTPRoute", "MeshTCPRoute"])
async def test_kuma_divides_the_subset_whose_tags_the_stable_pods_have(
    script_worker: Worker, kind: str
) -> None:
    zone = {"kuma.io/zone": "east"}
    refs = [mesh_subset("web", {**OURS, **zone}, 50), mesh_subset("web", THEIRS, 50)]
    found = await answered(
        script_worker, f"{KUMA}/{kind}", mesh_route(kind, refs), 100, stablePodLabels=PODS
    )
    assert found == mesh_route(
        kind,
        [
            mesh_subset("web", {**OURS, **zone}, 0),
            mesh_subset(CANARY, zone, 50),
            mesh_subset("web", THEIRS, 50),
        ],
    )


async def test_the_new_version_of_a_mesh_has_no_tags_of_the_old_one(script_worker: Worker) -> None:
    refs = [mesh_subset("web", OURS, 1)]
    found = await answered(
        script_worker, f"{KUMA}/MeshHTTPRoute", mesh_route("", refs), 10, stablePodLabels=PODS
    )
    assert found == mesh_route("", [mesh_subset("web", OURS, 90), mesh_subset(CANARY, None, 10)])


async def test_a_traffic_route_divides_the_subset_with_the_stable_pods(
    script_worker: Worker,
) -> None:
    before = split(("web", OURS, 50), ("web", THEIRS, 50))
    found = await answered(script_worker, f"{KUMA}/TrafficRoute", before, 100, stablePodLabels=PODS)
    assert found == split(("web", OURS, 0), (CANARY, {}, 50), ("web", THEIRS, 50))


async def test_routes_of_consul_to_other_subsets_are_not_copied(script_worker: Worker) -> None:
    routes = flat(
        "[{match: {http: {pathPrefix: /a}}, destination: {service: web, serviceSubset: one}}, "
        "{match: {http: {pathPrefix: /b}}, destination: {service: web, serviceSubset: two}}]"
    )
    found = await answered(
        script_worker, f"{CONSUL}/ServiceRouter", {"routes": routes}, name="front",
        params={"stableSubset": "one"}, matches=[header("x", "1")],
    )  # fmt: skip
    assert [route["destination"].get("service") for route in found["routes"]] == [
        CANARY, "web", "web",
    ]  # fmt: skip
    assert found["routes"][1:] == routes
