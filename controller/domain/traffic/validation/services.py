"""Rules about Services before a release, together with the gateway objects that use them.

Where no canary Service is made, a new pod is behind the Service from the moment it is ready, and receives all requests
to the Service as a whole. Only subsets prevent this, and they must exist before the first new pod. Istio kinds are
checked, on their original content; other kinds separate pods in their own ways.
Must not judge a later answer of a script: this is about the state before the first step.
"""

from collections.abc import Iterator

import msgspec

from controller.domain.decision import Refusal
from controller.domain.observation import RoutePresent, RouteSeen
from controller.domain.traffic.drift.object_state import read_object_state
from controller.domain.traffic.hosts import Destination, destinations_in, is_service
from controller.domain.traffic.original.content import strings_of
from controller.domain.traffic.tree import Tree

_ISTIO = "networking.istio.io"


class _Istio(msgspec.Struct, frozen=True):
    """An Istio object before the release."""

    subject: str
    namespace: str
    service: str
    spec: Tree


def _objects(routes: tuple[RouteSeen, ...], kind: str) -> Iterator[_Istio]:
    """Objects of one Istio kind that lead to a shared Service."""
    for route in routes:
        reference = route.reference
        if not reference.shared or (reference.group, reference.kind) != (_ISTIO, kind):
            continue
        if not isinstance(route.state, RoutePresent):
            continue
        found = read_object_state(bytes(route.state.raw), str(reference))
        if isinstance(found, Refusal):
            continue
        metadata = strings_of(found.live.get("metadata"))
        spec = found.original.get("spec")
        yield _Istio(
            subject=str(reference),
            namespace=metadata.get("namespace", ""),
            service=reference.stable_service,
            spec=spec if isinstance(spec, dict) else {},
        )


def _subset(rules: list[_Istio], destination: Destination) -> tuple[_Istio, dict[str, str]] | None:
    """The DestinationRule that defines the destination's subset, and the subset's labels."""
    for rule in rules:
        host, subsets = rule.spec.get("host"), rule.spec.get("subsets")
        if not isinstance(host, str) or not is_service(host, rule.service, rule.namespace):
            continue
        for subset in subsets if isinstance(subsets, list) else []:
            if isinstance(subset, dict) and subset.get("name") == destination.subset:
                return rule, strings_of(subset.get("labels"))
    return None


def _differing(one: dict[str, str], other: dict[str, str]) -> str:
    """Labels that a subset could use, in words."""
    keys = sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))
    if not keys:
        return "stable and new pods carry the same labels: give the new ones another by patchPodTemplateMetadata"
    return f"stable and new pods differ in {', '.join(keys)}"


def why_shared_service_mixes(
    routes: tuple[RouteSeen, ...],
    pod_labels_stable: dict[str, str],
    pod_labels_canary: dict[str, str],
) -> str | None:
    """Why new pods would get a share as soon as they are ready; None if they would not, or if only the gateway's own
    controller knows it.
    """
    rules = list(_objects(routes, "DestinationRule"))
    for route in _objects(routes, "VirtualService"):
        for destination in destinations_in(route.spec):
            if not is_service(destination.host, route.service, route.namespace):
                continue
            if not destination.subset:
                return (
                    f"{route.subject} sends requests to {destination} as a whole, new pods included: "
                    "name a subset of a DestinationRule that has stable pods only"
                )
            found = _subset(rules, destination)
            if found is None:
                return (
                    f"{route.subject} sends requests to {destination}, and no DestinationRule among the references "
                    "defines that subset"
                )
            rule, labels = found
            if all(pod_labels_canary.get(key) == value for key, value in labels.items()):
                return (
                    f"{route.subject} sends requests to {destination}, which {rule.subject} defines by labels that "
                    f"new pods carry too; {_differing(pod_labels_stable, pod_labels_canary)}"
                )
    return None
