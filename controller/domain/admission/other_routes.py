"""Warnings about gateway objects that lead to a Service of the Rollout, and that the Rollout does not name.

Why: the author expects that a step's share counts for all requests of the Service. An Ingress of class nginx that is
not named is divided, too, because ingress-nginx ties a canary to the Service; any other object keeps all its requests
on the stable version. Invariant: pure; only objects of a kind that the Rollout names are compared, and none that
Moonshift made. A destination is found by its shape, so a text that is only equal to the Service's name does not count.
"""

from collections.abc import Iterator, Mapping, Sequence

from controller.api.jsontree import JsonObject, child, text
from controller.api.names import COMPANION
from controller.domain.admission.named import Named
from controller.domain.traffic.hosts import destinations_in, is_service
from controller.domain.traffic.plan.traffic_plan import DEFAULT_INGRESS_CLASS

SHOWN = 3
"""Objects in one warning: a Service may have hundreds of routes."""


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
    return tuple(found)


def _text(one: Named, names: list[str], namespace: str) -> str:
    shown = ", ".join(f"{namespace}/{name}" for name in names[:SHOWN])
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    many = len(names) > 1
    who, lead = ("they", "lead") if many else ("it", "leads")
    effect = (
        f"ingress-nginx divides {'their' if many else 'its'} requests, too"
        if one.class_type == DEFAULT_INGRESS_CLASS
        else f"all requests of {'theirs' if many else 'it'} stay on the stable version until the end of each release"
    )
    return (
        f"{one.path}: {one.kind} {shown}{more} {lead} to Service {one.service}, too, and this Rollout does not name "
        f"{'them' if many else 'it'}: {effect}; name {'them' if many else 'it'} here, too, if {who} should follow "
        "the steps"
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
