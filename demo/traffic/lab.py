"""A plane with a real gateway and Moonshift on it, in the network namespace of this process.

Invariant: the product runs with the rights of its manifests, its gateway rights included; every started process
ends with the block. It must not release anything.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.stage import ROOT, Product, product, served
from localcluster.history import Kind
from localcluster.plane import Plane
from localcluster.progress import Reporter
from localcluster.record import Recorder
from localcluster.traffic.gateway import Gateway, GatewayPrograms

GATEWAY_RIGHTS = ROOT / "deploy" / "kustomize" / "gateways"
PODS = Kind("", "v1", "pods")
DEPLOYMENTS = Kind("apps", "v1", "deployments")
ROLLOUTS = Kind("rollouts.kruise.io", "v1beta1", "rollouts")
ROUTES = {
    "HTTPRoute": Kind("gateway.networking.k8s.io", "v1", "httproutes"),
    "HTTPProxy": Kind("projectcontour.io", "v1", "httpproxies"),
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
    programs: GatewayPrograms,
    reporter: Reporter,
    before_start: Callable[[Plane], Awaitable[None]] | None = None,
) -> AsyncIterator[Lab]:
    """Run all of it for the length of a block; `before_start` is called when Moonshift is installed, not started."""
    async with contextlib.AsyncExitStack() as stack:
        plane = await stack.enter_async_context(Plane.start(folder / "plane", reporter=reporter))
        gateway = Gateway(plane, programs)
        with reporter.phase("start Contour, Envoy and the pods' answers"):
            await gateway.start()
        with reporter.phase("install and start Moonshift"):
            await plane.kubectl("apply", "-k", str(GATEWAY_RIGHTS))
            moonshift = await stack.enter_async_context(
                product(plane, folder / "product", before_start=before_start)
            )
            kinds = (PODS, DEPLOYMENTS, ROLLOUTS, *ROUTES.values())
            await served(plane, kinds)
        recorder = await stack.enter_async_context(plane.recorder(*kinds))
        yield Lab(plane, moonshift, gateway, recorder)


Shares = frozenset[tuple[tuple[str, float], ...]]
"""The rules of one host, each as backends with their parts; backends without a part are left out."""


def shares_of_route(route: dict[str, Any]) -> Shares:
    """Return what an HTTPRoute or HTTPProxy asks for."""
    spec = route["spec"]
    rules = [rule["backendRefs"] for rule in spec.get("rules", ())]
    rules += [rule["services"] for rule in spec.get("routes", ())]
    return frozenset(_parts({b["name"]: b.get("weight", 1) for b in rule}) for rule in rules)


def shares_in_envoy(configurations: list[dict[str, Any]], host: str) -> Shares:
    """Return what Envoy does for a host; empty where it does not know it."""
    actions = [
        route["route"]
        for configuration in configurations
        for virtual_host in configuration.get("virtual_hosts", ())
        if host in virtual_host["domains"]
        for route in virtual_host["routes"]
        if "route" in route
    ]
    return frozenset(_parts(_clusters(action)) for action in actions)


def _clusters(action: dict[str, Any]) -> dict[str, int]:
    """Contour names a cluster namespace/service/port/hash."""
    if "cluster" in action:
        return {action["cluster"].split("/")[1]: 1}
    clusters = action["weighted_clusters"]["clusters"]
    return {entry["name"].split("/")[1]: entry["weight"] for entry in clusters}


def _parts(weights: dict[str, int]) -> tuple[tuple[str, float], ...]:
    whole = sum(weights.values()) or 1
    return tuple(sorted((name, weight / whole) for name, weight in weights.items() if weight))
