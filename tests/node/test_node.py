"""The node is a real one: containers run, names resolve, Services lead to pods, and nothing of it stays."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from localcluster.__main__ import cli
from localcluster.node import tools
from localcluster.node.box import group_name, hierarchies
from localcluster.node.lines import BOX
from localcluster.node.plane import NodePlane
from localcluster.state import read_state
from tests.node import apps
from tests.node.traces import box_of, host_state, waited_for

WAIT = ("wait", "--timeout=120s", "--for=condition=Available")


async def test_a_pod_reaches_pods_by_the_name_of_their_service(
    node: NodePlane, namespace: str
) -> None:
    objects = [apps.deployment("web", replicas=2), apps.service("web")]
    objects += [apps.deployment("client", version="v2"), apps.service("client")]
    await node.kubectl("apply", "-n", namespace, "-f", "-", input=yaml.safe_dump_all(objects))
    await node.kubectl(*WAIT, "-n", namespace, "deployment/web", "deployment/client")

    answer = await apps.fetch(
        node, namespace, "client", f"http://web.{namespace}.svc.cluster.local/"
    )
    assert answer.startswith("v1 web-")
    # The short name works, too: the kubelet gives pods the cluster's search domains.
    assert (await apps.fetch(node, namespace, "client", "http://web/")).startswith("v1 web-")
    # A pod reaches itself through its own Service.
    assert (await apps.fetch(node, namespace, "client", "http://client/")).startswith("v2 client-")


async def test_the_log_of_a_container_and_a_command_in_it_are_reachable(
    node: NodePlane, namespace: str
) -> None:
    crashing = apps.deployment("crashing", environment={"CRASH": "0s"})
    await node.kubectl("apply", "-n", namespace, "-f", "-", input=yaml.safe_dump(crashing))
    made = "--for=jsonpath={.status.unavailableReplicas}=1"
    await node.kubectl("wait", "--timeout=120s", "-n", namespace, "deployment/crashing", made)
    await node.kubectl(
        *("wait", "--timeout=120s", "-n", namespace, "pod", "-l", "app=crashing"),
        "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=CrashLoopBackOff",
    )
    log = await node.kubectl("logs", "-n", namespace, "deployment/crashing")
    assert "this version crashes" in log


def test_a_machine_sees_nothing_of_a_node_that_was_ended(tmp_path: Path) -> None:
    before = host_state()
    plane = tmp_path / "plane"
    started = CliRunner().invoke(cli, ["up", "--node", "--dir", str(plane)], catch_exceptions=False)
    assert started.exit_code == 0, started.output
    state = read_state(plane)
    assert state is not None
    first = int((plane / "node" / "box.pid").read_text())
    box = box_of(state.processes[BOX].pid, first)

    ended = CliRunner().invoke(cli, ["down", "--dir", str(plane)], catch_exceptions=False)

    assert ended.exit_code == 0, ended.output
    # The program that is kubelet and kube-proxy by the name it is called with is `node` to the kernel.
    assert {"node", "containerd", "etcd"} <= set(box.processes.values())
    assert box.left() == []
    assert host_state() - before == frozenset()


def test_a_machine_sees_nothing_of_a_node_whose_starter_was_killed(tmp_path: Path) -> None:
    before = host_state()
    command = [sys.executable, "-m", "tests.node.holder", str(tmp_path / "plane")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        body = json.loads(holder.stdout.readline())
        box = box_of(body["keeper"], body["first"])
        with waited_for(body["keeper"]) as ended:
            holder.kill()
            ended()

    assert any("greeter" in name for name in box.processes.values())
    assert box.left() == []
    assert not [h for h in hierarchies() if (h / group_name(body["keeper"])).exists()]
    assert host_state() - before == frozenset()


@pytest.mark.parametrize("missing", ["containerd", "nft"])
def test_a_missing_program_is_named_with_the_command_that_installs_it(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tools.program
    monkeypatch.setattr(tools, "program", lambda name: None if name == missing else real(name))
    assert tools.PACKAGES[missing] in tools.refusal()
    assert "make node-tools" in tools.refusal()
