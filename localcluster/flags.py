"""The command lines of the components.

Why it exists: all choices about how the cluster behaves stand in one place. Invariant: everything listens on 127.0.0.1
only; client-side rate limits of the controllers are lifted, since they would dominate every measurement; the audit
log blocks, so that an answered request is in it. It must not start anything.
"""

from dataclasses import dataclass
from pathlib import Path

import yaml

from localcluster.certificates import CertificateFiles

HERE = Path(__file__).parent
POD_NETWORK = "198.18.0.0/16"
NODE_ADDRESS = "198.18.255.1"
# TaintNodesByCondition adds a taint that only the node lifecycle controller removes, and that one does not run here.
# ServiceAccount would make every new namespace's first pods wait for its default account.
DISABLED_ADMISSION = "ServiceAccount,TaintNodesByCondition"
CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "endpoints-controller",
    "endpointslice-controller",
    "endpointslice-mirroring-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "clusterrole-aggregation-controller",
    "disruption-controller",
    "pod-garbage-collector-controller",
    "horizontal-pod-autoscaler-controller",
)
CONCURRENT = ("deployment", "replicaset", "statefulset", "service-endpoint", "gc")

# With a garbage collector that lets memory grow to four times the used amount, the API server needs a fifth less CPU
# time, and about 800 MB instead of 400. Two cores have little CPU time.
ENVIRONMENT = {"GOGC": "300"}


@dataclass(frozen=True, slots=True)
class Layout:
    """Folders, ports and files of one plane."""

    directory: Path
    data: Path
    etcd_port: int
    etcd_peer_port: int
    api_port: int

    @property
    def etcd_url(self) -> str:
        """The address at which etcd listens for the API server."""
        return f"http://127.0.0.1:{self.etcd_port}"

    @property
    def api_url(self) -> str:
        """The address at which the API server listens."""
        return f"https://127.0.0.1:{self.api_port}"

    def url_for(self, user: str) -> str:
        """The API server's URL as the programs of `user` reach it."""
        return self.api_url

    @property
    def tokens(self) -> Path:
        """The API server's token file."""
        return self.directory / "tokens.csv"

    @property
    def audit_log(self) -> Path:
        """The API server's audit log."""
        return self.directory / "audit.jsonl"

    def kubeconfig(self, user: str) -> Path:
        """The kubeconfig of a user."""
        return self.directory / "kubeconfigs" / f"{user}.yaml"


def etcd_flags(layout: Layout) -> list[str]:
    """Return the flags of etcd: one member, no waiting for the disk."""
    return [
        f"--data-dir={layout.data / 'etcd'}",
        f"--listen-client-urls={layout.etcd_url}",
        f"--advertise-client-urls={layout.etcd_url}",
        f"--listen-peer-urls=http://127.0.0.1:{layout.etcd_peer_port}",
        "--unsafe-no-fsync",
    ]


def apiserver_flags(layout: Layout, files: CertificateFiles) -> list[str]:
    """Return the flags of kube-apiserver."""
    return [
        f"--etcd-servers={layout.etcd_url}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={layout.api_port}",
        f"--tls-cert-file={files.serving_certificate}",
        f"--tls-private-key-file={files.serving_key}",
        f"--client-ca-file={files.ca}",
        f"--token-auth-file={layout.tokens}",
        "--authorization-mode=RBAC",
        f"--disable-admission-plugins={DISABLED_ADMISSION}",
        "--service-cluster-ip-range=10.0.0.0/16",
        f"--service-account-issuer={layout.api_url}/",
        f"--service-account-key-file={files.account_public}",
        f"--service-account-signing-key-file={files.account_key}",
        "--endpoint-reconciler-type=none",
        "--allow-privileged=true",
        f"--audit-policy-file={HERE / 'audit-policy.yaml'}",
        f"--audit-log-path={layout.audit_log}",
        "--audit-log-mode=blocking",
        "--audit-log-maxsize=1000000",
        "--max-requests-inflight=2000",
        "--max-mutating-requests-inflight=1000",
        "--profiling=false",
        "--v=1",
    ]


def controller_manager_flags(layout: Layout, files: CertificateFiles) -> list[str]:
    """Return the flags of kube-controller-manager."""
    return [
        f"--kubeconfig={layout.kubeconfig('kcm')}",
        "--leader-elect=false",
        "--use-service-account-credentials=false",
        f"--service-account-private-key-file={files.account_key}",
        f"--root-ca-file={files.ca}",
        "--secure-port=0",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        *(f"--concurrent-{what}-syncs=20" for what in CONCURRENT),
        f"--controllers={','.join(CONTROLLERS)}",
    ]


def scheduler_configuration(layout: Layout) -> str:
    """Return the scheduler's configuration file; with one, its kubeconfig flag is ignored."""
    return yaml.safe_dump(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {
                "kubeconfig": str(layout.kubeconfig("scheduler")),
                "qps": 500,
                "burst": 1000,
            },
            "leaderElection": {"leaderElect": False},
        }
    )


def scheduler_flags(layout: Layout) -> list[str]:
    """Return the flags of kube-scheduler."""
    return [f"--config={layout.directory / 'scheduler.yaml'}", "--secure-port=0"]


def kwok_flags(layout: Layout) -> list[str]:
    """Return the flags of KWOK: all nodes are simulated, node leases are not needed."""
    return [
        f"--kubeconfig={layout.kubeconfig('kwok')}",
        f"--config={HERE / 'kwok' / 'stages.yaml'}",
        "--manage-all-nodes=true",
        f"--cidr={POD_NETWORK}",
        f"--node-ip={NODE_ADDRESS}",
        "--node-lease-duration-seconds=0",
    ]
