"""The configuration files of a node's programs.

Why it exists: all choices about how the node behaves stand in one place. Invariant: files are
written at run time only below /run or /var/log, which are memory of the box; every program listens on the node's own
network alone. It must not start anything.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import yaml

from localcluster.node.box import ADDRESS

NODE = "node"
"""The name of the node."""
SOCKET = "/run/containerd/containerd.sock"
PODS = "10.88.0.0/16"
PAUSE = "localhost/pause:1"
CNI_PROGRAMS = Path("/usr/lib/cni")
DNS_READY_PORT = 10254


def containerd(folder: Path) -> str:
    """Return containerd's configuration (TOML)."""
    return f"""version = 2
root = "/run/containerd/root"
state = "/run/containerd/state"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs"]
[grpc]
  address = "{SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  # Without the right to raise limits (CAP_SYS_RESOURCE), runc may not lower a process's oom_score_adj.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{CNI_PROGRAMS}"
    conf_dir = "{folder / "cni"}"
"""


def cni() -> str:
    """Return the cluster network: each pod has a pair of interfaces of its own, all packets are routed by the node."""
    return json.dumps(
        {
            "cniVersion": "1.0.0",
            "name": "pods",
            "plugins": [
                {
                    "type": "ptp",
                    "ipam": {
                        "type": "host-local",
                        "dataDir": "/run/cni",
                        "ranges": [[{"subnet": PODS}]],
                        "routes": [{"dst": "0.0.0.0/0"}],
                    },
                },
                {"type": "portmap", "capabilities": {"portMappings": True}},
            ],
        }
    )


def kubelet(group: str) -> str:
    """Return the kubelet's configuration; `group` is the control group that its pods are below."""
    return yaml.safe_dump(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            # Its port is reachable in the node's network only.
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "address": ADDRESS,
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{group}",
            "failCgroupV1": False,
            "failSwapOn": False,
            "containerRuntimeEndpoint": f"unix://{SOCKET}",
            "clusterDNS": [ADDRESS],
            "clusterDomain": "cluster.local",
            "resolvConf": "/dev/null",
            "podLogsDir": "/var/log/pods",
            "volumePluginDir": "/run/kubelet-plugins",
            # The kubelet must not evict pods because of the machine's own use of disk and memory.
            "evictionHard": {
                "memory.available": "50Mi",
                "nodefs.available": "1%",
                "imagefs.available": "1%",
            },
            "imageGCHighThresholdPercent": 100,
            "serializeImagePulls": False,
            "shutdownGracePeriod": "0s",
        }
    )


def kube_proxy(kubeconfig: Path) -> str:
    """Return kube-proxy's configuration; limits of connection tracking are the machine's and stay."""
    return yaml.safe_dump(
        {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "iptables",
            "clientConnection": {"kubeconfig": str(kubeconfig)},
            "clusterCIDR": PODS,
            "hostnameOverride": NODE,
            "conntrack": {
                "maxPerCore": 0,
                "min": 0,
                "tcpEstablishedTimeout": "0s",
                "tcpCloseWaitTimeout": "0s",
            },
        }
    )


def coredns(kubeconfig: Path) -> str:
    """Return CoreDNS's configuration: names of the cluster and no others."""
    return f""".:53 {{
    errors
    health :10253
    ready :{DNS_READY_PORT}
    kubernetes cluster.local {{
        kubeconfig {kubeconfig}
        ttl 5
    }}
}}
"""


def files(folder: Path, group: str, kubeconfigs: Mapping[str, Path]) -> dict[Path, str]:
    """Return each file with its text; `kubeconfigs` has those of the proxy and of the DNS."""
    return {
        folder / "containerd.toml": containerd(folder),
        folder / "cni" / "10-pods.conflist": cni(),
        folder / "kubelet.yaml": kubelet(group),
        folder / "kube-proxy.yaml": kube_proxy(kubeconfigs["kube-proxy"]),
        folder / "Corefile": coredns(kubeconfigs["coredns"]),
    }
