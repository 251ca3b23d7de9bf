"""`history --diff`: the changes of a release, from the templates that are still kept."""

import json
from pathlib import Path
from typing import Any

from tests.component.cli.double import DEPLOYMENTS, REPLICA_SETS, Cluster, cluster, make_rollout

HISTORIES = "/apis/rollouts.kruise.io/v1alpha1/namespaces/default/rollouthistories"


def template(image: str, **labels: str) -> dict[str, Any]:
    container = {"name": "main", "image": image}
    return {"metadata": {"labels": {"app": "x", **labels}}, "spec": {"containers": [container]}}


def record(name: str, stable: str, new: str, **more: Any) -> dict[str, Any]:
    """A release that was written down; the later the name, the later its end."""
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": more,
        "status": {
            "revision": new,
            "stableRevision": stable,
            "outcome": "Succeeded",
            "endedAt": f"2026-01-0{name[-1]}T00:00:00Z",
        },
    }


def replica_set(revision: str, image: str) -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"app-{revision}",
            "labels": {"pod-template-hash": revision},
            "ownerReferences": [{"uid": "u", "controller": True}],
        },
        "spec": {"template": template(image, **{"pod-template-hash": revision})},
    }


def kept(api: Cluster, *replica_sets: dict[str, Any]) -> None:
    meta = {"name": "app", "namespace": "default", "uid": "u"}
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template("shop:3")}
    api.collections[DEPLOYMENTS] = [{"metadata": meta, "spec": spec}]
    api.collections[REPLICA_SETS] = [*replica_sets]


def recorded(api: Cluster, *records: dict[str, Any]) -> None:
    api.overrides["GET", HISTORIES] = (200, {"metadata": {}, "items": [*records]})


async def test_the_lines_that_differ_are_shown(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        recorded(api, record("web-1", "old1", "hash2"), record("web-2", "hash2", "hash3"))
        kept(api, replica_set("hash2", "shop:2"), replica_set("hash3", "shop:3"))
        result = await api.run("history", "web", "--diff")
        data = await api.run("history", "web", "--diff", "-o", "json")
    lines = result.output.splitlines()
    assert lines[0] == "web-2  hash2 -> hash3  Succeeded"
    assert "-  - image: shop:2" in lines
    assert "+  - image: shop:3" in lines
    assert not any("pod-template-hash" in line for line in lines)
    assert json.loads(data.output)["stableRevision"] == "hash2"


async def test_a_template_that_kubernetes_has_dropped_is_taken_from_the_record(
    tmp_path: Path,
) -> None:
    workload = {"name": "app", "data": {"template": template("shop:2")}}
    async with cluster(tmp_path, make_rollout()) as api:
        recorded(
            api,
            record("web-1", "old1", "hash2", workload=workload),
            record("web-2", "hash2", "hash3"),
        )
        kept(api, replica_set("hash3", "shop:3"))
        result = await api.run("history", "web", "--diff=1")
    assert "-  - image: shop:2" in result.output.splitlines()


async def test_a_missing_template_is_reported(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        recorded(api, record("web-1", "old1", "hash2"))
        result = await api.run("history", "web", "--diff")
        beyond = await api.run("history", "web", "--diff=2")
    assert "the template of revision old1 is kept nowhere any more" in result.output
    assert beyond.exit_code == 1
    assert "1 release of web were written down, not 2" in beyond.stderr


async def test_control_characters_of_a_template_do_not_reach_the_terminal(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        recorded(api, record("web-2", "hash2", "hash3"))
        kept(api, replica_set("hash2", "a\x1b[31m"), replica_set("hash3", "b\x1b]0;title\x07"))
        result = await api.run("history", "web", "--diff")
    assert "\x1b" not in result.output
    assert "\x07" not in result.output
