"""The command lines of a plane with a real node, and where its programs find each other.

Why it exists: with a real node, pods call the API server and the API server calls pods; without a node neither call
exists. Invariant: every component but the box, the door and the enforcer runs inside the box; outside, the API server
and etcd have the same addresses as on any plane. It must not start anything.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from localcluster import flags
from localcluster.build import Binaries
from localcluster.certificates import certificate_files
from localcluster.flags import Layout
from localcluster.node.box import ADDRESS
from localcluster.node.programs import NodePrograms
from localcluster.node.settings import NODE
from localcluster.node.tools import PATHS, program
from localcluster.startup import APISERVER, ETCD, ExtraFlags

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SCRIPT = (sys.executable, "-I", "-S")
BOX, DOOR = "box", "door"
CONTAINERD, KUBELET, PROXY, DNS = "containerd", "kubelet", "kube-proxy", "coredns"
ENFORCER = "network-policies"
API_PORT = 6443
NODE_USER, PROXY_USER, DNS_USER = f"system:node:{NODE}", "system:kube-proxy", "coredns"
INSIDE = frozenset({"kcm", "scheduler", "gateways", "kruise", NODE_USER, PROXY_USER, DNS_USER})
"""Users whose programs are in the box."""


@dataclass(frozen=True, slots=True)
class NodeLayout(Layout):
    """The folders and ports of a layout without a node; `api_port` is that of the door."""

    def url_for(self, user: str) -> str:
        """The API server's URL: behind the door it listens on the node's address."""
        return f"https://{ADDRESS}:{API_PORT}" if user in INSIDE else self.api_url

    @property
    def node_folder(self) -> Path:
        """The configuration of the node's programs."""
        return self.directory / "node"

    @property
    def box(self) -> Path:
        """The file that names the first process of the box while there is one."""
        return self.node_folder / "box.pid"


def door(layout: NodeLayout, *passages: str) -> tuple[str, ...]:
    """Return the command line of a door; a passage is PORT=ADDRESS:PORT."""
    return (*SCRIPT, str(HERE / "door.py"), str(layout.box), *passages)


def entering(layout: NodeLayout, command: Sequence[str]) -> tuple[str, ...]:
    """Return the command line that runs `command` in the box."""
    return (
        *(*SCRIPT, str(HERE / "enter.py"), str(layout.box)),
        *("/usr/bin/env", f"PATH={PATHS}", *command),
    )


def node_lines(
    layout: NodeLayout, binaries: Binaries, programs: NodePrograms, extra: ExtraFlags
) -> dict[str, tuple[str, ...]]:
    """Return the command line of each component; `extra` flags come last and win."""
    outside = {
        BOX: (*SCRIPT, str(HERE / "box.py"), str(layout.box)),
        DOOR: door(layout, *_passages(layout)),
        ENFORCER: (
            *("/usr/bin/env", f"PYTHONPATH={ROOT}", sys.executable),
            *("-m", "localcluster.node.enforcer", str(layout.directory)),
        ),
    }
    inside = {**_plane(layout, binaries), **_node(layout, programs)}
    return {
        **outside,
        **{n: entering(layout, (*line, *extra.get(n, ()))) for n, line in inside.items()},
    }


def _passages(layout: NodeLayout) -> tuple[str, ...]:
    return (
        f"{layout.etcd_port}=127.0.0.1:{layout.etcd_port}",
        f"{layout.api_port}={ADDRESS}:{API_PORT}",
    )


def _plane(layout: NodeLayout, binaries: Binaries) -> dict[str, list[str]]:
    files = certificate_files(layout.directory / "pki")
    return {
        ETCD: [str(binaries.etcd), *flags.etcd_flags(layout)],
        APISERVER: [
            str(binaries.kube_apiserver),
            *changed(
                flags.apiserver_flags(layout, files),
                {
                    "bind-address": "0.0.0.0",
                    "advertise-address": ADDRESS,
                    "secure-port": str(API_PORT),
                    "authorization-mode": "Node,RBAC",
                    "disable-admission-plugins": None,
                    "endpoint-reconciler-type": None,
                    "kubelet-preferred-address-types": "InternalIP",
                },
            ),
        ],
        "kube-controller-manager": [
            str(binaries.kube_controller_manager),
            *changed(flags.controller_manager_flags(layout, files), {"controllers": "*"}),
        ],
        "kube-scheduler": [str(binaries.kube_scheduler), *flags.scheduler_flags(layout)],
    }


def _node(layout: NodeLayout, programs: NodePrograms) -> dict[str, list[str]]:
    folder = layout.node_folder
    multicall = str(programs.node.binary)
    return {
        DNS: [str(programs.coredns.binary), "-conf", str(folder / "Corefile")],
        CONTAINERD: [
            str(program("containerd") or "containerd"),
            f"--config={folder / 'containerd.toml'}",
        ],
        KUBELET: [
            *(multicall, KUBELET, f"--config={folder / 'kubelet.yaml'}"),
            f"--kubeconfig={layout.kubeconfig(NODE_USER)}",
            *("--root-dir=/run/kubelet", "--cert-dir=/run/kubelet-pki"),
            *(f"--node-ip={ADDRESS}", f"--hostname-override={NODE}"),
        ],
        PROXY: [multicall, PROXY, f"--config={folder / 'kube-proxy.yaml'}"],
    }


def changed(line: Sequence[str], values: Mapping[str, str | None]) -> list[str]:
    """Return flags of the form `--name=value` with other values; None takes a flag off."""
    kept = [flag for flag in line if flag[2:].partition("=")[0] not in values]
    return [*kept, *(f"--{name}={value}" for name, value in values.items() if value is not None)]
