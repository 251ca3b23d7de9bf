"""The objects that a Rollout names, each with the field that names it, in the author's spelling.

Invariant: an object that is named twice is listed once, at its first place. A gateway object is listed only if its
kind has a script for all namespaces, and a Secret never: nobody may learn through us whether an object exists that we
do not use, and a namespace's script may be for any kind.
"""

from collections.abc import Iterator

import msgspec

from controller.api.jsontree import JsonObject, child, items, text
from controller.api.names import TRAFFIC_ROUTING, V1ALPHA1
from controller.api.quantity import IntOrPercent, parse_share
from controller.api.rollout import (
    CanaryStrategy,
    Strategy,
    TrafficRoutingRef,
    WorkloadRef,
)
from controller.api.validation.workload import uses_extra_workload
from controller.api.workload_kinds import KNOWN_WORKLOADS
from controller.domain.admission.gate_arguments import gates_in
from controller.domain.admission.gateways import strategy_of
from controller.domain.traffic.plan.abilities import Headers
from controller.domain.traffic.plan.traffic_plan import references_of


class PacedStep(msgspec.Struct, frozen=True):
    """A step that asks for a part of the requests, and makes the workload's own pods new."""

    path: str
    replicas: IntOrPercent
    asked: str


class Named(msgspec.Struct, frozen=True):
    """An object, and the field that names it; of a workload also the steps that move its pods."""

    path: str
    api_version: str
    kind: str
    name: str
    paced: tuple[PacedStep, ...] = ()
    deadline: int | None = None
    """Of a workload: the `progressDeadlineSeconds` of the Rollout, for each of its steps."""
    service: str = ""
    """Of a gateway object: the stable Service whose requests it divides."""
    class_type: str = ""
    """Of an Ingress: its class."""

    @property
    def identity(self) -> tuple[str, str, str]:
        """Group, kind and name; the version is not compared."""
        group, slash, _ = self.api_version.partition("/")
        return (group if slash else "", self.kind, self.name)


SERVICE = ("v1", "Service")
CONFIG_MAP = ("v1", "ConfigMap")
SERVICE_ACCOUNT = ("v1", "ServiceAccount")
TRAFFIC_ROUTING_KIND = (V1ALPHA1, "TrafficRouting")
ANALYSIS_TEMPLATE = (V1ALPHA1, "AnalysisTemplate")
_SECRET = ("", "Secret")


def left_workload(old: JsonObject, new: JsonObject) -> Named | None:
    """The workload that the Rollout named before, if it names another one now."""
    before, now = (_workload(each) for each in (old, new))
    return None if before.identity == now.identity else before


def _workload(written: JsonObject) -> Named:
    path = workload_path(written)
    found = child(written, *path.split("."))
    return Named(path, text(found, "apiVersion"), text(found, "kind"), text(found, "name"))


def workload_path(written: JsonObject) -> str:
    """The field in which the author names the workload."""
    older = text(written, "apiVersion") == V1ALPHA1
    return "spec.objectRef.workloadRef" if older else "spec.workloadRef"


def named_in(
    written: JsonObject, beta: JsonObject, headers: Headers | None = None
) -> tuple[Named, ...]:
    """The objects that a sound Rollout names, the workload first; as its author wrote it, and as v1beta1."""
    strategy = strategy_of(beta)
    style = strategy.plan if strategy is not None else None
    if style is None:
        return ()
    found = []
    reference = msgspec.convert(child(beta, "spec", "workloadRef"), type=WorkloadRef)
    if (reference.group, reference.kind) in KNOWN_WORKLOADS:
        path = workload_path(written)
        paced = () if uses_extra_workload(child(beta, "spec")) else _paced(strategy)
        found.append(
            Named(
                path,
                reference.api_version,
                reference.kind,
                reference.name,
                paced,
                style.progress_deadline_seconds,
            )
        )
    plan = "canary" if child(beta, "spec", "strategy", "canary") else "blueGreen"
    found += _templates(beta)
    found += _shared_routing(written, style, plan)
    found += _of_routings(written, style, f"spec.strategy.{plan}.trafficRoutings", headers)
    first = {named.identity: named for named in reversed(found)}
    return tuple(named for named in found if first[named.identity] is named)


