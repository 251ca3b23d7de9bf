"""The subsets of a Service that a gateway object names.

Why: pods of one Service can be divided by labels (Istio's and Consul's subsets, Kuma's tags), and each part can belong
to another workload. A release that pins the Service to its own pods takes the other parts out of service.
Invariant: subsets are found by shape, whatever the kind: an object that names the Service, and beside it a subset or
tags. Must not decide which subset belongs to whom.
"""

from collections.abc import Iterator

from controller.domain.traffic.hosts import is_service
from controller.domain.traffic.tree import Json

_NAMES = ("host", "service", "name", "kuma.io/service")
"""Fields that name a Service: Istio's, Consul's, Kuma's two."""
_SUBSETS = ("subset", "serviceSubset")
_KUMA = "kuma.io/service"


def subsets_of(value: Json, service: str, namespace: str) -> tuple[str, ...]:
    """The different subsets of the Service in a tree, in order, as a person would write them."""
    return tuple(dict.fromkeys(_found(value, service, namespace)))


def _found(value: Json, service: str, namespace: str) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _found(item, service, namespace)
    elif isinstance(value, dict):
        if any(_is(value.get(field), service, namespace) for field in _NAMES):
            yield from _beside(value)
        for item in value.values():
            yield from _found(item, service, namespace)


def _is(name: Json, service: str, namespace: str) -> bool:
    return isinstance(name, str) and is_service(name, service, namespace)


def _beside(named: dict[str, Json]) -> Iterator[str]:
    for field in _SUBSETS:
        if isinstance(subset := named.get(field), str) and subset:
            yield subset
    tags = named if _KUMA in named else named.get("tags")
    if isinstance(tags, dict):
        words = [f"{key}={tag}" for key, tag in sorted(tags.items()) if key != _KUMA]
        if words:
            yield ",".join(words)
