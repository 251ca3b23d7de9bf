"""`restart`: one annotation of the pod template, never into a release that is under way."""

from pathlib import Path

from tests.component.cli.double import DEPLOYMENTS, REPLICA_SETS, Cluster, cluster, make_rollout
from tests.component.kube.faulty_server import status

MERGE = "application/merge-patch+json"


def with_workload(api: Cluster) -> None:
    meta = {"name": "app", "namespace": "default", "uid": "u", "resourceVersion": "77"}
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": {"spec": {}}}
    api.collections[DEPLOYMENTS] = [{"metadata": meta, "spec": spec}]
    api.collections[REPLICA_SETS] = []


async def test_the_pod_template_gets_the_annotation_that_kubectl_writes(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(phase="Healthy", state="Completed")) as api:
        with_workload(api)
        result = await api.run("restart", "web")
    assert result.output == (
        "rollout.rollouts.kruise.io/web begins a release of the same version, in 2 steps\n"
    )
    ((path, content_type, patch),) = api.patches
    assert (path, content_type) == (f"{DEPLOYMENTS}/app", MERGE)
    assert patch["metadata"] == {"resourceVersion": "77"}
    annotations = patch["spec"]["template"]["metadata"]["annotations"]
    assert list(annotations) == ["kubectl.kubernetes.io/restartedAt"]


async def test_a_release_under_way_is_left_alone(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        with_workload(api)
        result = await api.run("restart", "web")
    assert result.exit_code == 1
    assert (
        "is under way: let it end, or go back (kubectl moonshift undo web -n default)"
        in result.stderr
    )
    assert api.patches == []


async def test_a_workload_that_changed_at_the_same_moment_is_not_restarted(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(phase="Healthy", state="Completed")) as api:
        with_workload(api)
        answer = status(409, "Conflict", "the object has been modified")
        api.overrides["PATCH", f"{DEPLOYMENTS}/app"] = (409, answer)
        result = await api.run("restart", "web")
    assert result.exit_code == 1
    assert "nothing was restarted" in result.stderr


async def test_a_disabled_rollout_restarts_nothing_because_it_would_not_go_in_steps(
    tmp_path: Path,
) -> None:
    disabled = make_rollout(phase="Disabled", state="")
    disabled["spec"]["disabled"] = True
    async with cluster(tmp_path, disabled) as api:
        with_workload(api)
        result = await api.run("restart", "web")
    assert result.exit_code == 1
    assert "all pods of Deployment app would be replaced without its steps" in result.stderr
    assert api.patches == []