def named_in_routing(routing: JsonObject) -> tuple[Named, ...]:
    """The objects that a sound TrafficRouting names for its scripts."""
    entries = msgspec.json.decode(
        msgspec.json.encode(items(child(routing, "spec"), "objectRef")),
        type=tuple[TrafficRoutingRef, ...],
    )
    return tuple(
        named
        for index, entry in enumerate(entries)
        for named in own_script_objects(entry, f"spec.objectRef[{index}].customNetworkRefs")
    )


def _paced(strategy: Strategy | None) -> tuple[PacedStep, ...]:
    """The steps of partition style, in which new pods replace old ones."""
    style = strategy.canary if strategy is not None else None
    if style is None or not style.traffic_routings:
        return ()
    return tuple(
        PacedStep(
            f"spec.strategy.canary.steps[{index}]", step.replicas, step.traffic or "what matches"
        )
        for index, step in enumerate(style.steps)
        if step.replicas is not None and step.routes_traffic and parse_share(step.traffic) != 100
    )


def _templates(beta: JsonObject) -> Iterator[Named]:
    """The AnalysisTemplates of the namespace that gates name."""
    for path, analysis in gates_in(beta):
        for index, template in enumerate(map(child, items(analysis, "templates"))):
            if template.get("clusterScope") is not True:
                yield Named(
                    f"{path}.templates[{index}].name", *ANALYSIS_TEMPLATE, text(template, "name")
                )


def _shared_routing(written: JsonObject, style: CanaryStrategy, plan: str) -> Iterator[Named]:
    if text(written, "spec", "strategy", plan, "trafficRoutingRef"):
        yield Named(
            f"spec.strategy.{plan}.trafficRoutingRef",
            *TRAFFIC_ROUTING_KIND,
            style.traffic_routing_ref,
        )
    elif name := text(written, "metadata", "annotations", TRAFFIC_ROUTING):
        yield Named(f"metadata.annotations[{TRAFFIC_ROUTING}]", *TRAFFIC_ROUTING_KIND, name)


def _of_routings(
    written: JsonObject,
    style: CanaryStrategy,
    path: str,
    headers: Headers | None,
) -> Iterator[Named]:
    entries = items(child(written, "spec", "strategy", "canary"), "trafficRoutings")
    for index, entry in enumerate(style.traffic_routings):
        place = f"{path}[{index}]"
        yield Named(f"{place}.service", *SERVICE, entry.service)
        spelled = child(entries[index]) if index < len(entries) else {}
        custom = "networkRefs" if items(spelled, "networkRefs") else "customNetworkRefs"
        yield from own_script_objects(entry, f"{place}.{custom}")
        for field, part in _parts(entry, custom):
            for reference in references_of((part,), style.disable_generate_canary_service):
                secret = (reference.group, reference.kind) == _SECRET
                if reference.own_script is not None:
                    continue
                if headers is not None and headers(reference) is not None and not secret:
                    yield Named(
                        f"{place}.{field}",
                        reference.api_version,
                        reference.kind,
                        reference.name,
                        service=entry.service,
                        class_type=reference.class_type,
                    )


def own_script_objects(entry: TrafficRoutingRef, path: str) -> Iterator[Named]:
    """The ConfigMaps and ServiceAccounts that the references at `path` name for their scripts."""
    for index, reference in enumerate(entry.custom_network_refs):
        ref = reference.script_ref
        if ref is not None:
            place = f"{path}[{index}].scriptRef"
            yield Named(f"{place}.name", *CONFIG_MAP, ref.name)
            yield Named(f"{place}.serviceAccountName", *SERVICE_ACCOUNT, ref.service_account_name)


def _parts(entry: TrafficRoutingRef, custom: str) -> Iterator[tuple[str, TrafficRoutingRef]]:
    """The entry split into one part for each gateway object, with the field that names it."""
    bare = msgspec.structs.replace(entry, custom_network_refs=(), ingress=None, gateway=None)
    for index, reference in enumerate(entry.custom_network_refs):
        yield (
            f"{custom}[{index}]",
            msgspec.structs.replace(bare, custom_network_refs=(reference,)),
        )
    yield "ingress.name", msgspec.structs.replace(bare, ingress=entry.ingress)
    yield "gateway.httpRouteName", msgspec.structs.replace(bare, gateway=entry.gateway)
