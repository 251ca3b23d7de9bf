"""The flags of the process, as one frozen value.

Invariant: every flag of the original is accepted (manifests of the original keep working), also where
there is nothing to set any more; an unusable value is a `BadConfiguration` with the flag, the cause and a remedy. So is
a feature gate whose missing effect would matter: nobody may rely on an effect that does not happen.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from controller.api import names
from controller.api.config import ConfigKind
from controller.errors import BadConfiguration

GATES = ("AdvancedDeployment", "RolloutHistory", "AppendPodSelector",
         "KeepWorkloadPausedOnRolloutDeletion", "MinReadySecondsStrategy", "AllAlpha", "AllBeta")  # fmt: skip
"""Every gate of the original; `docs/compatibility.md` has the effect of each."""
_REFUSED = {
    "KeepWorkloadPausedOnRolloutDeletion": (
        "is not supported: a workload whose Rollout is deleted or disabled during a release gets its owner's values "
        "back and goes on to its new template. To keep the old pods, undo the release first (`kubectl moonshift undo "
        "NAME`), then delete or disable the Rollout. Take the gate out, or set it to false"
    ),
}
"""Gates without effect here whose effect would be missed: the behaviour instead, and a remedy."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The controller's flags. Addresses are `:8080` style; an empty or `0` address switches a server off."""

    kubeconfig: str | None = None
    context: str | None = None
    lua_worker: str = "dns:///moonshift-luaworker:9090"
    lua_worker_tls_dir: Path | None = None
    webhook_port: int = 9876
    webhook_url: str = ""
    webhook_cert_dir: Path | None = None
    webhook_certs_in_secret: bool = False
    """Certificates are kept in the Secret also if a URL and a folder are given: replicas behind one address."""
    webhook_client_ca: Path | None = None
    """The authority that signs the certificates of API servers; without it, reviews from everybody are answered."""
    namespace: str = names.DEFAULT_NAMESPACE
    watch_namespace: str | None = None
    metrics_bind_address: str = ":8080"
    metrics_secure: bool = False
    """Metrics over TLS, to accounts that may get /metrics."""
    metrics_cert_dir: Path | None = None
    """Where `tls.crt` and `tls.key` of the metrics are; without it they are those of the webhooks."""
    health_probe_bind_address: str = ":8081"
    leader_elect: bool = False
    shards: int = 1
    """Parts that the namespaces are divided into, each with a holder of its own."""
    rollout_workers: int = 8
    trafficrouting_workers: int = 3
    partition_percent_limit: int = 50
    filter_workload_type: bool = False
    kube_api_qps: float = 200
    kube_api_burst: int = 400
    allow_cluster_scoped: bool = False
    feature_gates: frozenset[str] = frozenset()
    rollout_history_limit: int = 10
    otlp_endpoint: str = ""
    """The collector that spans are sent to; empty: none are made."""
    shutdown_delay: float = 0
    """Seconds that webhooks are still answered after a signal to stop."""
    track_config: frozenset[ConfigKind] = frozenset()
    """Kinds whose content may be released with the pods that read it."""
    prometheus: str = ""
    """The address that gates ask which name none."""
    analysis_allow: tuple[str, ...] = ()
    """Addresses that gates may ask, `[NAMESPACE=]http(s)://HOST[:PORT]`."""
    analysis_allow_post: tuple[str, ...] = ()
    """Addresses to which gates may send a POST, too; in the same form."""
    identity: str = ""
    service_name: str = "kruise-rollout-webhook-service"
    secret_name: str = names.WEBHOOK_SECRET
    issued_secret: str = ""
    """The Secret of a serving certificate that somebody else issues; empty: ours is served."""
    verbosity: int = 0

    @property
    def keeps_certificates_in_a_folder(self) -> bool:
        """This is one controller outside the cluster, which shares them with no other."""
        alone = self.webhook_cert_dir is not None and bool(self.webhook_url)
        return alone and not self.webhook_certs_in_secret

    @property
    def histories_kept(self) -> int:
        """Records kept of a Rollout's releases; none without the gate, as in the original."""
        gated = {"RolloutHistory", "AllAlpha"} & self.feature_gates
        return self.rollout_history_limit if gated else 0

    @property
    def appends_pod_labels(self) -> bool:
        """Canary Services select by every label of `patchPodTemplateMetadata`."""
        return bool({"AppendPodSelector", "AllAlpha"} & self.feature_gates)


