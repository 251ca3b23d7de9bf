"""Rules of `trafficRoutings`: the gateway objects of a Rollout, each named once."""

from collections.abc import Iterator

from controller.api.jsontree import JsonObject, child, items, number, text
from controller.api.names import CANARY_SUFFIX, MAX_SERVICE_NAME
from controller.api.validation.findings import Fault, FieldError, Findings
from controller.api.validation.own_scripts import check_own_scripts
from controller.api.validation.workload import workload_group_kind

MAX_ENTRIES = 100
"""Far beyond any plan that a person follows; without a bound, judging a forged one takes minutes."""


def check_routings(plan: JsonObject, path: str) -> Findings:
    found: list[FieldError] = []
    entries = routing_entries(plan)
    named = sum(1 for _ in _objects_of(plan, path))
    if max(len(entries), named) > MAX_ENTRIES:
        detail = f"{max(len(entries), named)} entries; {MAX_ENTRIES} is the most"
        return (FieldError(f"{path}.trafficRoutings", Fault.INVALID, detail),)
    for index, entry in enumerate(entries):
        place = f"{path}.trafficRoutings[{index}]"
        found += _check_routing(entry, place)
        found += check_own_scripts(entry, place)
        found += () if shares_service(plan) else _check_canary_service(entry, place)
        if shares_service(plan) and entry.get("gateway") is not None:
            detail = (
                "an HTTPRoute distinguishes revisions by their Services, so it cannot lead traffic while "
                "disableGenerateCanaryService makes both share one"
            )
            found.append(FieldError(f"{place}.gateway", Fault.FORBIDDEN, detail))
    return tuple(found)


def _check_routing(entry: JsonObject, place: str) -> Findings:
    found: list[FieldError] = []
    grace = number(entry, "gracePeriodSeconds")
    if grace is not None and grace < 0:
        detail = f"{grace}: a wait cannot be negative"
        found.append(FieldError(f"{place}.gracePeriodSeconds", Fault.INVALID, detail))
    if not text(entry, "service"):
        found.append(FieldError(f"{place}.service", Fault.REQUIRED, "the stable Service"))
    ingress, gateway = entry.get("ingress"), entry.get("gateway")
    if ingress is None and gateway is None and entry.get("customNetworkRefs") is None:
        detail = "one of ingress, gateway and customNetworkRefs leads the traffic"
        found.append(FieldError(place, Fault.REQUIRED, detail))
    if ingress is not None and not text(entry, "ingress", "name"):
        found.append(FieldError(f"{place}.ingress.name", Fault.REQUIRED, "names the Ingress"))
    if gateway is not None and not text(entry, "gateway", "httpRouteName"):
        place = f"{place}.gateway.httpRouteName"
        found.append(FieldError(place, Fault.REQUIRED, "names the HTTPRoute"))
    return tuple(found)


def _check_canary_service(entry: JsonObject, place: str) -> Findings:
    """Reported before a release begins: the API server would refuse the copy after the first new pod."""
    name = text(entry, "service") + CANARY_SUFFIX
    if len(name) <= MAX_SERVICE_NAME:
        return ()
    detail = (
        f"the canary Service would be named {name}: {len(name)} characters, and {MAX_SERVICE_NAME} are the most; use "
        "a Service with a shorter name, or disableGenerateCanaryService"
    )
    return (FieldError(f"{place}.service", Fault.INVALID, detail),)


def check_listed_once(plan: JsonObject, path: str) -> Findings:
    """Two entries about one gateway object would each write it as if the other were not there."""
    seen: dict[tuple[str, str, str], str] = {}
    found: list[FieldError] = []
    for identity, place in _objects_of(plan, path):
        if identity in seen:
            detail = (
                f"{identity[1]} {identity[2]} is named by {seen[identity]} already; name it once"
            )
            found.append(FieldError(place, Fault.DUPLICATE, detail))
        seen.setdefault(identity, place)
    return tuple(found)


def _objects_of(plan: JsonObject, path: str) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Group, kind and name of every gateway object that is named, and where."""
    for index, entry in enumerate(routing_entries(plan)):
        place = f"{path}.trafficRoutings[{index}]"
        for at, reference in enumerate(map(child, items(entry, "customNetworkRefs"))):
            name = (*workload_group_kind(reference), text(reference, "name"))
            yield name, f"{place}.customNetworkRefs[{at}]"
        if ingress := text(entry, "ingress", "name"):
            yield ("networking.k8s.io", "Ingress", ingress), f"{place}.ingress.name"
        if route := text(entry, "gateway", "httpRouteName"):
            yield (
                ("gateway.networking.k8s.io", "HTTPRoute", route),
                f"{place}.gateway.httpRouteName",
            )


def routing_entries(plan: JsonObject) -> list[JsonObject]:
    return [child(entry) for entry in items(plan, "trafficRoutings")]


def shares_service(plan: JsonObject) -> bool:
    return plan.get("disableGenerateCanaryService") is True
