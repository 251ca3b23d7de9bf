"""The behaviour of the plane itself, on which other cluster tests rely."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localcluster.api import JsonObject
from localcluster.audit import AuditRecord, count
from localcluster.errors import CommandFailed, RequestRefused
from localcluster.history import Change, Kind, unseen_writes
from localcluster.plane import Plane
from localcluster.usage import descendants, start_time, usage

PODS = Kind("", "v1", "pods")
CONFIG_MAPS = Kind("", "v1", "configmaps")
SERVICES = Kind("", "v1", "services")
DEPLOYMENTS = Kind("apps", "v1", "deployments")
SLICES = Kind("discovery.k8s.io", "v1", "endpointslices")


def deployment(
    name: str,
    *,
    image: str = "shop:1",
    annotations: dict[str, str] | None = None,
    replicas: int = 3,
) -> JsonObject:
    template = {
        "metadata": {"labels": {"app": name}, "annotations": annotations or {}},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": template,
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def service(name: str) -> JsonObject:
    spec = {"selector": {"app": name}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def within(namespace: str) -> Callable[[Change], bool]:
    return lambda change: change.key.namespace == namespace


def ready_replicas(change: Change) -> int:
    if change.key.kind != DEPLOYMENTS:
        return -1
    return int(change.object["status"].get("readyReplicas", 0))


def endpoints(change: Change, ready: bool) -> int:
    if change.key.kind != SLICES:
        return -1
    found = change.object.get("endpoints") or ()
    return sum(1 for e in found if e["addresses"] and e["conditions"]["ready"] is ready)


async def test_a_deployment_becomes_ready_with_addresses_in_its_endpoint_slice(
    plane: Plane, namespace: str
) -> None:
    client = plane.client("developer")
    async with plane.recorder(DEPLOYMENTS, SLICES) as recorder:
        await client.create(f"/api/v1/namespaces/{namespace}/services", service("shop"))
        await client.create(f"/apis/apps/v1/namespaces/{namespace}/deployments", deployment("shop"))
        here = within(namespace)
        begun = await recorder.until(lambda c: here(c) and c.key.kind == DEPLOYMENTS)
        await recorder.until(lambda c: here(c) and ready_replicas(c) == 3, 10)
        await recorder.until(lambda c: here(c) and endpoints(c, ready=True) == 3, 10)
        assert begun.type == "ADDED"


@pytest.mark.parametrize(
    ("image", "annotations"),
    [
        pytest.param("shop:1", {"sim.moonshift.dev/never-ready": "true"}, id="told not to"),
        pytest.param("shop:bad", {}, id="image cannot be pulled"),
    ],
)
async def test_pods_that_fail_to_start_have_addresses_and_stay_unready(
    plane: Plane, namespace: str, image: str, annotations: dict[str, str]
) -> None:
    client = plane.client("developer")
    async with plane.recorder(DEPLOYMENTS, SLICES, PODS) as recorder:
        await client.create(f"/api/v1/namespaces/{namespace}/services", service("shop"))
        body = deployment("shop", image=image, annotations=annotations)
        await client.create(f"/apis/apps/v1/namespaces/{namespace}/deployments", body)
        here = within(namespace)
        await recorder.until(lambda c: here(c) and endpoints(c, ready=False) == 3, 10)
        # A pod made later and allowed to become ready shows that time enough has passed for the others.
        other = deployment("other", annotations={"sim.moonshift.dev/ready-ms": "600"})
        await client.create(f"/apis/apps/v1/namespaces/{namespace}/deployments", other)
        await recorder.until(lambda c: here(c) and c.key.name == "other" and ready_replicas(c) == 3)
        shop = [c for c in recorder.history() if here(c) and c.key.name == "shop"]
        assert {ready_replicas(c) for c in shop} <= {0, -1}


async def test_a_bad_image_shows_as_err_image_pull(plane: Plane, namespace: str) -> None:
    pod: JsonObject = {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "main", "image": "shop:missing"}]},
    }
    async with plane.recorder(PODS) as recorder:
        await plane.client().create(f"/api/v1/namespaces/{namespace}/pods", pod)
        waiting = await recorder.until(
            lambda c: c.key.namespace == namespace and "containerStatuses" in c.object["status"]
        )
    state = waiting.object["status"]["containerStatuses"][0]["state"]
    assert state["waiting"]["reason"] == "ErrImagePull"


async def test_readiness_can_be_taken_from_running_pods_and_restored(
    plane: Plane, namespace: str
) -> None:
    client = plane.client("developer")
    mark = "sim.moonshift.dev/never-ready"
    async with plane.recorder(DEPLOYMENTS) as recorder:
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
        await client.create(path, deployment("shop", replicas=2))

        async def seen(replicas: int) -> None:
            await recorder.until_state(
                lambda state: any(
                    k.namespace == namespace and o["status"].get("readyReplicas", 0) == replicas
                    for k, o in state.items()
                )
            )

        await seen(2)
        await plane.kubectl("-n", namespace, "label", "pod", "--all", f"{mark}=true")
        await seen(0)
        await plane.kubectl("-n", namespace, "label", "pod", "--all", f"{mark}-")
        await seen(2)


async def test_a_job_runs_to_its_end(plane: Plane, namespace: str) -> None:
    template = {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "job:1"}]}
    }
    jobs = Kind("batch", "v1", "jobs")
    async with plane.recorder(jobs) as recorder:
        body: JsonObject = {"metadata": {"name": "migrate"}, "spec": {"template": template}}
        await plane.client().create(f"/apis/batch/v1/namespaces/{namespace}/jobs", body)
        await recorder.until(
            lambda c: c.key.namespace == namespace and c.object["status"].get("succeeded") == 1
        )


async def test_the_audit_log_names_who_did_what(plane: Plane, namespace: str) -> None:
    cursor = plane.audit.mark()
    path = f"/api/v1/namespaces/{namespace}/services"
    made = await plane.client("developer").create(path, service("shop"))
    await plane.client("approver").get(f"{path}/shop")
    records = plane.audit.since(
        cursor, where=lambda r: r.namespace == namespace and r.resource == "services"
    )
    assert count(records) == {
        ("developer", "create", "services"): 1,
        ("approver", "get", "services"): 1,
    }
    written = next(r for r in records if r.is_write)
    assert written.resource_version == int(made["metadata"]["resourceVersion"])
    assert written.request()["spec"]["selector"] == {"app": "shop"}
    assert written.response()["metadata"]["uid"] == made["metadata"]["uid"]


async def test_a_watch_counts_once_when_it_starts(plane: Plane, namespace: str) -> None:
    cursor = plane.audit.mark()
    parameters = {"watch": "true", "resourceVersion": "0"}
    path = f"/api/v1/namespaces/{namespace}/configmaps"

    def watches() -> list[AuditRecord]:
        return plane.audit.since(cursor, where=lambda r: r.is_watch and r.namespace == namespace)

    client = plane.client("gateway")
    async with client.stream(path, {**parameters, "timeoutSeconds": "1"}) as lines:
        assert [r.user for r in watches()] == ["gateway"]
        assert [line async for line in lines] == []
    await client.get(path)
    assert [r.stage for r in watches()] == ["ResponseStarted"]


async def test_a_service_account_acts_under_its_name_and_within_its_rights(
    plane: Plane, namespace: str
) -> None:
    await plane.apply(
        f"""