def check_environment(environment: Mapping[str, str], webhook_url: str) -> None:
    """Refuse variables of the original that would be ignored: flags take their place.

    Raises:
        BadConfiguration: one of them is set and asks for something else than the flags do.
    """
    host = environment.get("WEBHOOK_HOST", "")
    if host and not webhook_url:
        port = environment.get("WEBHOOK_PORT") or Settings().webhook_port
        raise BadConfiguration(
            f"WEBHOOK_HOST={host} is not read: a controller outside the cluster is started with "
            f"--webhook-url=https://{host}:{port} and --webhook-cert-dir"
        )
    writer = environment.get("WEBHOOK_CERT_WRITER", "")
    written = "fs" if webhook_url else "secret"
    if writer not in ("", written):
        raise BadConfiguration(
            f"WEBHOOK_CERT_WRITER={writer} does not fit: certificates are kept in the folder --webhook-cert-dir with "
            f"--webhook-url, and in a Secret without; here that is {written}. Take the variable out, or change the flag"
        )


def check_issued(settings: Settings) -> None:
    """Refuse a certificate of somebody else where there is no Secret to read it from. Raises BadConfiguration."""
    if not settings.issued_secret:
        return
    if settings.keeps_certificates_in_a_folder:
        raise BadConfiguration(
            "--webhook-issued-secret names a Secret, and certificates are kept in the folder --webhook-cert-dir here: "
            "leave it out, or add --webhook-certs-in-secret"
        )
    if settings.issued_secret == settings.secret_name:
        raise BadConfiguration(
            f"--webhook-issued-secret={settings.issued_secret} is the Secret of Moonshift's own certificates, which "
            "it would overwrite: have the certificate issued into another one"
        )


def check_metrics(settings: Settings) -> None:
    """Refuse protection of metrics that are not served. Raises BadConfiguration."""
    if settings.metrics_secure and settings.metrics_bind_address in ("", "0"):
        raise BadConfiguration(
            "--metrics-secure protects the metrics of --metrics-bind-address, and that is "
            f"{settings.metrics_bind_address or 'empty'}: nothing is served; give an address, or leave "
            "--metrics-secure out"
        )


def check_shards(settings: Settings) -> None:
    """Refuse shards without leader election, and together with objects that belong to no shard. Raises
    BadConfiguration.
    """
    if settings.shards == 1:
        return
    if not settings.leader_elect:
        raise BadConfiguration(
            f"--shards={settings.shards} divides the namespaces among processes by Leases, and --leader-elect is off: "
            "add --leader-elect, or leave --shards out"
        )
    if settings.allow_cluster_scoped:
        raise BadConfiguration(
            f"--shards={settings.shards} with --allow-cluster-scoped-gateways: an object without a namespace belongs "
            "to no shard, so two processes could write it; leave one of the two out"
        )


def own_namespace(flag: str | None) -> str:
    """The controller's own namespace: the flag, else POD_NAMESPACE, else the original's."""
    return flag or os.environ.get("POD_NAMESPACE") or names.DEFAULT_NAMESPACE


def parse_gates(text: str) -> frozenset[str]:
    """Gates that are switched on in `A=true,B=false`."""
    on: set[str] = set()
    for part in filter(None, (item.strip() for item in text.split(","))):
        name, equals, value = part.partition("=")
        if name not in GATES or not equals or value.lower() not in ("true", "false"):
            known = ", ".join(GATES)
            raise BadConfiguration(
                f"--feature-gates: {part!r} is not NAME=true|false with a NAME of {known}"
            )
        if value.lower() == "true":
            if name in _REFUSED:
                raise BadConfiguration(f"--feature-gates: {name}=true {_REFUSED[name]}")
            on.add(name)
    return frozenset(on)


def parse_tracked(text: str) -> frozenset[ConfigKind]:
    """Kinds of `--track-config`; Secrets alone are not allowed, because their right is only granted in addition."""
    match tuple(filter(None, (item.strip() for item in text.split(",")))):
        case ():
            return frozenset()
        case ("configmaps",):
            return frozenset({ConfigKind.CONFIG_MAP})
        case ("configmaps", "secrets"):
            return frozenset(ConfigKind)
        case _:
            raise BadConfiguration(
                f"--track-config: {text!r} is neither configmaps nor configmaps,secrets"
            )
