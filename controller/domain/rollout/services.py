"""The Services of a release: the pin of each stable Service, and the canary Services beside them.

Why: while a release routes traffic, the stable Service selects the stable revision only, and a copy of it, the canary
Service, selects the new one. Invariant: a Service loses no pods and is not deleted while a route may still lead to
it; `routing` keeps the instants of routes. Must not plan or move routes.
"""

from collections.abc import Iterable

from controller.api import names
from controller.api.meta import Key
from controller.api.networking import Service
from controller.api.rollout import RolloutStatus
from controller.api.workloads import Pod
from controller.domain import reasons
from controller.domain.decision import (
    Action,
    DeleteCanaryService,
    EnsureCanaryService,
    PinService,
    Refusal,
    UnpinService,
)
from controller.domain.rollout import routing
from controller.domain.rollout.empty_sides import led_away, own_selector, selects_any
from controller.domain.rollout.release_context import ReleaseContext, Style, moonshift_status
from controller.domain.rollout.status import with_moonshift_status
from controller.domain.rollout.transition import Stop, wait_by_choice
from controller.domain.rollout.way_out import create_or
from controller.domain.traffic.validation.selecting import selects_pods, unusable

NOT_YET_KNOWN = "rehearsed"
"""Stands for the name of a revision in the manifest of a canary Service that is not created yet."""


def pin_is_wanted(context: ReleaseContext, index: int) -> bool:
    """The stable Service selects the stable revision only.

    From the first step of a release that routes traffic in this or a later step (the original pins at step 1 only,
    B19), but not at a step without traffic after steps with it, and not where a partition step replaces all pods: a
    pinned Service would select nothing.
    """
    return (
        bool(context.strategy.traffic_routings)
        and not context.shared
        and routing.routes_from(context, index)
        and not context.takes_all(index)
        and not routing.follows_pods(context, index)
    )


def pinned_to(context: ReleaseContext, service: str) -> str:
    """Revision a Service is pinned to, or an empty string."""
    found = context.service(service)
    return found.spec.selector.get(context.revision_label, "") if found is not None else ""


def made_for(service: Service, rollout_uid: str) -> bool:
    """The canary Service was made for this Rollout.

    An annotation says so; earlier versions used a label. The original controller owns it by an ownerReference.
    """
    meta = service.metadata
    owners = (meta.annotations.get(names.ROLLOUT_UID), meta.labels.get(names.ROLLOUT_UID))
    return rollout_uid in owners or any(owner.uid == rollout_uid for owner in meta.owner_references)


def unusable_services(context: ReleaseContext, status: RolloutStatus) -> Refusal | None:
    """A stable Service that does not exist, or cannot select one revision only."""
    for name in context.stable_services:
        found = context.service(name)
        if found is not None:
            refusal = unusable(found, (context.revision_label,)) or _in_use(context, name)
            if refusal is not None:
                return refusal
        else:
            return Refusal(
                reason=reasons.SERVICE_NOT_FOUND,
                message=f"Service {context.namespace}/{name} does not exist: "
                + create_or("trafficRoutings[].service", status),
                object=f"Service {context.namespace}/{name}",
            )
    return None


def _in_use(context: ReleaseContext, stable: str) -> Refusal | None:
    """Two releases would pin one Service in turn, each to its own revision."""
    if not context.is_pinned_by_another(stable):
        return None
    return in_use(Key(context.namespace, stable), context.canary_service_of(stable))


def in_use(stable: Key, canary: str) -> Refusal:
    """The refusal to use a Service that the release of another Rollout uses."""
    subject = f"Service {stable}"
    return Refusal(
        reason=reasons.SERVICE_IN_USE,
        message=f"{subject} is in use by the release of another Rollout, which made {canary}: wait until that release "
        "ends. Give each workload a Service of its own: a release sends the requests of its Service to its own pods",
        object=subject,
    )


