"""The content of all gateway objects of a Rollout during a step, as one value.

Every way to name a gateway (Ingress, HTTPRoute, any custom object) becomes a reference with two Services; a step
becomes a plan over all references. Several entries and several references per entry are all used.
Invariant: the plan's identity is a function of the scripts' input. Equal identities mean that nothing has to be
written, and a step has the same identity in every process.
Must not validate (admission does). A share that is no percentage stays None, and the effect refuses a plan without
share and matches; it never means 0 %.
"""

import msgspec

from controller.api import names
from controller.api.quantity import parse_share
from controller.api.rollout import NetworkRef, PatchMetadata, ScriptRef, Step, TrafficRoutingRef
from controller.api.workloads import safe_hash
from controller.domain.decision import OwnScript, PartialMatches, Reference, RoutePlan

HTTP_ROUTE_API = "gateway.networking.k8s.io/v1"
INGRESS_API = "networking.k8s.io/v1"
DEFAULT_INGRESS_CLASS = "nginx"


class ServicePair(msgspec.Struct, frozen=True):
    """A stable Service and the Service of the new revision; both are the same if they are shared on purpose."""

    stable: str
    canary: str


def canary_service_of(service: str, disable_generate: bool) -> str:
    """Name of the Service that leads to the new revision."""
    return service if disable_generate else service + names.CANARY_SUFFIX


def _params(params: dict[str, msgspec.Raw]) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(params, order="sorted"))


def _own_script(ref: ScriptRef | None, namespace: str) -> OwnScript | None:
    if ref is None:
        return None
    return OwnScript(namespace, ref.name, ref.service_account_name, ref.key)


def _of_custom(custom: NetworkRef, stable: str, canary: str, namespace: str) -> Reference:
    return Reference(
        api_version=custom.api_version,
        kind=custom.kind,
        name=custom.name,
        stable_service=stable,
        canary_service=canary,
        script=custom.script,
        params=_params(custom.params),
        own_script=_own_script(custom.script_ref, namespace),
    )


def _of_entry(entry: TrafficRoutingRef, canary: str, namespace: str) -> list[Reference]:
    """References of one entry: custom objects, then the Ingress, then the HTTPRoute (as the original)."""
    found = [
        _of_custom(custom, entry.service, canary, namespace) for custom in entry.custom_network_refs
    ]
    if (ingress := entry.ingress) is not None and ingress.name:
        found.append(
            Reference(
                api_version=INGRESS_API,
                kind="Ingress",
                name=ingress.name,
                stable_service=entry.service,
                canary_service=canary,
                class_type=ingress.class_type or DEFAULT_INGRESS_CLASS,
                script=ingress.script,
                params=_params(ingress.params),
            )
        )
    if (gateway := entry.gateway) is not None and gateway.http_route_name:
        found.append(
            Reference(
                api_version=HTTP_ROUTE_API,
                kind="HTTPRoute",
                name=gateway.http_route_name,
                stable_service=entry.service,
                canary_service=canary,
                script=gateway.script,
                params=_params(gateway.params),
            )
        )
    return found


def references_of(
    traffic_routings: tuple[TrafficRoutingRef, ...], disable_generate: bool, namespace: str = ""
) -> tuple[Reference, ...]:
    """All gateway objects with their two Services each; an identical second mention counts once.

    `namespace` is the namespace of its own scripts; without it none of them is found.
    """
    found = [
        reference
        for entry in traffic_routings
        for reference in _of_entry(
            entry, canary_service_of(entry.service, disable_generate), namespace
        )
    ]
    return tuple(item for at, item in enumerate(found) if item not in found[:at])


def services_of(
    traffic_routings: tuple[TrafficRoutingRef, ...], disable_generate: bool
) -> tuple[ServicePair, ...]:
    """The Services that receive traffic, each pair once."""
    pairs = (
        ServicePair(entry.service, canary_service_of(entry.service, disable_generate))
        for entry in traffic_routings
    )
    return tuple(dict.fromkeys(pairs))


def share_of(traffic: str | None) -> float | None:
    """The new revision's share in percent; None when absent or not a percentage from 0 to 100."""
    return parse_share(traffic)


def identified(plan: RoutePlan) -> RoutePlan:
    """The plan with its identity."""
    inputs = (
        plan.namespace,
        plan.rollout,
        plan.release,
        plan.references,
        plan.weight,
        plan.matches,
        plan.header_modifier,
        plan.pod_metadata,
        plan.announces,
        *((plan.left_out,) if plan.left_out else ()),
        *((plan.partial,) if plan.partial else ()),
    )
    return msgspec.structs.replace(
        plan, identity=safe_hash(msgspec.json.encode(inputs, order="sorted"), 16)
    )


def route_plan(
    *,
    namespace: str,
    rollout: str,
    release: str,
    references: tuple[Reference, ...],
    step: Step,
    pod_metadata: PatchMetadata | None = None,
    rollout_uid: str = "",
    left_out: tuple[Reference, ...] = (),
    partial: tuple[PartialMatches, ...] = (),
    others: tuple[Reference, ...] = (),
    stable_labels: dict[str, str] | None = None,
) -> RoutePlan:
    """The content of the gateway objects at `step`; references left out of the step lead to the stable revision."""
    return identified(
        RoutePlan(
            identity="",
            namespace=namespace,
            rollout=rollout,
            release=release,
            references=references,
            weight=share_of(step.traffic),
            matches=step.matches,
            header_modifier=step.request_header_modifier,
            pod_metadata=pod_metadata or PatchMetadata(),
            rollout_uid=rollout_uid,
            left_out=left_out,
            partial=partial,
            others=others,
            stable_labels=stable_labels,
        )
    )


def announcement(plan: RoutePlan) -> RoutePlan:
    """The plan that names the new revision's Services and sends nothing there."""
    return identified(
        msgspec.structs.replace(
            plan,
            weight=0.0,
            matches=(),
            header_modifier=None,
            left_out=(),
            partial=(),
            announces=True,
        )
    )


def all_to_new(plan: RoutePlan) -> RoutePlan:
    """The plan that sends all requests to the new revision, with the same changes of headers."""
    return identified(
        msgspec.structs.replace(plan, weight=100.0, matches=(), left_out=(), partial=())
    )
