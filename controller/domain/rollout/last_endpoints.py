"""The last endpoint of a stable Service: a release ends only with a ready pod behind every Service that routes name.

Why: the Service may select a label that the new template, or the stable one, does not have. Endpoints of the canary
Service are checked at every step; the last pod of the stable Service left with the last old pod, or with the last new
one of a rollback, and every request failed, while the Rollout was Healthy. Invariant: before the last pods that a
Service selects are removed, and again before the release is over, the Service must select pods that stay. A Service
that had no ready endpoint when the release began holds no end. Must not change a Service: its selector is its owner's.
"""

from collections.abc import Iterable, Mapping

from controller.api.networking import Service
from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Pod
from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.rollout.empty_sides import own_selector, selector_in_words, selects_any
from controller.domain.rollout.moving.given_up import given_up_pods, keeps_old_pods
from controller.domain.rollout.release_context import ReleaseContext, moonshift_status
from controller.domain.rollout.transition import Stop
from controller.domain.traffic.validation.selecting import selects_pods

GIVEN_TO_PODS = ("pod-template-hash", "controller-revision-hash", "pod-template-generation")
"""Labels that a workload's controller adds to its pods."""
GIVEN_BY = ("kubernetes.io/", "kruise.io/", "istio.io/")
"""Parts of the names of other labels that controllers and webhooks add to pods."""


def services_without_endpoints(context: ReleaseContext) -> tuple[str, ...]:
    """The stable Services that have no ready endpoint now."""
    return tuple(name for name in context.stable_services if not context.ready_endpoints(name))


def selects_none_of_the_template(context: ReleaseContext, status: RolloutStatus) -> Refusal | None:
    """A Service that would lose its last pod when all pods are of the workload's template."""
    for service in _services_to_keep(context, status):
        own = own_selector(context, service.metadata.name)
        if own.items() <= context.workload.template_labels.items():
            continue
        if not _selects_what_stays(context, own):
            returns = context.template_hash == moonshift_status(status).stable_template
            return _refusal(context, service, "stable" if returns else "new")
    return None


def selects_no_stable_pod(context: ReleaseContext, status: RolloutStatus) -> Refusal | None:
    """A Service that would lose its last pod when only stable pods are left, and some of them are ready."""
    pods = _ready(context.pods_of(moonshift_status(status).stable_revision))
    for service in _services_to_keep(context, status):
        if pods and not selects_any(own_selector(context, service.metadata.name), pods):
            return _refusal(context, service, "stable")
    return None


def endpoints_are_missing(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Wait until every stable Service has a ready endpoint."""
    for service in _services_to_keep(context, status):
        if not context.ready_endpoints(service.metadata.name):
            return Stop(status, problem=selects_none_of_the_template(context, status))
    return None


def _services_to_keep(context: ReleaseContext, status: RolloutStatus) -> list[Service]:
    """The stable Services that an end must not leave without an endpoint; none of a workload without replicas."""
    if context.seen.workload is None or not context.replicas:
        return []
    empty = moonshift_status(status).services_empty_before
    own = (name for name in context.stable_services if not context.is_pinned_by_another(name))
    return [
        found
        for name in (*own, *_shared_services(context))
        if name not in empty
        and (found := context.service(name)) is not None
        and selects_pods(found, (context.revision_label,))
    ]


def _shared_services(context: ReleaseContext) -> list[str]:
    """Services of the TrafficRouting that this Rollout shares, behind which no pods are ready but its own."""
    routing = context.seen.traffic_routing
    pods = [*context.workload.pods, *(pod for extra in context.seen.canaries for pod in extra.pods)]
    ours = {pod.metadata.uid for pod in pods}
    named = [entry.service for entry in routing.spec.object_ref] if routing is not None else []
    behind = ((name, context.ready_endpoints(name)) for name in dict.fromkeys(named))
    return [name for name, ready in behind if ready and ready <= ours]


def _ready(pods: Iterable[Pod]) -> list[Pod]:
    return [pod for pod in pods if pod.ready_since is not None and not pod.metadata.deleting]


def _selects_what_stays(context: ReleaseContext, own: Mapping[str, str]) -> bool:
    pods = _ready((*context.promoted_pods, *context.new_pods))
    selects = selects_any(own, pods) if pods else _may_select_the_template(context, own)
    return selects or _selects_pods_that_their_owner_keeps(context, own)


def _may_select_the_template(context: ReleaseContext, own: Mapping[str, str]) -> bool:
    """No pod of the template is ready yet: its labels are compared, without those that controllers add to pods."""
    labels = context.workload.template_labels
    return all(labels.get(key) == value or _is_added(key) for key, value in own.items())


def _is_added(label: str) -> bool:
    return label in GIVEN_TO_PODS or any(part in label for part in GIVEN_BY)


def _selects_pods_that_their_owner_keeps(context: ReleaseContext, own: Mapping[str, str]) -> bool:
    """A partition of the owner, or OnDelete, keeps pods of an older revision, and the Service selects one of them."""
    if context.workload.kind is WorkloadKind.DEPLOYMENT or not keeps_old_pods(context):
        return False
    given_up = given_up_pods(context, context.seen.rollout.status)
    return selects_any(own, _ready(p for p in context.workload.pods if p not in given_up))


def _refusal(context: ReleaseContext, service: Service, which: str) -> Refusal:
    named = f"Service {service.metadata.key}"
    words = selector_in_words(own_selector(context, service.metadata.name))
    text = (
        f"{named}: its selector {words} matches none of the {which} pods, and the end of the release would leave it "
        "without a ready pod: correct its selector"
    )
    return Refusal(reasons.SERVICE_SELECTS_NO_POD, text, object=named)
