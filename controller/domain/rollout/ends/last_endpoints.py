"""The last endpoint of a stable Service: a release ends only with a ready pod behind every Service that routes name.

Why: the Service may select a label that the new template, or the stable one, does not have. Endpoints of the canary
Service are checked at every step; the last pod of the stable Service left with the last old pod, or with the last new
one of a rollback, and every request failed, while the Rollout was Healthy. Invariant: before the last pods that a
Service selects are removed, and again before the release is over, the Service must select pods that stay. A Service
that had no ready endpoint when the release began holds no end. While routes lead requests elsewhere, no Service that
the end would send them to is missing: a route to a Service that does not exist answers no request. Must not change a
Service: its selector is its owner's.
"""

from collections.abc import Iterable, Mapping

from controller.api.networking import Service
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Pod
from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.rollout.moving.given_up import given_up_pods, keeps_old_pods
from controller.domain.rollout.routes.empty_sides import (
    all_pods,
    own_selector,
    selector_in_words,
    selects_any,
)
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop
from controller.domain.traffic.validation.selecting import selects_pods

GIVEN_TO_PODS = ("pod-template-hash", "controller-revision-hash", "pod-template-generation")
"""Labels that a workload's controller adds to its pods."""
GIVEN_BY = ("kubernetes.io/", "kruise.io/", "istio.io/")
"""Parts of the names of other labels that controllers and webhooks add to pods."""


def services_without_endpoints(release: Release) -> tuple[str, ...]:
    """The stable Services that have no ready endpoint now."""
    return tuple(name for name in release.stable_services if not release.ready_endpoints(name))


def missing_behind_routes(release: Release) -> Refusal | None:
    """A Service that does not exist, and that would get the requests that routes now lead to ready pods.

    A shared TrafficRouting leads to no pods but those behind its Service, so it keeps no request from a missing one.
    """
    if release.seen.workload is None or not release.replicas or not release.routes_lead:
        return None
    missing = (name for name in release.stable_services if release.service(name) is None)
    return next((_missing(release, name) for name in missing), None)


def selects_none_of_the_template(release: Release) -> Refusal | None:
    """A Service that would lose its last pod when all pods are of the workload's template."""
    for service in _services_to_keep(release):
        own = own_selector(release, service.metadata.name)
        if own.items() <= release.workload.template_labels.items():
            continue
        if not _selects_what_stays(release, own):
            returns = release.template_hash == release.ours.stable_template
            return _refusal(release, service, "stable" if returns else "new")
    return None


def selects_no_stable_pod(release: Release) -> Refusal | None:
    """A Service that would lose its last pod when only stable pods are left, and some of them are ready."""
    pods = _ready(release.pods_of(release.ours.stable_revision))
    for service in _services_to_keep(release):
        if pods and not selects_any(own_selector(release, service.metadata.name), pods):
            return _refusal(release, service, "stable")
    return None


def endpoints_are_missing(release: Release) -> Stop | None:
    """Wait until every stable Service exists and has a ready endpoint."""
    for name in _own_services_to_keep(release):
        if release.service(name) is None:
            return release.stop(problem=_missing(release, name))
    for service in _services_to_keep(release):
        if not release.ready_endpoints(service.metadata.name):
            return release.stop(problem=selects_none_of_the_template(release))
    return None


def _services_to_keep(release: Release) -> list[Service]:
    """The Services that exist and that an end must not leave without an endpoint."""
    return [
        found
        for name in (*_own_services_to_keep(release), *_shared_services(release))
        if (found := release.service(name)) is not None
        and selects_pods(found, (release.revision_label,))
    ]


def _own_services_to_keep(release: Release) -> list[str]:
    """The stable Services that had an endpoint when the release began; none of a workload without replicas."""
    if release.seen.workload is None or not release.replicas:
        return []
    empty = release.ours.services_empty_before
    own = (name for name in release.stable_services if not release.is_pinned_by_another(name))
    return [name for name in own if name not in empty]


def _shared_services(release: Release) -> list[str]:
    """Services of the TrafficRouting that this Rollout shares, behind which no pods are ready but its own."""
    if release.seen.workload is None or not release.replicas:
        return []
    routing = release.seen.traffic_routing
    ours = {pod.metadata.uid for pod in all_pods(release)}
    named = [entry.service for entry in routing.spec.object_ref] if routing is not None else []
    behind = ((name, release.ready_endpoints(name)) for name in dict.fromkeys(named))
    return [name for name, ready in behind if ready and ready <= ours]


def _ready(pods: Iterable[Pod]) -> list[Pod]:
    return [pod for pod in pods if pod.ready_since is not None and not pod.metadata.deleting]


def _selects_what_stays(release: Release, own: Mapping[str, str]) -> bool:
    pods = _ready((*release.promoted_pods, *release.new_pods))
    selects = selects_any(own, pods) if pods else _may_select_the_template(release, own)
    return selects or _selects_pods_that_their_owner_keeps(release, own)


def _may_select_the_template(release: Release, own: Mapping[str, str]) -> bool:
    """No pod of the template is ready yet: its labels are compared, without those that controllers add to pods."""
    labels = release.workload.template_labels
    return all(labels.get(key) == value or _is_added(key) for key, value in own.items())


def _is_added(label: str) -> bool:
    return label in GIVEN_TO_PODS or any(part in label for part in GIVEN_BY)


def _selects_pods_that_their_owner_keeps(release: Release, own: Mapping[str, str]) -> bool:
    """A partition of the owner, or OnDelete, keeps pods of an older revision, and the Service selects one of them."""
    if release.workload.kind is WorkloadKind.DEPLOYMENT or not keeps_old_pods(release):
        return False
    given_up = given_up_pods(release)
    return selects_any(own, _ready(p for p in release.workload.pods if p not in given_up))


def _refusal(release: Release, service: Service, which: str) -> Refusal:
    named = f"Service {service.metadata.key}"
    words = selector_in_words(own_selector(release, service.metadata.name))
    text = (
        f"{named}: its selector {words} matches none of the {which} pods, and the end of the release would leave it "
        "without a ready pod: correct its selector"
    )
    return Refusal(reasons.SERVICE_SELECTS_NO_POD, text, object=named)


def _missing(release: Release, name: str) -> Refusal:
    named = f"Service {release.namespace}/{name}"
    text = f"{named} does not exist, and the end of the release would lead all requests to it: create it again"
    return Refusal(reasons.SERVICE_NOT_FOUND, text, object=named)
