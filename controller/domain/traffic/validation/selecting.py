"""Services that can lead to one revision only: Services that find their pods by a selector.

Why: somebody else writes the EndpointSlices of a Service without a selector, and the endpoint controller would delete
them if we added one; an ExternalName has no endpoints at all. Invariant: checked before the first write on a Service,
and again before each pin, because a Service may be changed during a release.
"""

from collections.abc import Iterable

from controller.api.networking import Service
from controller.domain import reasons
from controller.domain.decision import Refusal

EXTERNAL = "ExternalName"


def selects_pods(service: Service, revision_labels: Iterable[str] = ()) -> bool:
    """The Service's owner wrote a selector; keys that we may have added do not count."""
    own = service.spec.selector.keys() - set(revision_labels)
    return bool(own) and service.spec.type != EXTERNAL


def unusable(service: Service, revision_labels: Iterable[str] = ()) -> Refusal | None:
    """Why a release cannot use this Service for traffic; None if it can."""
    if selects_pods(service, revision_labels):
        return None
    named = f"Service {service.metadata.key}"
    obstacle = (
        "is of type ExternalName, which has no endpoints"
        if service.spec.type == EXTERNAL
        else "has no selector, so its endpoints are written by somebody else"
    )
    return Refusal(
        reasons.SERVICE_WITHOUT_SELECTOR,
        f"{named} {obstacle}: it cannot lead to one revision only, and is left as it is. Name a Service that selects "
        "the workload's pods in trafficRoutings[].service",
        object=named,
    )


def warning_about(service: Service) -> str:
    """A warning about a Service for the author of a Rollout; empty if there is nothing to warn of."""
    refusal = unusable(service)
    if refusal is not None:
        return refusal.message
    if service.spec.headless:
        return (
            f"Service {service.metadata.key} is headless: clients keep the addresses of its pods as long as their DNS "
            "answer is good; make gracePeriodSeconds longer than that"
        )
    return ""
