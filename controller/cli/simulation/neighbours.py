"""Admission's warnings about objects among the manifests that stand beside those of the Rollout.

Invariant: the words are admission's own; an object that is in no file is no reason.
"""

from collections.abc import Sequence

import msgspec

from controller.api.decoding import decoded
from controller.api.jsontree import JsonObject, child
from controller.api.networking import Service
from controller.cli.simulation.manifests import find, text_of
from controller.domain.admission.named import Named
from controller.domain.admission.other_routes import other_routes
from controller.domain.admission.unauthenticated import unauthenticated
from controller.domain.traffic.tree import Tree


def about_neighbours(
    named: Sequence[Named], objects: list[Tree], namespace: str
) -> tuple[str, ...]:
    """The warnings about the Services of gateway objects, and about other objects that lead to them."""
    beside = {one: _of_kind(one, objects, namespace) for one in named if one.service}
    services = {
        one: service
        for one in named
        if one.kind == "Service" and (service := _service(one, objects, namespace)) is not None
    }
    return (
        *unauthenticated(named, services, namespace),
        *other_routes(named, beside, namespace),
    )


def _of_kind(one: Named, objects: list[Tree], namespace: str) -> tuple[JsonObject, ...]:
    group, kind, _ = one.identity
    return tuple(
        child(item)
        for item in objects
        if text_of(item, "apiVersion").rpartition("/")[0] == group
        and item.get("kind") == kind
        and text_of(item, "metadata", "namespace") in ("", namespace)
    )


def _service(one: Named, objects: list[Tree], namespace: str) -> Service | None:
    found = find(objects, one.api_version, one.kind, one.name, namespace)
    if found is None:
        return None
    try:
        return decoded(msgspec.json.encode(found), Service)
    except msgspec.ValidationError:
        return None
