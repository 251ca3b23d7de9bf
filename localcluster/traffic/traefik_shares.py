"""The shares that Traefik gives to the Services of a host, read from the configuration that Traefik reports.

Why it exists: a share may be measured only after the proxy has read it. Invariant: a share that the configuration does
not show is unknown, and never counts as the share of a route. It must do no I/O.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from localcluster.api import JsonObject
from localcluster.traffic.gateway import Shares, parts

UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The addresses of the pods of one Service.

    Routes of the Gateway API lead to those that are ready, IngressRoutes to those on their way out as well.
    """

    ready: frozenset[str]
    serving: frozenset[str]


def endpoints_of(slices: Sequence[JsonObject]) -> dict[str, Endpoints]:
    """Return the endpoints of each Service in EndpointSlices."""
    ready: dict[str, set[str]] = defaultdict(set)
    serving: dict[str, set[str]] = defaultdict(set)
    for one in slices:
        service = one["metadata"]["labels"]["kubernetes.io/service-name"]
        ready[service], serving[service] = ready[service], serving[service]
        for endpoint in one.get("endpoints") or ():
            conditions = endpoint["conditions"]
            if conditions.get("ready", True):
                ready[service].update(endpoint["addresses"])
            if conditions.get("serving", True):
                serving[service].update(endpoint["addresses"])
    return {name: Endpoints(frozenset(ready[name]), frozenset(serving[name])) for name in ready}


class Reading:
    """The configuration in force, as Traefik reports it, read with the endpoints of one namespace."""

    def __init__(
        self, configuration: JsonObject, namespace: str, endpoints: Mapping[str, Endpoints]
    ) -> None:
        self._routers: JsonObject = configuration.get("routers") or {}
        self._services: JsonObject = configuration.get("services") or {}
        self._spelled = re.compile(rf"{re.escape(namespace)}-(.+?)(-http)?-\d{{1,5}}@.*")
        self._endpoints = endpoints

    def shares(self, host: str) -> Shares:
        """Return the shares of a host; empty if the host is unknown, or if one of its routers has an error."""
        mine = {
            name: router
            for name, router in self._routers.items()
            if f'Host("{host}")' in router["rule"] or f"Host(`{host}`)" in router["rule"]
        }
        if any(router["status"] != "enabled" for router in mine.values()):
            return frozenset()
        return frozenset(
            parts(self._below(_full(router["service"], name))) for name, router in mine.items()
        )

    def _below(self, name: str) -> dict[str, float]:
        """Services of Kubernetes below a service of Traefik, with their weights."""
        balanced = self._services.get(name, {}).get("weighted")
        if balanced is None:
            return {self._service(name): 1}
        found: dict[str, float] = defaultdict(float)
        for entry in balanced["services"]:
            for service, part in parts(self._below(_full(entry["name"], name))):
                found[service] += part * entry.get("weight", 1)
        return found

    def _service(self, name: str) -> str:
        """Traefik names it namespace-service-port, unless it is alone in an IngressRoute; in both cases its pods
        identify it.
        """
        balancer = self._services.get(name, {}).get("loadBalancer") or {}
        servers = {urlsplit(server["url"]).hostname for server in balancer.get("servers") or ()}
        spelled = self._spelled.fullmatch(name)
        return next(
            (
                service
                for service, endpoints in sorted(self._endpoints.items())
                if endpoints.ready <= servers <= endpoints.serving
                and (spelled is None or spelled[1] == service)
            ),
            UNKNOWN,
        )


def _full(name: str, user: str) -> str:
    """A name without a provider belongs to the provider of the object that uses it."""
    return name if "@" in name else f"{name}@{user.rpartition('@')[2]}"
