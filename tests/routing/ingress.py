"""Ingresses as all gateways read them: hosts, paths, where they lead, and annotations.

Invariant: only what Kubernetes itself defines is here (networking/v1: path types Exact and Prefix, by parts); which of
several paths wins is each vendor's.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tests.routing.model import Request, Shares, Tree, below

Gateway = Callable[[Sequence[Tree], Request], Shares]
"""All Ingresses of a gateway, the owner's and those beside it, and a request."""


@dataclass(frozen=True)
class Place:
    """One path of one rule of an Ingress; a host of "" is every host."""

    host: str
    path: str
    exact: bool
    service: str
    port: str
    ingress: Tree

    def fits(self, request: Request) -> bool:
        """The host, and the path by its type."""
        if self.host not in ("", request.host):
            return False
        return request.path == self.path if self.exact else below(self.path, request.path)

    @property
    def by_path(self) -> tuple[bool, int]:
        """Exact before prefix, longer before shorter."""
        return self.exact, len(self.path.rstrip("/"))


def places(ingresses: Iterable[Tree]) -> Iterator[Place]:
    """Every path, in the order in which it is listed."""
    for ingress in ingresses:
        for rule in ingress["spec"].get("rules", ()):
            for path in rule["http"]["paths"]:
                service = path["backend"]["service"]
                port = str(service["port"].get("name") or service["port"]["number"])
                exact = path["pathType"] == "Exact"
                host = rule.get("host", "")
                yield Place(host, path["path"], exact, service["name"], port, ingress)


def annotations_of(ingress: Tree, prefix: str) -> dict[str, str]:
    """The annotations under a prefix, without it."""
    found = ingress["metadata"].get("annotations", {})
    return {k.removeprefix(prefix): v for k, v in found.items() if k.startswith(prefix)}


def own_host(found: Sequence[Place], request: Request) -> list[Place]:
    """The places of the request's host where it has any, else those of every host."""
    named = [place for place in found if place.host == request.host]
    return named or [place for place in found if not place.host]
