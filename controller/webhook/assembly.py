"""The webhook endpoint, assembled from the settings: handlers, certificates, and the places where certificates are
kept.

Invariant: certificates are in a Secret of the controller's namespace; in a folder only for a controller outside
the cluster (a URL and a folder were given, and no word that replicas share them). Decides nothing else.
"""

from datetime import datetime
from pathlib import Path
from typing import Protocol

from controller.api.validation.rules import Rules
from controller.certificates.identity import Identity
from controller.certificates.keeper import CertificateKeeper, Places
from controller.certificates.publish import Address, Publisher
from controller.certificates.secret import SecretStore
from controller.certificates.worker_notice import WorkerNotice
from controller.domain.admission.checks import AskingHeaders
from controller.domain.traffic.plan.abilities import Headers
from controller.kube.client import KubeClient
from controller.runtime.clock import Clock
from controller.settings import Settings
from controller.webhook.admission import Admission
from controller.webhook.endpoint import Endpoint
from controller.webhook.impersonation import Impersonation
from controller.webhook.named_objects import Surroundings
from controller.webhook.readers import CachedReader
from controller.webhook.server import AdmissionMetrics, Leaving, webhook_app
from controller.webhook.stores import FolderSecrets, KubeConfigurations, KubeSecrets
from controller.webhook.worker_pods import KubeWorkerPods

DEFAULT_CERTIFICATES = Path("/tmp/kruise-rollout-webhook-certs")
"""Where the original keeps the files, too; manifests mount a volume there."""


class EndpointMetrics(AdmissionMetrics, Protocol):
    """Metrics of the endpoint: its answers and its certificate."""

    def certificate_loaded(self, not_after: datetime) -> None:
        """Until when it holds."""
        ...


def make_endpoint(
    settings: Settings,
    client: KubeClient,
    reader: CachedReader,
    clock: Clock,
    metrics: EndpointMetrics,
    headers: Headers,
    asking: AskingHeaders,
    named: Surroundings,
    leaving: Leaving,
) -> Endpoint:
    """Webhooks of this replica; admission reads through `reader` and `named`.

    `headers` and `asking` are those of the scripts.
    """
    identity = Identity(client.whoami)
    handlers = Admission(
        reader, reader, clock,
        is_own=identity.is_own, rules=_rules(settings), headers=headers, asking=asking, named=named,
        authors=Impersonation(client),
    ).handlers()  # fmt: skip
    address = Address(settings.namespace, settings.service_name, settings.webhook_url)
    folder = settings.webhook_cert_dir or DEFAULT_CERTIFICATES
    places = _places(settings, folder)
    secrets = _secrets(settings, client, folder)
    publisher = Publisher(KubeConfigurations(client), address, (*handlers, "/convert"), identity)
    notice = WorkerNotice(KubeWorkerPods(client, settings.namespace, places.worker_service))
    keeper = CertificateKeeper(secrets, publisher, address, places, clock, notice.call)
    authority = settings.webhook_client_ca
    app = webhook_app(handlers, metrics, authenticated=bool(authority), leaving=leaving)
    return Endpoint(
        app,
        port=settings.webhook_port,
        keeper=keeper,
        files=places.webhook_directory,
        client_authority=authority,
        loaded=metrics.certificate_loaded,
        beside=notice.run,
    )


def _secrets(settings: Settings, client: KubeClient, folder: Path) -> SecretStore:
    alone = settings.keeps_certificates_in_a_folder
    return FolderSecrets(folder) if alone else KubeSecrets(client, settings.namespace)


def _places(settings: Settings, folder: Path) -> Places:
    return Places(
        secret=settings.secret_name,
        webhook_directory=folder / "serving",
        worker_service=_service_of(settings.lua_worker),
        client_directory=settings.lua_worker_tls_dir,
        issued_secret=settings.issued_secret,
    )


def _rules(settings: Settings) -> Rules:
    return Rules(
        partition_percent_limit=settings.partition_percent_limit,
        filter_workload_type=settings.filter_workload_type,
        tracks_config=bool(settings.track_config),
    )


def _service_of(address: str) -> str:
    """Name of the worker's Service in `dns:///NAME:PORT`; empty for any other address."""
    target = address.removeprefix("dns:///")
    return target.rpartition(":")[0].partition(".")[0] if target != address else ""
