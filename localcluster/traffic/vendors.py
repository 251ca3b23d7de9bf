"""The gateways that real traffic is sent through, by vendor.

Why it exists: the same releases are played through each of them. Invariant: a vendor's programs are built or installed
when they are first asked for, and no others. It must not start anything.
"""

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import assert_never

from localcluster.plane import Plane
from localcluster.progress import Reporter
from localcluster.traffic.contour import ContourGateway, ensure_contour
from localcluster.traffic.gateway import Gateway
from localcluster.traffic.istio import IstioGateway, ensure_istio
from localcluster.traffic.traefik import TraefikGateway, ensure_traefik

GatewayOn = Callable[[Plane], Gateway]
"""Makes the gateway of a plane."""


class Vendor(Enum):
    """The maker of the gateway."""

    CONTOUR = "contour"
    TRAEFIK = "traefik"
    ISTIO = "istio"
    ISTIO_WEBHOOK = "istio_webhook"
    """Istio with the webhook that refuses what Istio's validation does not accept."""


async def ensure_gateway(vendor: Vendor, reporter: Reporter | None = None) -> GatewayOn:
    """Return the function that makes gateways of a vendor; the first call on a machine builds their programs."""
    match vendor:
        case Vendor.CONTOUR:
            return partial(ContourGateway, programs=await ensure_contour(reporter))
        case Vendor.TRAEFIK:
            return partial(TraefikGateway, program=await ensure_traefik(reporter))
        case Vendor.ISTIO | Vendor.ISTIO_WEBHOOK:
            guarded = vendor is Vendor.ISTIO_WEBHOOK
            return partial(IstioGateway, programs=await ensure_istio(reporter), webhook=guarded)
    assert_never(vendor)
