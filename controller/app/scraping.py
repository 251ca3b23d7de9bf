"""Puts secure metrics together: the port, the guard, the certificate.

Invariant: without `--metrics-secure` none of them exists. The certificate is the webhooks' own, unless a folder is
given; it is replaced while the server runs.
"""

import asyncio
import ssl
from pathlib import Path

from controller.errors import BadConfiguration
from controller.kube.client import KubeClient
from controller.kube.guard import Guard
from controller.kube.reviews import ApiReviewer
from controller.runtime.clock import Clock
from controller.settings import Settings
from controller.telemetry.health import METRICS, MetricsPage
from controller.telemetry.secure import SecureMetrics
from controller.webhook.endpoint import Endpoint
from controller.webhook.tls import ServingTls


def secure_metrics(
    settings: Settings, client: KubeClient, page: MetricsPage, endpoint: Endpoint, clock: Clock
) -> SecureMetrics | None:
    """The port; None if metrics are open. Raises BadConfiguration."""
    if not settings.metrics_secure:
        return None
    certificate = ServedCertificate(settings.metrics_cert_dir, endpoint)
    guard = Guard(ApiReviewer(client.api), METRICS, clock.monotonic)
    return SecureMetrics(
        settings.metrics_bind_address,
        settings.health_probe_bind_address,
        page,
        guard,
        certificate,
    )


class ServedCertificate:
    """A TLS context, and the task that keeps its certificate the newest."""

    def __init__(self, given: Path | None, endpoint: Endpoint) -> None:
        self._given = given
        self._endpoint = endpoint
        self._tls: ServingTls | None = None

    async def context(self) -> ssl.SSLContext:
        """The context, once there is a certificate. Raises BadConfiguration if a given one cannot be loaded."""
        if self._given is None:
            await self._endpoint.certified.wait()
        folder = self._given or self._endpoint.files
        try:
            self._tls = await asyncio.to_thread(ServingTls, folder)
        except (OSError, ValueError) as problem:
            raise BadConfiguration(
                f"--metrics-secure: {folder} has no usable tls.crt and tls.key: {problem}"
            ) from problem
        return self._tls.context

    async def keep(self) -> None:
        """Load renewed certificates, for ever."""
        if self._tls is not None:
            await self._tls.run()
