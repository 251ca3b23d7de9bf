"""`python -m controller`: flags to settings, settings to the app.

Invariant: every flag of the original is accepted, so that its manifests keep working; those without a meaning here are
listed as such in the help.
"""

import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import Any

import click

from controller.app.process import run_controller
from controller.domain.shards import MOST
from controller.errors import BadConfiguration, MoonshiftError
from controller.settings import (
    Settings,
    check_environment,
    check_issued,
    check_metrics,
    check_shards,
    own_namespace,
    parse_gates,
    parse_tracked,
)
from controller.telemetry.logs import configure_logging
from controller.version import program_version

_log = logging.getLogger(__name__)

_WITHOUT_MEANING = (
    "batchrelease-workers",
    "rollouthistory-workers",
    "deployment-workers",
    "nativedaemonset-workers",
    "grace-timeout",
    "expectation-timeout",
    "vmodule",
    "logtostderr",
    "alsologtostderr",
    "stderrthreshold",
    "log_dir",
    "log_file",
    "log_file_max_size",
    "log_backtrace_at",
    "add_dir_header",
    "skip_headers",
    "skip_log_headers",
    "one_output",
    "disable-no-deepcopy",
)
_SWITCHES = {
    "logtostderr",
    "alsologtostderr",
    "add_dir_header",
    "skip_headers",
    "skip_log_headers",
    "one_output",
    "disable-no-deepcopy",
}


def _number_of_go(written: str) -> int:
    """A number that may follow a short flag's `=`: `-v=4`, as Go programs and their manifests write it."""
    number = written.removeprefix("=")
    try:
        return int(number)
    except ValueError as wrong:
        raise click.BadParameter(f"{number!r} is not a valid integer") from wrong


