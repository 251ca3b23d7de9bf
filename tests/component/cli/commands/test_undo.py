"""`undo` writes the stable template, over the generation that it saw."""

import json
from pathlib import Path
from typing import Any

import pytest

from controller.api.names import KEPT_FOR
from controller.api.workloads import template_hash
from controller.cli.commands import undo
from tests.component.cli.commands.scenes import JSON
from tests.component.cli.double import (
    DEPLOYMENTS,
    REPLICA_SETS,
    ROLLOUTS,
    Cluster,
    cluster,
    make_rollout,
)

REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"


def template(image: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "x", **labels}}, "spec": {"image": image}}


def with_workload(api: Cluster) -> None:
    selector = {"matchLabels": {"app": "x"}}
    workload = {
        "metadata": {"name": "app", "namespace": "default", "uid": "u", "generation": 4},
        "spec": {"selector": selector, "template": template("new")},
    }
    replica_set = {
        "metadata": {
            "name": "app-old1",
            "labels": {"pod-template-hash": "old1"},
            "ownerReferences": [{"uid": "u", "controller": True}],
        },
        "spec": {"template": template("old", **{"pod-template-hash": "old1"})},
    }
    api.collections[DEPLOYMENTS] = [workload]
    api.collections[REPLICA_SETS] = [replica_set]