def pin(context: ReleaseContext, status: RolloutStatus, index: int) -> tuple[Action, ...]:
    """Stable Services that have to be pinned, or un-pinned, for this step.

    A Service without stable pods is not pinned: it selects all revisions until they return. A Service that is pinned to
    pods that no step removed is left to `empty_side_routes`, which reports it.
    """
    if pin_is_wanted(context, index):
        return pinned(context, status)
    return unpin(context) if pin_is_over(context, index) else ()


def pin_is_over(context: ReleaseContext, index: int) -> bool:
    """The plan has an earlier step that pins, and nothing is pinned at this one."""
    unrouted = not routing.routes_from(context, index) or routing.follows_pods(context, index)
    return unrouted or context.leaves_none(index)


def pinned(context: ReleaseContext, status: RolloutStatus) -> tuple[Action, ...]:
    """Stable Services that do not select the stable revision only, and could."""
    revision = moonshift_status(status).stable_revision
    return tuple(
        PinService(
            found.metadata.key, found.metadata.resource_version, context.revision_label, revision
        )
        for name in context.stable_services
        if (found := context.service(name)) is not None
        and selects_pods(found, (context.revision_label,))
        and pinned_to(context, name) != revision
        and not led_away(status, name)
        and not context.is_pinned_by_another(name)
    )


def unpin(context: ReleaseContext) -> tuple[UnpinService, ...]:
    """Stable Services that we pinned and that should select every pod of their owner's selector."""
    return tuple(
        UnpinService(found.metadata.key, found.metadata.resource_version, context.revision_label)
        for name in context.stable_services
        if (found := context.service(name)) is not None
        and names.PINNED in found.metadata.labels
        and not context.is_pinned_by_another(name)
    )


def stable_services_miss_new_pods(context: ReleaseContext) -> bool:
    """Un-pinned, but the slices do not contain the new pods yet."""
    if context.shared:
        return False
    return any(_does_not_lead_to_new_pods(context, name) for name in context.stable_services)


def _does_not_lead_to_new_pods(context: ReleaseContext, name: str) -> bool:
    """The Service's owner selects new pods that are ready, but none is among its endpoints yet."""
    wanted = _selected_and_ready(context, name, context.new_pods)
    return bool(wanted) and not wanted & context.ready_endpoints(name)


def stable_services_lead_to_leaving_pods(context: ReleaseContext) -> bool:
    """Pods that are being deleted are still endpoints: their workload no longer counts them, and the slices follow a
    moment later.
    """
    leaving = {pod.metadata.uid for pod in context.workload.pods if pod.metadata.deleting}
    return any(leaving & context.ready_endpoints(name) for name in context.stable_services)


def not_yet_endpoints(context: ReleaseContext, pods: Iterable[Pod]) -> int:
    """How many of these pods are ready and selected by a stable Service, and are not among its endpoints yet."""
    if context.shared:
        return 0
    missing = (
        _selected_and_ready(context, name, pods) - context.ready_endpoints(name)
        for name in context.stable_services
    )
    return max(map(len, missing), default=0)


def _selected_and_ready(context: ReleaseContext, name: str, pods: Iterable[Pod]) -> frozenset[str]:
    """UIDs of the ready pods that a Service selects; none if the Service is gone."""
    service = context.service(name)
    if service is None:
        return frozenset()
    return frozenset(
        pod.metadata.uid
        for pod in pods
        if pod.ready_since is not None
        and service.spec.selector.items() <= pod.metadata.labels.items()
    )


def widened_canary_services(context: ReleaseContext) -> tuple[Action, ...]:
    """Canary Services that should select every revision, because the pods of the new one are about to be removed."""
    return tuple(
        UnpinService(found.metadata.key, found.metadata.resource_version, context.revision_label)
        for found in _own_canary_services(context)
        if context.revision_label in found.spec.selector
    )


def canary_services_miss_stable_pods(context: ReleaseContext, revision: str) -> bool:
    """The slices of a canary Service do not contain pods of this revision yet."""
    ready = {pod.metadata.uid for pod in context.pods_of(revision) if pod.ready_since is not None}
    return bool(ready) and any(
        not ready & context.ready_endpoints(found.metadata.name)
        for found in _own_canary_services(context)
    )


