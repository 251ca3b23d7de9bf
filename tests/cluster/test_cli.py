"""The CLI against a real API server: the requests that arrive there, its refusals, the end of waiting.

Why a plane of its own: the Rollout kind is served without conversion here, and no controller runs, so that every status
is exactly what a test says. Only `promote` is played against a controller, on the plane that all tests share, because
it waits for several of its answers; the demo's test shows a controller's answer to an approval.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from signal import SIG_IGN, SIGINT, default_int_handler, getsignal, signal
from typing import Any, Protocol, cast

import pytest
import yaml
from click.testing import CliRunner, Result

from controller.cli.main import cli
from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.audit import AuditRecord
from localcluster.plane import Plane
from localcluster.record import Recorder
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, Application, StepPlan
from tests.cluster.story import Story
from tests.cluster.view import image_of

ROOT = Path(__file__).parents[2]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ROLLOUTS = "/apis/rollouts.kruise.io/v1beta1/namespaces/default/rollouts"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"
SERVICES = "/api/v1/namespaces/default/services"
USER = "admin"


def served_alone() -> dict[str, Any]:
    """Our CRD, v1beta1 only."""
    crd: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "crds" / "rollouts.yaml").read_text())
    crd["spec"].pop("conversion")
    crd["spec"]["versions"] = [v for v in crd["spec"]["versions"] if v["name"] == "v1beta1"]
    return crd


@pytest.fixture(scope="module")
async def cluster(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Plane]:
    async with Plane.start(tmp_path_factory.mktemp("cli")) as plane:
        missing = await run(plane, "get")
        assert "this cluster has no Rollouts" in missing.stderr
        await plane.client().create(CRDS, served_alone())
        await plane.crds_served()
        yield plane


async def run(plane: Plane, *arguments: str) -> Result:
    runner = CliRunner(env={"KUBECONFIG": str(plane.kubeconfig(USER))})
    return await asyncio.to_thread(
        runner.invoke, cli, list(arguments), prog_name="kubectl moonshift"
    )


class Running(Protocol):
    """A process whose output is read."""

    stdout: asyncio.StreamReader
    returncode: int | None

    def send_signal(self, signal: int) -> None: ...

    async def communicate(self) -> tuple[bytes, bytes]: ...


Program = Callable[..., Awaitable[Running]]


@pytest.fixture
async def program(cluster: Plane) -> AsyncIterator[Program]:
    """Start the program as a process of its own; it ends with the test.

    A program that a shell starts in the background ignores SIGINT; this program reacts to it.
    """
    started: list[asyncio.subprocess.Process] = []
    inherited = getsignal(SIGINT)
    if inherited is SIG_IGN:
        signal(SIGINT, default_int_handler)

    async def start(*arguments: str) -> Running:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "controller.cli.main"),
            *("--kubeconfig", str(cluster.kubeconfig(USER)), *arguments),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        started.append(process)
        return cast(Running, process)

    yield start
    signal(SIGINT, inherited)
    for process in started:
        if process.returncode is None:
            process.kill()
            await process.wait()


def status_of(step: int, state: str, *, phase: str = "Progressing", **more: Any) -> dict[str, Any]:
    """The status that the controller would have written."""
    now = "2026-05-04T12:00:00Z"
    conditions = [
        {"type": kind, "status": value, "lastTransitionTime": now, "reason": "R", "message": "why"}
        for kind, value in more.pop("conditions", {}).items()
    ]
    return {
        "status": {
            "phase": phase,
            "observedGeneration": 1,
            "conditions": conditions,
            "canaryStatus": {
                "currentStepIndex": step,
                "currentStepState": state,
                "canaryReplicas": 1,
                "canaryReadyReplicas": 1,
                "stableRevision": more.get("stableRevision", "old"),
                "canaryRevision": "new",
                "podTemplateHash": "",
            },
            "moonshift": {"step": step, "state": state, **more},
        }
    }


async def make(
    plane: Plane,
    name: str,
    status: dict[str, Any],
    workload: str = "app",
    kind: str = "Deployment",
) -> None:
    """A Rollout with this `status`."""
    steps = [{"replicas": "50%", "traffic": "50%"}, {"replicas": "100%"}]
    routings = [{"service": workload}]
    body = {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": name},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": kind, "name": workload},
            "strategy": {"canary": {"steps": steps, "trafficRoutings": routings}},
        },
    }
    await plane.client().create(ROLLOUTS, body)
    await move(plane, name, status)


async def move(plane: Plane, name: str, status: dict[str, Any]) -> None:
    await plane.client(USER).patch(f"{ROLLOUTS}/{name}/status", status)


def patches(plane: Plane, mark: int, name: str) -> Sequence[AuditRecord]:
    """Patches of the CLI of this Rollout."""
    return plane.audit.since(
        mark,
        where=lambda r: (
            r.verb == "patch" and r.name == name and r.user_agent.startswith("moonshift-cli/")
        ),
    )


async def test_an_approval_is_exactly_the_originals_patch(cluster: Plane) -> None:
    await make(cluster, "plain", status_of(1, "StepPaused"))
    mark = cluster.audit.mark()
    result = await run(cluster, "rollout", "approve", "rollout/plain")
    assert result.output == "rollout.rollouts.kruise.io/plain approved\n"
    (sent,) = patches(cluster, mark, "plain")
    assert (sent.subresource, sent.code) == ("status", 200)
    assert sent.request() == {"status": {"canaryStatus": {"currentStepState": "StepReady"}}}
    stored = await cluster.client().get(f"{ROLLOUTS}/plain")
    assert stored["status"]["canaryStatus"]["currentStepState"] == "StepReady"
    assert stored["status"]["moonshift"]["state"] == "StepPaused"


VIEWER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: rollout-viewer}
rules:
- {apiGroups: [rollouts.kruise.io], resources: [rollouts], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: rollout-viewers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: rollout-viewer}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: viewers}]
"""