async def test_undo_writes_the_stable_template_over_the_generation_it_saw(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        with_workload(api)
        result = await api.run("rollout", "undo", "rollout/web")
    assert (result.exit_code, result.stdout) == (0, "rollout.rollouts.kruise.io/web rolled back\n")
    assert api.patches == [
        (
            f"{DEPLOYMENTS}/app",
            JSON,
            [
                {"op": "test", "path": "/metadata/generation", "value": 4},
                {"op": "replace", "path": "/spec/template", "value": template("old")},
            ],
        )
    ]


async def test_undo_shows_what_it_writes(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        with_workload(api)
        result = await api.run("undo", "web")
    assert "-  image: new\n+  image: old\n" in result.stderr


def under_release(api: Cluster, kept: str, owner: str = "uid-web") -> None:
    """A release is under way, and keeps this revision as stable; its template has the image `kept`."""
    api.collections[ROLLOUTS][0]["status"]["moonshift"]["release"] = "r"
    stable = template("kept", **{"pod-template-hash": kept})
    api.collections[REVISIONS] = [
        {
            "metadata": {
                "name": "app-kept-x",
                "labels": {KEPT_FOR: "u"},
                "ownerReferences": [{"uid": owner, "controller": True}],
            },
            "revision": 1,
            "data": {
                "kept": {
                    "workloadUid": "u",
                    "stableRevision": kept,
                    "stableTemplate": template_hash(json.dumps(stable).encode()),
                },
                "spec": {"template": stable},
            },
        }
    ]


async def test_undo_takes_the_template_that_the_release_keeps_where_no_replica_set_has_it(
    tmp_path: Path,
) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        with_workload(api)
        api.collections[REPLICA_SETS] = []
        under_release(api, "old1")
        result = await api.run("undo", "web")
    assert result.exit_code == 0
    ((_, _, (_, written)),) = api.patches
    assert written == {"op": "replace", "path": "/spec/template", "value": template("kept")}


async def test_a_revision_of_another_owner_is_no_way_back(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        with_workload(api)
        api.collections[REPLICA_SETS] = []
        under_release(api, "old1", owner="somebody")
        result = await api.run("undo", "web")
    assert result.exit_code == 1
    assert "is gone" in result.stderr
    assert api.patches == []


@pytest.mark.parametrize("command", ["undo", "abort"])
async def test_undo_of_a_revision_that_only_the_status_names_needs_a_person(
    tmp_path: Path, command: str
) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        with_workload(api)
        under_release(api, "older")
        refused = await api.run(command, "web")
        assert api.patches == []
        agreed = await api.run("undo", "web", "--yes")
    assert refused.exit_code == 1
    assert "names revision old1 as stable, and the release keeps older" in refused.stderr
    assert "undo web --yes" in refused.stderr
    assert agreed.exit_code == 0
    assert len(api.patches) == 1


@pytest.mark.parametrize(("answer", "patches"), [(True, 1), (False, 0)])
async def test_on_a_terminal_undo_asks_where_only_the_status_names_the_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bool, patches: int
) -> None:
    async def agreed(question: str) -> bool:
        return answer

    monkeypatch.setattr(undo, "is_terminal", lambda: True)
    monkeypatch.setattr(undo, "agreed", agreed)
    async with cluster(tmp_path, make_rollout()) as api:
        with_workload(api)
        under_release(api, "older")
        await api.run("undo", "web")
    assert len(api.patches) == patches


async def test_a_dry_run_asks_the_server_only(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        with_workload(api)
        result = await api.run("undo", "web", "--dry-run")
    assert "rolled back (server dry run)" in result.output
    assert [r.query["dryRun"] for r in api.server.requests if r.method == "PATCH"] == ["All"]


async def test_undo_without_a_workload_says_so(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        result = await api.run("undo", "web")
    assert result.exit_code == 1
    assert result.stderr == "error: Deployment default/app does not exist\n"


STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"


CLONE_SETS = "/apis/apps.kruise.io/v1alpha1/namespaces/default/clonesets"


SERVED = {
    "/apis/apps/v1": ("statefulsets", "StatefulSet"),
    "/apis/apps.kruise.io/v1alpha1": ("clonesets", "CloneSet"),
}


def of_kind(api_version: str, kind: str, stable: str) -> dict[str, Any]:
    """A Rollout of another kind of workload."""
    rollout = make_rollout()
    ref = {"apiVersion": api_version, "kind": kind, "name": "app"}
    rollout["spec"]["workloadRef"] = ref
    rollout["status"]["moonshift"]["stableRevision"] = stable
    return rollout


def with_set(api: Cluster, collection: str) -> None:
    """A set of pods of the image `new`, and the revision that keeps `old`; one of another owner besides."""
    selector = {"matchLabels": {"app": "x"}}
    pod_set = {
        "metadata": {"name": "app", "namespace": "default", "uid": "u", "generation": 4},
        "spec": {"selector": selector, "template": template("new")},
    }
    revisions = [
        {
            "metadata": {
                "name": "app-old1",
                "ownerReferences": [{"uid": owner, "controller": True}],
            },
            "data": {"spec": {"template": {"$patch": "replace", **template(image)}}},
        }
        for owner, image in (("u", "old"), ("another", "foreign"))
    ]
    api.collections |= {collection: [pod_set], REVISIONS: revisions}
    for path, (plural, kind) in SERVED.items():
        api.overrides["GET", path] = (200, {"resources": [{"name": plural, "kind": kind}]})


@pytest.mark.parametrize(
    ("rollout", "collection"),
    [
        (of_kind("apps/v1", "StatefulSet", "app-old1"), STATEFUL_SETS),
        (of_kind("apps.kruise.io/v1alpha1", "CloneSet", "old1"), CLONE_SETS),
    ],
)
async def test_undo_of_a_set_writes_the_template_of_its_stable_revision(
    tmp_path: Path, rollout: dict[str, Any], collection: str
) -> None:
    async with cluster(tmp_path, rollout) as api:
        with_set(api, collection)
        result = await api.run("undo", "web")
    assert (result.exit_code, result.stdout) == (0, "rollout.rollouts.kruise.io/web rolled back\n")
    ((path, kind, (tested, written)),) = api.patches
    assert (path, kind) == (f"{collection}/app", JSON)
    assert tested == {"op": "test", "path": "/metadata/generation", "value": 4}
    assert written == {"op": "replace", "path": "/spec/template", "value": template("old")}


async def test_undo_of_a_kind_that_is_not_served_or_not_released_says_so(tmp_path: Path) -> None:
    async with cluster(tmp_path, of_kind("apps/v1", "ReplicaSet", "old1")) as api:
        with_set(api, REPLICA_SETS)
        unserved = await api.run("undo", "web")
        kinds = {"resources": [{"name": "replicasets", "kind": "ReplicaSet"}]}
        api.overrides["GET", "/apis/apps/v1"] = (200, kinds)
        unreleased = await api.run("undo", "web")
    assert "is not served by this cluster" in unserved.stderr
    assert "is not of a kind that is released" in unreleased.stderr
    assert api.patches == []


@pytest.mark.parametrize("kept", [True, False])
async def test_why_offers_an_undo_that_works(tmp_path: Path, kept: bool) -> None:
    async with cluster(tmp_path, of_kind("apps/v1", "StatefulSet", "app-old1")) as api:
        with_set(api, STATEFUL_SETS)
        if not kept:
            api.collections[REVISIONS] = []
        why = await api.run("why", "web", "-o", "json")
        undone = await api.run("undo", "web")
    offered = [remedy["command"] for remedy in json.loads(why.output)["next"]]
    assert ("kubectl moonshift undo web -n default" in offered) is kept
    assert ("kubectl apply -f FILE -n default" in offered) is not kept
    assert (undone.exit_code == 0) is kept


async def test_undo_of_a_disabled_rollout_says_that_it_does_not_go_in_steps(
    tmp_path: Path,
) -> None:
    disabled = make_rollout(phase="Disabled", state="")
    disabled["spec"]["disabled"] = True
    async with cluster(tmp_path, disabled) as api:
        with_workload(api)
        result = await api.run("undo", "web")
    assert result.stdout == "rollout.rollouts.kruise.io/web rolled back\n"
    assert "this changes all pods of the workload without its steps, back to old1" in result.stderr