def _with_flags_of_the_original(command: click.Command) -> click.Command:
    for name in _WITHOUT_MEANING:
        option = click.Option([f"--{name}"], expose_value=False, hidden=True, default=None)
        if name in _SWITCHES:
            option = click.Option(
                [f"--{name}"], expose_value=False, hidden=True, is_flag=False, flag_value="true"
            )
        command.params.append(option)
    return command


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(program_version(), prog_name="moonshift controller")
@click.option(
    "--kubeconfig", help="Kubeconfig file; without it, KUBECONFIG or the service account."
)
@click.option("--context", help="Context of the kubeconfig.")
@click.option(
    "--lua-worker",
    default=Settings().lua_worker,
    show_default=True,
    help="The script worker: unix:///PATH or dns:///HOST:PORT.",
)
@click.option(
    "--lua-worker-tls-dir",
    type=click.Path(path_type=Path),
    help="Folder with ca.crt, tls.crt and tls.key for mutual TLS to the worker.",
)
@click.option(
    "--webhook-port",
    type=click.IntRange(0, 65535),
    envvar="WEBHOOK_PORT",
    default=9876,
    show_default=True,
)
@click.option(
    "--webhook-url", default="", help="https://HOST:PORT, for a controller outside the cluster."
)
@click.option(
    "--webhook-cert-dir",
    type=click.Path(path_type=Path),
    envvar="WEBHOOK_CERT_DIR",
    help="Folder the certificates are served from; with --webhook-url they are kept there, not in a Secret.",
)
@click.option(
    "--webhook-certs-in-secret",
    type=bool,
    is_flag=False,
    flag_value="true",
    default=False,
    help="Keep certificates in the Secret with --webhook-url, too: for replicas behind one address.",
)
@click.option(
    "--webhook-issued-secret",
    "issued_secret",
    default="",
    metavar="NAME",
    help="Serve the certificate that somebody else (cert-manager) issues into this Secret: tls.crt, tls.key, ca.crt.",
)
@click.option(
    "--webhook-client-ca",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Answer reviews only to clients with a certificate that this file's authority signed.",
)
@click.option(
    "--namespace", help="The controller's own namespace; else POD_NAMESPACE, else kruise-rollout."
)
@click.option("--watch-namespace", help="Serve only this namespace.")
@click.option("--metrics-bind-address", default=":8080", show_default=True)
@click.option(
    "--metrics-secure",
    type=bool,
    is_flag=False,
    flag_value="true",
    default=False,
    help="Serve the metrics over TLS, to accounts that may get the URL /metrics (TokenReview, SubjectAccessReview).",
)
@click.option(
    "--metrics-cert-dir",
    type=click.Path(path_type=Path),
    help="Folder with tls.crt and tls.key for --metrics-secure; else the webhooks' certificate.",
)
@click.option("--health-probe-bind-address", default=":8081", show_default=True)
@click.option(
    "--leader-elect",
    type=bool,
    is_flag=False,
    flag_value="true",
    default=False,
    help="Reconcile only while holding the Lease 71ddec2c.kruise.io.",
)
@click.option(
    "--shards",
    type=click.IntRange(1, MOST),
    default=Settings().shards,
    show_default=True,
    help="Divide the namespaces into this number of parts; each replica reconciles some of them. Needs --leader-elect.",
)
@click.option("--rollout-workers", type=click.IntRange(1), default=8, show_default=True)
@click.option("--trafficrouting-workers", type=click.IntRange(1), default=3, show_default=True)
@click.option(
    "--partition-percent-limit",
    type=click.IntRange(0, 100),
    default=50,
    show_default=True,
    help="Largest percentage of a partition step that routes traffic.",
)
@click.option(
    "--filter-workload-type",
    type=bool,
    is_flag=False,
    flag_value="true",
    default=False,
    show_default=True,
    help="Refuse Rollouts of kinds that are not known by name, whatever label their objects carry.",
)
@click.option("--kube-api-qps", type=float, default=200, show_default=True)
@click.option("--kube-api-burst", type=int, default=400, show_default=True)
@click.option(
    "--allow-cluster-scoped-gateways",
    "allow_cluster_scoped",
    type=bool,
    is_flag=False,
    flag_value="true",
    default=False,
    help="Let Rollouts refer to cluster-scoped gateway kinds.",
)
@click.option("--feature-gates", default="", help="A=true,B=false")
@click.option(
    "--rollout-history-limit",
    type=click.IntRange(1),
    default=Settings().rollout_history_limit,
    show_default=True,
    help="Records kept of a Rollout's releases, with the gate RolloutHistory.",
)
@click.option(
    "--otlp-endpoint",
    envvar="OTEL_EXPORTER_OTLP_ENDPOINT",
    default="",
    metavar="URL",
    help="Send a trace of each pass to this OpenTelemetry collector, http(s)://HOST:4317; needs the extra tracing.",
)
@click.option(
    "--shutdown-delay",
    type=click.FloatRange(0, 60),
    default=Settings().shutdown_delay,
    show_default=True,
    metavar="SECONDS",
    help="Keep answering webhooks for this time after a signal to stop, until API servers call another replica.",
)
@click.option(
    "--track-config",
    default="",
    help="configmaps, or configmaps,secrets: let Rollouts release changes of these objects that their pods read.",
)
@click.option(
    "--prometheus",
    default="",
    metavar="URL",
    help="The Prometheus for gates that name no address; this flag also allows its address.",
)
@click.option(
    "--analysis-allow",
    multiple=True,
    metavar="[NAMESPACE=]URL",
    help="An address http(s)://HOST[:PORT] that gates may ask (of this namespace); HOST may be *.example.com.",
)
@click.option(
    "--analysis-allow-post",
    multiple=True,
    metavar="[NAMESPACE=]URL",
    help="An address in the same form that gates may ask, and to which they may also send a POST.",
)
@click.option("--service-name", envvar="SERVICE_NAME", default=Settings().service_name, hidden=True)
@click.option("--secret-name", envvar="SECRET_NAME", default=Settings().secret_name, hidden=True)
@click.option("--identity", default="", help="Name of this replica in the Lease and in Events.")
@click.option(
    *("-v", "--v", "verbosity"),
    type=_number_of_go,
    default="0",
    metavar="NUMBER",
    help="Log more: 4 and above is debug.",
)
def main(namespace: str | None, feature_gates: str, track_config: str, **flags: Any) -> None:
    """Run Moonshift's controller."""
    configure_logging("debug" if flags["verbosity"] >= 4 else "info")
    try:
        check_environment(os.environ, flags["webhook_url"])
        settings = Settings(
            namespace=own_namespace(namespace),
            feature_gates=parse_gates(feature_gates),
            track_config=parse_tracked(track_config),
            **flags,
        )
        check_metrics(settings)
        check_issued(settings)
        check_shards(settings)
    except BadConfiguration as wrong:
        click.echo(f"moonshift: {wrong}", err=True)
        sys.exit(2)
    try:
        asyncio.run(run_controller(settings))
    except* MoonshiftError as failures:
        # The last line as well is one that a collector of logs can read.
        for failure in failures.exceptions:
            _log.error("ended", extra={"error": str(failure), "kind": type(failure).__name__})
        sys.exit(1)


if __name__ == "__main__":
    _with_flags_of_the_original(main)(prog_name="python -m controller")