def _own_canary_services(context: ReleaseContext) -> tuple[Service, ...]:
    if context.shared:
        return ()
    uid = context.seen.rollout.metadata.uid
    return tuple(
        found
        for stable in context.stable_services
        if (found := context.service(context.canary_service_of(stable))) is not None
        and made_for(found, uid)
    )


def canary_services(context: ReleaseContext) -> tuple[Action, ...]:
    """Canary Services that are missing, select another revision, or have not the ports of the stable one.

    No copy of a Service that lost its selector: the copy would select pods of any workload.
    """
    return _copies(context, context.new_revision)


def foreseen_canary_services(context: ReleaseContext) -> tuple[EnsureCanaryService, ...]:
    """The canary Services that the release will create, before the name of its revision is known."""
    if not context.strategy.traffic_routings:
        return ()
    copies = _copies(context, context.new_revision or NOT_YET_KNOWN)
    return tuple(copy for copy in copies if context.service(copy.name) is None)


def _copies(context: ReleaseContext, revision: str) -> tuple[EnsureCanaryService, ...]:
    if context.shared or not revision:
        return ()
    patch = context.strategy.patch_pod_template_metadata
    labels = patch.labels if patch is not None and context.style is Style.CANARY else {}
    return tuple(
        EnsureCanaryService(
            stable=Key(context.namespace, stable),
            name=context.canary_service_of(stable),
            label=context.revision_label,
            revision=revision,
            rollout_uid=context.seen.rollout.metadata.uid,
            selector_patch=labels,
            appends=context.seen.appends_pod_labels,
            renewed=_is_outdated(context, stable),
            stable_version=_version_of(context, stable),
        )
        for stable in context.stable_services
        if not _is_its_copy(context, stable, revision) and _may_be_copied(context, stable)
    )


def _is_its_copy(context: ReleaseContext, stable: str, revision: str) -> bool:
    """The canary Service leads to this revision, through the ports that the stable Service has now."""
    copy, original = context.service(context.canary_service_of(stable)), context.service(stable)
    label = context.revision_label
    if copy is None or copy.spec.selector.get(label) != revision:
        return False
    if original is None:
        return True
    same_selector = copy.spec.selector == {**original.spec.selector, label: revision}
    same_ports = copy.spec.ports == original.spec.ports
    return same_ports and (same_selector or not _is_outdated(context, stable))


def _is_outdated(context: ReleaseContext, stable: str) -> bool:
    """The owner corrected the selector of the stable Service: it matches new pods, and that of the copy matches none.

    Otherwise the copy keeps its selector, which people may have corrected.
    """
    copied = own_selector(context, context.canary_service_of(stable))
    original = own_selector(context, stable)
    if not (copied and original):
        return False
    ready = [pod for pod in context.new_pods if pod.ready_since is not None]
    return selects_any(original, ready) and not selects_any(copied, ready)


def _may_be_copied(context: ReleaseContext, stable: str) -> bool:
    """A missing Service is reported by the effect that copies it."""
    found = context.service(stable)
    return found is None or selects_pods(found, (context.revision_label,))


def _version_of(context: ReleaseContext, service: str) -> str:
    found = context.service(service)
    return found.metadata.resource_version if found is not None else ""


def canary_service_deletions(context: ReleaseContext) -> tuple[Action, ...]:
    """Canary Services that were made for this Rollout and still exist."""
    return tuple(
        DeleteCanaryService(found.metadata.key, found.metadata.uid)
        for found in _own_canary_services(context)
        if not found.metadata.deleting
    )


def unused_canary_services(
    context: ReleaseContext, status: RolloutStatus, index: int
) -> Stop | None:
    """At a step without traffic settings no route names canary Services: they are deleted after the grace period."""
    if (
        not routing.follows_pods(context, index)
        or context.takes_all(index)
        or context.routes_in_use
    ):
        return None
    actions = canary_service_deletions(context)
    if not actions:
        return None
    due = routing.grace_period_end(context, status)
    if due is not None:
        return wait_by_choice(status, due)
    return Stop(with_moonshift_status(status, endpoints_ready_since={}), actions)
