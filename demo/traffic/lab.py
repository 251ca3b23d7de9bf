"""A plane with a real gateway and Moonshift on it, in the network namespace of this process.

Invariant: the product runs with the rights of its manifests, its gateway rights included; every started process
ends with the block. It must not release anything.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.stage import ROOT, Product, product, served
from localcluster.history import Kind
from localcluster.plane import Plane
from localcluster.progress import Reporter
from localcluster.record import Recorder
from localcluster.traffic.gateway import Gateway, Shares, parts
from localcluster.traffic.vendors import GatewayOn

GATEWAY_RIGHTS = ROOT / "deploy" / "kustomize" / "gateways"
PODS = Kind("", "v1", "pods")
DEPLOYMENTS = Kind("apps", "v1", "deployments")
ROLLOUTS = Kind("rollouts.kruise.io", "v1beta1", "rollouts")
TRAFFIC_ROUTINGS = Kind("rollouts.kruise.io", "v1alpha1", "trafficroutings")
ROUTES = {
    "HTTPRoute": Kind("gateway.networking.k8s.io", "v1", "httproutes"),
    "HTTPProxy": Kind("projectcontour.io", "v1", "httpproxies"),
    "IngressRoute": Kind("traefik.io", "v1alpha1", "ingressroutes"),
    "TraefikService": Kind("traefik.io", "v1alpha1", "traefikservices"),
    "VirtualService": Kind("networking.istio.io", "v1", "virtualservices"),
    "DestinationRule": Kind("networking.istio.io", "v1", "destinationrules"),
}


@dataclass(frozen=True, slots=True)
class Lab:
    """The programs that a release is played with."""

    plane: Plane
    product: Product
    gateway: Gateway
    recorder: Recorder


@contextlib.asynccontextmanager
async def lab(
    folder: Path,
    gateway_on: GatewayOn,
    routes: Collection[str],
    reporter: Reporter,
    before_start: Callable[[Plane], Awaitable[None]] | None = None,
) -> AsyncIterator[Lab]:
    """Run all of it for the length of a block, for routes of the named kinds.

    `before_start` is called when Moonshift is installed, not started.
    """
    async with contextlib.AsyncExitStack() as stack:
        plane = await stack.enter_async_context(Plane.start(folder / "plane", reporter=reporter))
        gateway = gateway_on(plane)
        with reporter.phase("start the gateway and the pods' answers"):
            await gateway.start()
        with reporter.phase("install and start Moonshift"):
            await plane.kubectl("apply", "-k", str(GATEWAY_RIGHTS))
            moonshift = await stack.enter_async_context(
                product(plane, folder / "product", before_start=before_start)
            )
            kinds = (PODS, DEPLOYMENTS, ROLLOUTS, *(ROUTES[name] for name in sorted(routes)))
            await served(plane, kinds)
        recorder = await stack.enter_async_context(plane.recorder(*kinds))
        yield Lab(plane, moonshift, gateway, recorder)


def shares_of_route(route: dict[str, Any]) -> Shares:
    """Return the shares that an object with routes asks for."""
    spec = route["spec"]
    if "http" in spec:
        return frozenset(parts(_destinations(rule["route"])) for rule in spec["http"])
    rules = [rule["backendRefs"] for rule in spec.get("rules", ())]
    rules += [rule["services"] for rule in spec.get("routes", ())]
    if "weighted" in spec:
        rules.append(spec["weighted"]["services"])
    return frozenset(parts({b["name"]: b.get("weight", 1) for b in rule}) for rule in rules)


def _destinations(entries: list[dict[str, Any]]) -> dict[str, float]:
    """The parts of an Istio rule as Service or `Service/subset`; a single destination needs no weight."""
    found: dict[str, float] = {}
    for entry in entries:
        destination = entry["destination"]
        name = f"{destination['host']}/{destination.get('subset', '')}".rstrip("/")
        found[name] = found.get(name, 0) + entry.get("weight", 100 if len(entries) == 1 else 0)
    return found