apiVersion: v1
kind: ServiceAccount
metadata: {{name: robot, namespace: {namespace}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: robot, namespace: {namespace}}}
rules:
  - {{apiGroups: [""], resources: [configmaps], verbs: [create, get, list, watch]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: robot, namespace: {namespace}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: robot}}
subjects: [{{kind: ServiceAccount, name: robot, namespace: {namespace}}}]
"""
    )
    token = await plane.service_account_token(namespace, "robot")
    kubeconfig = plane.kubeconfig_for_token(f"{namespace}-robot", token)
    assert kubeconfig.stat().st_mode & 0o077 == 0
    user = f"system:serviceaccount:{namespace}:robot"
    cursor = plane.audit.mark()
    root = f"/api/v1/namespaces/{namespace}"
    async with plane.client_for_token(token) as robot:
        await robot.create(f"{root}/configmaps", {"metadata": {"name": "allowed"}})
        with pytest.raises(RequestRefused) as refused:
            await robot.create(f"{root}/secrets", {"metadata": {"name": "refused"}})
    assert refused.value.status == 403
    seen = [(r.resource, r.code) for r in plane.audit.since(cursor, user=user)]
    assert seen == [("configmaps", 201), ("secrets", 403)]


async def test_kubectl_reports_objects_and_errors(plane: Plane, namespace: str) -> None:
    assert namespace in await plane.kubectl("get", "namespace", namespace, "-o", "name")
    with pytest.raises(CommandFailed, match="not found"):
        await plane.kubectl("-n", namespace, "get", "service", "none")


async def test_the_recorder_misses_none_of_many_writes(plane: Plane, namespace: str) -> None:
    cursor = plane.audit.mark()
    path = f"/api/v1/namespaces/{namespace}/services"
    client = plane.client("developer")

    async def live(number: int) -> None:
        name = f"s{number}"
        await client.create(path, service(name))
        for turn in range(6):
            await client.patch(f"{path}/{name}", {"metadata": {"labels": {"turn": str(turn)}}})
        await client.delete(f"{path}/{name}")

    async with plane.recorder(SERVICES, CONFIG_MAPS, SLICES) as recorder:
        async with asyncio.TaskGroup() as group:
            for number in range(40):
                group.create_task(live(number))
        await recorder.until_state(
            lambda state: not any(k.namespace == namespace and k.kind == SERVICES for k in state)
        )
        await recorder.caught_up()
        history = recorder.history()
        records = plane.audit.since(cursor, user="developer")
        assert recorder.missing(records) == ()
        assert recorder.gaps == []
    mine = [c for c in history if c.key.kind == SERVICES and c.key.namespace == namespace]
    assert len(mine) == 40 * (1 + 6 + 1)
    versions = [c.resource_version for c in history]
    assert versions == sorted(versions)
    # The check is not blind: without one change, the write that made it is named.
    lost = next(c.resource_version for c in mine if c.type == "MODIFIED")
    known = {c.resource_version for c in mine} - {lost}
    named = unseen_writes(records, known, {("", "services"): 0})
    assert [r.resource_version for r in named] == [lost]


async def test_the_api_server_comes_back_and_a_recording_goes_on(
    plane: Plane, namespace: str
) -> None:
    path = f"/api/v1/namespaces/{namespace}/services"
    cursor = plane.audit.mark()
    async with plane.recorder(SERVICES) as recorder:
        await plane.client().create(path, service("before"))
        before = plane.components["kube-apiserver"].pid
        await plane.components["kube-apiserver"].restart()
        assert plane.components["kube-apiserver"].pid != before
        await plane.client().create(path, service("after"))
        await recorder.until(lambda c: c.key.namespace == namespace and c.key.name == "after")
        names = [c.key.name for c in recorder.history() if c.key.namespace == namespace]
        assert names == ["before", "after"]
        assert recorder.missing(plane.audit.since(cursor)) == ()


async def test_a_frozen_controller_manager_does_nothing_until_it_goes_on(
    plane: Plane, namespace: str
) -> None:
    manager = plane.components["kube-controller-manager"]
    path = f"/apis/apps/v1/namespaces/{namespace}"
    async with plane.recorder(Kind("apps", "v1", "replicasets")) as recorder:
        await manager.stop()
        try:
            used = manager.resource_use().cpu_seconds
            await plane.client().create(f"{path}/deployments", deployment("shop", replicas=1))
            await plane.kubectl("version")
            assert manager.resource_use().cpu_seconds == used
            assert (await plane.client().get(f"{path}/replicasets"))["items"] == []
        finally:
            await manager.cont()
        await recorder.until(lambda c: c.key.namespace == namespace)


async def test_use_of_every_component_is_measured(plane: Plane) -> None:
    used = plane.resource_use()
    assert set(used) == set(plane.components)
    for each in used.values():
        assert each.cpu_seconds > 0
        assert each.rss_bytes >= each.pss_bytes > 2**20
    assert usage(os.getpid()).processes > len(used)


async def test_planes_leave_no_process_and_no_data(tmp_path: Path, plane: Plane) -> None:
    folders: list[Path] = []
    shared = {component.pid for component in plane.components.values()}
    for turn in range(3):
        async with Plane.start(tmp_path / f"plane{turn}") as another:
            pids = {c.pid: c.started_at for c in another.components.values()}
            folders.append(another.layout.data)
            assert folders[-1].is_dir()
            assert await another.kubectl("get", "nodes", "-o", "name")
        assert [pid for pid, started in pids.items() if start_time(pid) == started] == []
        assert not folders[-1].exists()
        assert not (tmp_path / f"plane{turn}" / "state.json").exists()
    assert set(descendants(os.getpid())) >= shared


async def run_cli(*arguments: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "localcluster", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


async def test_the_command_line_starts_shows_and_ends_a_plane(tmp_path: Path) -> None:
    there = ("--dir", str(tmp_path / "plane"))
    assert (await run_cli("status", *there))[0] == 1
    kubeconfig = tmp_path / "kubeconfig"
    code, output = await run_cli("up", *there, "--kubeconfig-out", str(kubeconfig))
    try:
        assert code == 0, output
        assert f"export KUBECONFIG={kubeconfig}" in output
        assert kubeconfig.stat().st_mode & 0o077 == 0
        code, output = await run_cli("up", *there)
        assert (code, "already" in output) == (1, True)
        code, output = await run_cli("status", *there)
        assert (code, output.count("running")) == (0, 5)
    finally:
        code, output = await run_cli("down", *there)
    assert (code, "ended" in output) == (0, True)
    assert (await run_cli("down", *there))[0] == 0


async def test_a_launched_plane_is_found_again_and_ended_from_elsewhere(tmp_path: Path) -> None:
    launched = await Plane.launch(tmp_path / "plane")
    await launched.close()
    async with Plane.attach(tmp_path / "plane") as found:
        try:
            await found.components["kube-scheduler"].restart()
            assert all(component.running for component in found.components.values())
        finally:
            await found.shut_down()
        assert not any(component.running for component in found.components.values())