@pytest.mark.parametrize("how", ["kubeconfig", "flags"])
async def test_a_viewer_may_not_approve_through_an_administrator(
    cluster: Plane, tmp_path: Path, how: str
) -> None:
    name = f"seen-{how}"
    await cluster.apply(VIEWER)
    await make(cluster, name, status_of(1, "StepPaused"))
    tree = yaml.safe_load(cluster.kubeconfig(USER).read_text())
    flags: tuple[str, ...] = ("--as", "jane", "--as-group", "viewers")
    if how == "kubeconfig":
        tree["users"][0]["user"] |= {"as": "jane", "as-groups": ["viewers"]}
        flags = ()
    (tmp_path / "viewer").write_text(json.dumps(tree))
    mark = cluster.audit.mark()
    line = ("--kubeconfig", str(tmp_path / "viewer"), *flags)
    seen = await run(cluster, "get", name, *line)
    refused = await run(cluster, "approve", name, *line)
    assert seen.exit_code == 0
    assert refused.exit_code == 1
    assert refused.stderr.startswith(
        "error: forbidden: user jane may not patch rollouts/status (rollouts.kruise.io) in namespace "
        "default: "
    )
    (sent,) = patches(cluster, mark, name)
    assert sent.code == 403
    stored = await cluster.client().get(f"{ROLLOUTS}/{name}")
    assert stored["status"]["canaryStatus"]["currentStepState"] == "StepPaused"


async def test_a_release_that_does_not_wait_is_not_approved(cluster: Plane) -> None:
    await make(cluster, "early", status_of(1, "StepUpgrade"))
    mark = cluster.audit.mark()
    result = await run(cluster, "approve", "early")
    assert result.exit_code == 1
    assert "at step 1/2 in StepUpgrade, not in StepPaused" in result.stderr
    assert not patches(cluster, mark, "early")


async def test_an_exact_approval_is_kept_by_the_crd_and_refuses_another_step(
    cluster: Plane,
) -> None:
    await make(cluster, "exact", status_of(2, "StepPaused"))
    wrong = await run(cluster, "approve", "exact", "--step", "1")
    assert (wrong.exit_code, "not at step 1" in wrong.stderr) == (1, True)
    right = await run(cluster, "approve", "exact", "--step", "2")
    assert right.exit_code == 0
    stored = await cluster.client().get(f"{ROLLOUTS}/exact")
    assert stored["status"]["moonshift"]["approval"]["step"] == 2


async def test_pause_and_resume_switch_the_field(cluster: Plane) -> None:
    await make(cluster, "held", status_of(1, "StepPaused"))
    assert (await run(cluster, "pause", "held")).output.endswith("paused\n")
    stored = await cluster.client().get(f"{ROLLOUTS}/held")
    assert stored["spec"]["strategy"]["paused"] is True
    again = await run(cluster, "pause", "held")
    assert again.stderr == 'error: rollouts.rollouts.kruise.io "held" is already paused\n'
    assert (await run(cluster, "rollout", "resume", "held")).output.endswith("resumed\n")
    stored = await cluster.client().get(f"{ROLLOUTS}/held")
    assert not stored["spec"]["strategy"].get("paused")


