"""The subsets of a Service that a gateway object names.

Why: pods of one Service can be divided by labels (Istio's and Consul's subsets, Kuma's tags), and each part can belong
to another workload. A release that pins the Service to its own pods takes the other parts out of service.
Invariant: subsets are found by shape, whatever the kind: an object that names the Service, and beside it a subset or
tags. Must not decide which subset belongs to whom.
"""

from collections.abc import Iterator

from controller.domain.traffic.hosts import is_service
from controller.domain.traffic.tree import Json

_NAMES = ("host", "service", "name")
_SUBSETS = ("subset", "serviceSubset")
_TAG = "/service"
"""The end of a tag that names a Service beside other tags, as Kuma's do."""


def subsets_of(value: Json, service: str, namespace: str) -> tuple[str, ...]:
    """The different subsets of the Service in a tree, in order, as a person would write them."""
    return tuple(dict.fromkeys(_found(value, service, namespace)))


def _found(value: Json, service: str, namespace: str) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _found(item, service, namespace)
    elif isinstance(value, dict):
        named = (item for field, item in value.items() if field in _NAMES or field.endswith(_TAG))
        if any(_is(name, service, namespace) for name in named):
            yield from _beside(value)
        for item in value.values():
            yield from _found(item, service, namespace)


def _is(name: Json, service: str, namespace: str) -> bool:
    return isinstance(name, str) and is_service(name, service, namespace)


def _beside(named: dict[str, Json]) -> Iterator[str]:
    for field in _SUBSETS:
        if isinstance(subset := named.get(field), str) and subset:
            yield subset
    are_tags = any(field.endswith(_TAG) for field in named)
    tags = named if are_tags else named.get("tags")
    if isinstance(tags, dict):
        words = [f"{key}={tag}" for key, tag in sorted(tags.items()) if not key.endswith(_TAG)]
        if words:
            yield ",".join(words)
