"""Two controllers and two workers: the effect on clients when one of them goes."""

import asyncio
import json
import os
import time

import pytest

from controller.api.names import LEASE
from demo.stage import CONTROLLER, NAMESPACE, WORKER
from localcluster.node.plane import NodePlane
from tests.node.writes import tell, writing

pytestmark = pytest.mark.full
"""Images, Helm and an install take minutes: part of `make test-full`."""

STATUS = ("rollout", "status", "--timeout=140s", "-n", NAMESPACE)
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{LEASE}"
SETTLED = 60
"""Writes before and after: three seconds of them."""
HAND_OVER_SECONDS = 60.0
LOOK_SECONDS = 0.1
RESTARTS = 20 if os.environ.get("MOONSHIFT_PROFILE") == "thorough" else 3
RESTART_SECONDS = 120


async def _holder(node: NodePlane) -> str:
    lease = await node.client().get(LEASES)
    return str(lease["spec"].get("holderIdentity") or "")


async def _transitions(node: NodePlane) -> int:
    """How often the Lease has gone to another holder."""
    lease = await node.client().get(LEASES)
    return int(lease["spec"]["leaseTransitions"])


async def _other_holder(node: NodePlane, before: str) -> str:
    """Return the next holder; a Lease is renewed all the time, so it is looked at and not watched."""
    async with asyncio.timeout(HAND_OVER_SECONDS):
        while (holder := await _holder(node)) in ("", before):  # noqa: ASYNC110 - bounded
            await asyncio.sleep(LOOK_SECONDS)
    return holder


@pytest.mark.timeout(RESTARTS * RESTART_SECONDS)
async def test_no_write_is_refused_while_both_deployments_are_restarted(
    installed: NodePlane, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with writing(installed.client("developer"), namespace) as writes:
        await writes.reach(SETTLED)
        for _ in range(RESTARTS):
            for deployment in (f"deployment/{CONTROLLER}", f"deployment/{WORKER}"):
                await installed.kubectl("rollout", "restart", "-n", NAMESPACE, deployment)
                await installed.kubectl(*STATUS, deployment)
        await writes.reach(SETTLED)
    tell(capsys, f"{RESTARTS} rolling restarts of both Deployments: {writes.summary()}")
    assert writes.refused == [], f"{len(writes.refused)} of {writes.made}"


async def test_no_write_is_refused_when_the_leader_is_deleted_and_the_other_one_leads(
    installed: NodePlane, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    leader, transitions = await _holder(installed), await _transitions(installed)
    async with writing(installed.client("developer"), namespace) as writes:
        await writes.reach(SETTLED)
        pod = f"pod/{leader.partition('_')[0]}"
        begun = time.monotonic()
        deleting = asyncio.create_task(installed.kubectl("delete", "-n", NAMESPACE, pod))
        follower = await _other_holder(installed, leader)
        seconds = time.monotonic() - begun
        # The Lease is free before the pod is gone: it is given up at the signal, the port stays open for a while.
        assert not deleting.done()
        await deleting
        await installed.kubectl(*STATUS, f"deployment/{CONTROLLER}")
        await writes.reach(SETTLED)
    tell(capsys, f"the next leader {seconds:.1f} s after `kubectl delete pod`: {writes.summary()}")
    assert follower != leader
    # It went from one to the other, once: nobody waited for it to run out, nobody took it in between.
    assert await _transitions(installed) == transitions + 1
    assert writes.refused == [], f"{len(writes.refused)} of {writes.made}"


async def test_a_killed_controller_comes_back_and_writes_go_on(
    installed: NodePlane, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    leader = await _holder(installed)
    pod = leader.partition("_")[0]
    async with writing(installed.client("developer"), namespace) as writes:
        await writes.reach(SETTLED)
        await _kill(installed, pod)
        await installed.kubectl(
            *("wait", "--timeout=140s", "-n", NAMESPACE, f"pod/{pod}"),
            "--for=jsonpath={.status.containerStatuses[0].restartCount}=1",
        )
        ready = ("wait", "--timeout=140s", "-n", NAMESPACE, f"pod/{pod}", "--for=condition=Ready")
        await installed.kubectl(*ready)
        before = len(writes.refused)
        await writes.reach(SETTLED)
        assert len(writes.refused) == before
    tell(capsys, f"a killed leader: {writes.summary()}")
    # A killed process closes nothing: reviews that were under way, and those of the second in which the
    # kubelet finds out, are refused; all others are answered by the other replica.
    assert len(writes.refused) < writes.made / 4


async def _kill(node: NodePlane, pod: str) -> None:
    """End the first process of a pod's container from the node (SIGKILL)."""
    listed = await node.kubectl("get", "pod", "-n", NAMESPACE, pod, "-o", "json")
    (status,) = json.loads(listed)["status"]["containerStatuses"]
    container = status["containerID"].removeprefix("containerd://")
    await node.inside("ctr", "--namespace=k8s.io", "task", "kill", "--signal=SIGKILL", container)