@pytest.mark.parametrize(
    ("name", "end", "code"),
    [
        ("won", status_of(2, "Completed", phase="Healthy", conditions={"Succeeded": "True"}), 0),
        ("lost", status_of(2, "Completed", phase="Healthy", conditions={"Succeeded": "False"}), 3),
        ("stuck", status_of(1, "StepUpgrade", conditions={"Stalled": "True"}), 4),
    ],
)
async def test_status_ends_with_the_outcome(
    cluster: Plane, program: Program, name: str, end: dict[str, Any], code: int
) -> None:
    await make(cluster, name, status_of(1, "StepUpgrade"))
    process = await program("status", name, "--timeout", "90s")
    first = await process.stdout.readline()
    await move(cluster, name, end)
    async with asyncio.timeout(60):
        await process.communicate()
    assert b"step 1/2 StepUpgrade" in first
    assert process.returncode == code


async def test_status_gives_up_in_time(cluster: Plane) -> None:
    await make(cluster, "slow", status_of(1, "StepUpgrade"))
    result = await run(cluster, "status", "slow", "--timeout", "300ms")
    assert result.exit_code == 5
    until = await run(cluster, "status", "slow", "--no-watch")
    assert until.exit_code == 0


async def test_undo_puts_the_stable_template_back(cluster: Plane) -> None:
    client = cluster.client(USER)
    labels = {"app": "undone"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "m", "image": "m:1"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}
    await client.create(DEPLOYMENTS, {"metadata": {"name": "undone"}, "spec": spec})
    selected = {"selector": labels, "ports": [{"port": 80}]}
    await client.create(SERVICES, {"metadata": {"name": "undone"}, "spec": selected})
    await cluster.kubectl("rollout", "status", "deployment/undone", "--timeout=60s")
    first = (await client.get(REPLICA_SETS, labelSelector="app=undone"))["items"][0]
    revision = first["metadata"]["labels"]["pod-template-hash"]
    await make(
        cluster, "undone", status_of(1, "StepPaused", stableRevision=revision), workload="undone"
    )
    await cluster.kubectl("set", "image", "deployment/undone", "m=m:2")
    result = await run(cluster, "undo", "undone")
    assert "-  - image: m:2\n" in result.output
    assert result.output.endswith("rollout.rollouts.kruise.io/undone rolled back\n")
    stored = await client.get(f"{DEPLOYMENTS}/undone")
    assert stored["spec"]["template"]["spec"]["containers"][0]["image"] == "m:1"
    assert "pod-template-hash" not in stored["spec"]["template"]["metadata"]["labels"]
    tree = await run(cluster, "get", "undone", "-o", "json")
    view = json.loads(tree.output)
    assert [service["exists"] for service in view["services"]] == [True]
    assert revision in [found["revision"] for found in view["revisions"]]
    assert "already" in (await run(cluster, "undo", "undone")).stderr


async def test_undo_and_the_tree_of_a_stateful_set_go_by_its_controller_revisions(
    cluster: Plane,
) -> None:
    client = cluster.client(USER)
    labels = {"app": "stateful"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "m", "image": "m:1"}]}}
    spec = {
        "replicas": 2,
        "serviceName": "stateful",
        "selector": {"matchLabels": labels},
        "template": pod,
    }
    await client.create(STATEFUL_SETS, {"metadata": {"name": "stateful"}, "spec": spec})
    await cluster.kubectl("rollout", "status", "statefulset/stateful", "--timeout=60s")
    stable = (await client.get(f"{STATEFUL_SETS}/stateful"))["status"]["currentRevision"]
    status = status_of(1, "StepPaused", stableRevision=stable)
    await make(cluster, "stateful", status, workload="stateful", kind="StatefulSet")
    await cluster.kubectl("set", "image", "statefulset/stateful", "m=m:2")
    await cluster.kubectl("rollout", "status", "statefulset/stateful", "--timeout=60s")
    result = await run(cluster, "undo", "stateful")
    assert "-  - image: m:2\n" in result.output
    assert result.output.endswith("rollout.rollouts.kruise.io/stateful rolled back\n")
    stored = await client.get(f"{STATEFUL_SETS}/stateful")
    assert stored["spec"]["template"]["spec"]["containers"][0]["image"] == "m:1"
    await cluster.kubectl("rollout", "status", "statefulset/stateful", "--timeout=60s")
    view = json.loads((await run(cluster, "get", "stateful", "-o", "json")).output)
    found = [(r["role"], r["revision"], len(r["pods"])) for r in view["revisions"]]
    assert found == [("stable", stable, 2)]
    assert "already" in (await run(cluster, "undo", "stateful")).stderr


