"""Warnings about gateway objects that lead to a Service of the Rollout, and that the Rollout does not name.

Why: the author expects that a step's share counts for all requests of the Service. An Ingress of class nginx that is
not named is divided, too, because ingress-nginx ties a canary to the Service; any other object keeps all its requests
on the stable version. If the owner has a canary Ingress for the same host and path, either that or the step's gets
nothing: ingress-nginx takes one. Invariant: pure; only objects of a kind that the Rollout names are compared, and none
that Moonshift made. A destination is found by its shape, so a text that is only equal to the Service's name does not
count.
"""

from collections.abc import Iterator, Mapping, Sequence

from controller.api.jsontree import JsonObject, child, items, text
from controller.api.names import COMPANION
from controller.domain.admission.named import Named
from controller.domain.traffic.hosts import destinations_in, is_service
from controller.domain.traffic.plan.traffic_plan import DEFAULT_INGRESS_CLASS

SHOWN = 3
"""Objects in one warning: a Service may have hundreds of routes."""
TIED_TO_SERVICE = DEFAULT_INGRESS_CLASS
"""ingress-nginx, and those that read its annotations."""
CANARY = "nginx.ingress.kubernetes.io/canary"
"""The annotation that makes an Ingress a canary, and the text by which a caller finds such Ingresses."""


def words_of_neighbours(one: Named) -> tuple[bytes, ...]:
    """Texts of which an object has one if it matters beside a gateway object."""
    service = one.service.encode()
    return (service, CANARY.encode()) if one.class_type == TIED_TO_SERVICE else (service,)


def other_routes(
    named: Sequence[Named], beside: Mapping[Named, Sequence[JsonObject]], namespace: str
) -> tuple[str, ...]:
    """One text for each named object beside which others lead to its Service."""
    own = {one.identity for one in named}
    found: list[str] = []
    told: set[tuple[str, str]] = set()
    for one in named:
        group, kind, _ = one.identity
        names = [
            text(other, "metadata", "name")
            for other in beside.get(one, ())
            if (group, kind, text(other, "metadata", "name")) not in own
            and COMPANION not in child(other, "metadata", "annotations")
            and _leads_to(other, one.service, namespace)
        ]
        if names and (kind, one.service) not in told:
            told.add((kind, one.service))
            found.append(_text(one, sorted(names), namespace))
    return (*found, *_rival_canaries(named, beside, namespace))


def _rival_canaries(
    named: Sequence[Named], beside: Mapping[Named, Sequence[JsonObject]], namespace: str
) -> Iterator[str]:
    """Canary Ingresses of the owner's for a host and path of a named Ingress of class nginx."""
    for one in named:
        if one.class_type != TIED_TO_SERVICE:
            continue
        others = {text(other, "metadata", "name"): other for other in beside.get(one, ())}
        divided = _places(others.get(one.name, {}), one.service)
        rivals = sorted(
            name for name, other in others.items() if _is_canary(other) and divided & _places(other)
        )
        if rivals:
            shown = ", ".join(f"{namespace}/{name}" for name in rivals[:SHOWN])
            yield (
                f"{one.path}: Ingress {shown} has the annotation {CANARY} for a host and path of Ingress "
                f"{namespace}/{one.name}: ingress-nginx takes one canary Ingress for each, so the step's canary "
                "Ingress, or this one, gets no requests; remove it before a release begins"
            )


def _is_canary(other: JsonObject) -> bool:
    annotations = child(other, "metadata", "annotations")
    return annotations.get(CANARY) == "true" and COMPANION not in annotations


def _places(ingress: JsonObject, service: str = "") -> frozenset[tuple[str, str]]:
    """Hosts and paths of an Ingress; with a Service only those that lead to it."""
    return frozenset(
        (text(rule, "host"), text(path, "path") or "/")
        for rule in items(child(ingress, "spec"), "rules")
        for path in items(child(rule, "http"), "paths")
        if service in ("", text(path, "backend", "service", "name"))
    )


def _text(one: Named, names: list[str], namespace: str) -> str:
    shown = ", ".join(f"{namespace}/{name}" for name in names[:SHOWN])
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    them, lead = ("them", "lead") if len(names) > 1 else ("it", "leads")
    return (
        f"{one.path}: {one.kind} {shown}{more} {lead} to Service {one.service}, too, and this Rollout does not name "
        f"{them}: {_effect(one, many=len(names) > 1)}"
    )


def _effect(one: Named, *, many: bool) -> str:
    """The share of the others, and the advice; ingress-nginx does not ask whether a Rollout names them."""
    them, they = ("them", "they") if many else ("it", "it")
    if one.class_type == TIED_TO_SERVICE:
        return (
            f"ingress-nginx divides {'their' if many else 'its'} requests, too; lead {them} to a Service of "
            f"{'their' if many else 'its'} own if {they} should not follow the steps"
        )
    return (
        f"all requests of {'theirs' if many else 'it'} stay on the stable version until the end of each release; "
        f"name {them} in trafficRoutings, too, if {they} should follow the steps"
    )


def _leads_to(other: JsonObject, service: str, namespace: str) -> bool:
    spec = child(other, "spec")
    hosts = (found.host for found in destinations_in(spec))
    return any(is_service(host, service, namespace) for host in (*hosts, *_backends(spec)))


def _backends(value: object) -> Iterator[str]:
    """The Services of an Ingress: `service.name` of a backend."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("backend", "defaultBackend") and isinstance(item, dict):
                yield text(item, "service", "name")
            yield from _backends(item)
    elif isinstance(value, list):
        for item in value:
            yield from _backends(item)