async def test_a_live_view_in_a_pipe_prints_changes_and_ends_quietly(
    cluster: Plane, program: Program
) -> None:
    await make(cluster, "live", status_of(1, "StepUpgrade"))
    process = await program("get", "live", "-w")
    before = await process.stdout.readline()
    await move(cluster, "live", status_of(1, "StepPaused"))
    after = await process.stdout.readline()
    process.send_signal(SIGINT)
    async with asyncio.timeout(60):
        rest, errors = await process.communicate()
    assert b"step 1/2  StepUpgrade" in before
    assert b"step 1/2  StepPaused  1/1 new pods ready  waits for an approval" in after
    assert (rest, errors, process.returncode) == (b"", b"", 130)


# --- promote, with a controller that answers ----------------------------------------------------


def condition_of(status: JsonObject, kind: str) -> tuple[str, str]:
    """Status and reason of a condition."""
    found = [c for c in status.get("conditions") or () if c["type"] == kind]
    return (found[0]["status"], found[0]["reason"]) if found else ("", "")


def waits_at_each_step(namespace: str, *, canary: bool) -> Application:
    """The last step does not have all pods, so it waits for a person, too."""
    plan = (StepPlan(1, 20), StepPlan(2, 50), StepPlan(3, 75))
    return Application("shop", namespace, canary, plan, virtual_service=True)


async def promoted(story: Story, *flags: str) -> Result:
    line = ("promote", story.app.name, "-n", story.app.namespace, *flags)
    return await run(story.plane, *line)


async def is_whole(story: Story) -> None:
    """The release has succeeded, and all pods are new."""
    ended = await story.completed()
    assert condition_of(ended.object["status"], "Succeeded")[0] == "True"
    await story.settled()
    assert {image_of(pod) for pod in story.pods()} == {NEW_IMAGE}


async def test_promote_goes_on_step_by_step_and_with_full_past_all_that_are_left(
    product: Product, recorder: Recorder, namespace_of_product: str
) -> None:
    story = Story(product.plane, recorder, waits_at_each_step(namespace_of_product, canary=False))
    await story.begin()
    await story.paused_at(1)
    once = await promoted(story)
    assert once.output == "rollout.rollouts.kruise.io/shop promoted past step 1\n"
    await story.paused_at(2)
    whole = await promoted(story, "--full", "--timeout", "60s")
    assert whole.exit_code == 0, whole.output
    assert whole.output.splitlines() == [
        "rollout.rollouts.kruise.io/shop jumps from step 2 to step 3, the last",
        "rollout.rollouts.kruise.io/shop fully promoted",
    ]
    await is_whole(story)


async def loses_its_stable_pods(story: Story) -> None:
    """Somebody deletes the ReplicaSet of the old revision, which nobody makes again during a release."""
    namespace = story.app.namespace
    path = f"/apis/apps/v1/namespaces/{namespace}/replicasets"
    found = (await story.client.get(path))["items"]
    (old,) = [
        item["metadata"]["name"]
        for item in found
        if item["spec"]["template"]["spec"]["containers"][0]["image"] == STABLE_IMAGE
    ]
    await story.client.delete(f"{path}/{old}", propagationPolicy="Foreground")
    await story.rollout(
        lambda status: condition_of(status, "Stalled") == ("True", "SideWithoutEndpoints")
    )


@pytest.mark.parametrize("full", [False, True], ids=["step by step", "at once"])
async def test_a_release_whose_stable_pods_are_gone_can_be_promoted(
    product: Product, recorder: Recorder, namespace_of_product: str, full: bool
) -> None:
    story = Story(product.plane, recorder, waits_at_each_step(namespace_of_product, canary=True))
    await story.begin()
    await story.paused_at(1)
    await loses_its_stable_pods(story)
    if not full:
        for step in (1, 2):
            once = await promoted(story)
            assert once.output == f"rollout.rollouts.kruise.io/shop promoted past step {step}\n"
            await story.paused_at(step + 1)
    whole = await promoted(story, "--full", "--timeout", "60s")
    assert whole.exit_code == 0, whole.output
    assert whole.output.endswith("fully promoted\n")
    await is_whole(story)
