"""The Services of a release: the pin of each stable Service, and the canary Services beside them.

Why: while a release routes traffic, the stable Service selects the stable revision only, and a copy of it, the canary
Service, selects the new one. Invariant: a Service loses no pods and is not deleted while a route may still lead to
it; `routing` keeps the instants of routes. Must not plan or move routes.
"""

from collections.abc import Iterable
from typing import assert_never

from controller.api import names
from controller.api.meta import Key
from controller.api.networking import Service
from controller.api.workloads import Pod
from controller.domain import reasons
from controller.domain.decision import (
    SERVICE,
    Action,
    EnsureCanaryService,
    Note,
    PinService,
    Refusal,
    Severity,
    UnpinService,
    deletion,
)
from controller.domain.pods.marks import hold_on
from controller.domain.rollout.routes import routing
from controller.domain.rollout.routes.empty_sides import (
    all_pods,
    led_away,
    own_selector,
    ready_pods_if_unpinned,
    selects_any,
)
from controller.domain.rollout.words.release_context import Style
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop
from controller.domain.rollout.words.way_out import (
    NEEDED_TO_GO_BACK,
    create_or,
    references_may_change,
)
from controller.domain.target import Pinned, Traffic
from controller.domain.traffic.validation.selecting import selects_pods, unusable

NOT_YET_KNOWN = "rehearsed"
"""Stands for the name of a revision in the manifest of a canary Service that is not created yet."""


def pinned_to(release: Release, service: str) -> str:
    """Revision a Service is pinned to, or an empty string."""
    found = release.service(service)
    return found.spec.selector.get(release.revision_label, "") if found is not None else ""


def made_for(service: Service, rollout_uid: str) -> bool:
    """The canary Service was made for this Rollout.

    An annotation says so; earlier versions used a label. The original controller owns it by an ownerReference.
    """
    meta = service.metadata
    owners = (meta.annotations.get(names.ROLLOUT_UID), meta.labels.get(names.ROLLOUT_UID))
    return rollout_uid in owners or any(owner.uid == rollout_uid for owner in meta.owner_references)


def unusable_services(release: Release) -> Refusal | None:
    """A stable Service that does not exist, or cannot select one revision only."""
    for name in release.stable_services:
        found = release.service(name)
        if found is not None:
            refusal = unusable(found, (release.revision_label,)) or _in_use(release, name)
            if refusal is not None:
                return refusal
        else:
            return Refusal(
                reason=reasons.SERVICE_NOT_FOUND,
                message=f"Service {release.namespace}/{name} does not exist: {_way_out(release)}",
                object=f"Service {release.namespace}/{name}",
            )
    return None


def _way_out(release: Release) -> str:
    """A rollback would lead all requests to the Service, so it waits for it as well."""
    if references_may_change(release.status):
        return create_or("trafficRoutings[].service", release.status)
    return f"create it again, {NEEDED_TO_GO_BACK}"


def _in_use(release: Release, stable: str) -> Refusal | None:
    """Two releases would pin one Service in turn, each to its own revision."""
    if not release.is_pinned_by_another(stable):
        return None
    return in_use(Key(release.namespace, stable), release.canary_service_of(stable))


def in_use(stable: Key, canary: str) -> Refusal:
    """The refusal to use a Service that the release of another Rollout uses."""
    subject = f"Service {stable}"
    return Refusal(
        reason=reasons.SERVICE_IN_USE,
        message=f"{subject} is in use by the release of another Rollout, which made {canary}: wait until that release "
        "ends. Give each workload a Service of its own: a release sends the requests of its Service to its own pods",
        object=subject,
    )


def pin(release: Release, index: int) -> tuple[Action, ...]:
    """Stable Services that have to be pinned, or un-pinned, for this step.

    A Service without stable pods is not pinned: it selects all revisions until they return. A Service that is pinned to
    pods that no step removed is left to `empty_side_routes`, which reports it.
    """
    match release.target(index).pinned:
        case Pinned.YES:
            return pinned(release)
        case Pinned.NO:
            return unpin(release)
        case Pinned.AS_IT_IS:
            return ()
        case never:
            assert_never(never)


def pinned(release: Release) -> tuple[Action, ...]:
    """Stable Services that do not select the stable revision only, and could."""
    revision = release.ours.stable_revision
    return tuple(
        PinService(
            found.metadata.key, found.metadata.resource_version, release.revision_label, revision
        )
        for name in release.stable_services
        if (found := release.service(name)) is not None
        and selects_pods(found, (release.revision_label,))
        and pinned_to(release, name) != revision
        and not led_away(release.status, name)
        and not release.is_pinned_by_another(name)
    )


def unpin(release: Release) -> tuple[UnpinService, ...]:
    """Stable Services that we pinned and that should select every pod of their owner's selector."""
    return tuple(
        UnpinService(found.metadata.key, found.metadata.resource_version, release.revision_label)
        for name in release.stable_services
        if (found := release.service(name)) is not None
        and names.PINNED in found.metadata.labels
        and not release.is_pinned_by_another(name)
    )


def unpin_for_this_workload(release: Release) -> tuple[UnpinService, ...]:
    """Of a Rollout that never began a release: the pins that a former one set for pods of this workload, which no
    other Rollout releases.
    """
    if release.seen.workload is None:
        return ()
    if hold_on(release.workload.object).rollout not in ("", release.seen.rollout.metadata.name):
        return ()
    return tuple(a for a in unpin(release) if _is_pinned_for_it(release, a.service.name))


def _is_pinned_for_it(release: Release, service: str) -> bool:
    """The pin leads to pods of this workload; or to no ready pod, while ready ones would be there without it."""
    revision = pinned_to(release, service)
    if any(pod.revision == revision for pod in all_pods(release)):
        return True
    return bool(ready_pods_if_unpinned(release, service)) and not release.ready_endpoints(service)


def former_pins(release: Release) -> tuple[UnpinService, ...]:
    """The pins of a former Rollout, on Services that no Rollout names and that lead to pods of this workload.

    Its canary Services lose their revision, too: a route that names them would lead to no pod after a rollback.
    """
    if release.seen.workload is None:
        return ()
    label = release.revision_label
    return tuple(
        UnpinService(found.metadata.key, found.metadata.resource_version, label)
        for found in release.seen.former_pins
        if (label in found.spec.selector or names.PINNED in found.metadata.labels)
        and _leads_to_this_workload(release, found)
    )


def _leads_to_this_workload(release: Release, service: Service) -> bool:
    own = {k: v for k, v in service.spec.selector.items() if k != release.revision_label}
    return bool(own) and (
        own.items() <= release.workload.template_labels.items()
        or selects_any(own, all_pods(release))
    )


def stable_services_miss_new_pods(release: Release) -> bool:
    """Un-pinned, but the slices do not contain the new pods yet."""
    if release.shared:
        return False
    return any(_does_not_lead_to_new_pods(release, name) for name in release.stable_services)


def _does_not_lead_to_new_pods(release: Release, name: str) -> bool:
    """The Service's owner selects new pods that are ready, but none is among its endpoints yet."""
    wanted = _selected_and_ready(release, name, release.new_pods)
    return bool(wanted) and not wanted & release.ready_endpoints(name)


def stable_services_lead_to_leaving_pods(release: Release) -> bool:
    """Pods that are being deleted are still endpoints: their workload no longer counts them, and the slices follow a
    moment later.
    """
    leaving = {pod.metadata.uid for pod in release.workload.pods if pod.metadata.deleting}
    return any(leaving & release.ready_endpoints(name) for name in release.stable_services)


def not_yet_endpoints(release: Release, pods: Iterable[Pod]) -> int:
    """How many of these pods are ready and selected by a stable Service, and are not among its endpoints yet."""
    if release.shared:
        return 0
    missing = (
        _selected_and_ready(release, name, pods) - release.ready_endpoints(name)
        for name in release.stable_services
    )
    return max(map(len, missing), default=0)


def _selected_and_ready(release: Release, name: str, pods: Iterable[Pod]) -> frozenset[str]:
    """UIDs of the ready pods that a Service selects; none if the Service is gone."""
    service = release.service(name)
    if service is None:
        return frozenset()
    return frozenset(
        pod.metadata.uid
        for pod in pods
        if pod.ready_since is not None
        and service.spec.selector.items() <= pod.metadata.labels.items()
    )


def widened_canary_services(release: Release) -> tuple[Action, ...]:
    """Canary Services that should select every revision, because the pods of the new one are about to be removed."""
    return tuple(
        UnpinService(found.metadata.key, found.metadata.resource_version, release.revision_label)
        for found in _own_canary_services(release)
        if release.revision_label in found.spec.selector
    )


def canary_services_miss_stable_pods(release: Release, revision: str) -> bool:
    """The slices of a canary Service do not contain pods of this revision yet."""
    ready = {pod.metadata.uid for pod in release.pods_of(revision) if pod.ready_since is not None}
    return bool(ready) and any(
        not ready & release.ready_endpoints(found.metadata.name)
        for found in _own_canary_services(release)
    )


def _own_canary_services(release: Release) -> tuple[Service, ...]:
    if release.shared:
        return ()
    uid = release.seen.rollout.metadata.uid
    return tuple(
        found
        for stable in release.stable_services
        if (found := release.service(release.canary_service_of(stable))) is not None
        and made_for(found, uid)
    )


def canary_services(release: Release) -> tuple[Action, ...]:
    """Canary Services that are missing, select another revision, or have not the ports of the stable one.

    No copy of a Service that lost its selector: the copy would select pods of any workload.
    """
    return _copies(release, release.new_revision)


def remade_notes(release: Release, actions: Iterable[Action]) -> tuple[Note, ...]:
    """Says of each canary Service that is made, and had endpoints in this release, that somebody deleted it."""
    return tuple(
        Note(
            reasons.CANARY_SERVICE_REMADE,
            f"Service {action.name}: it was deleted while the release needs it; it is made again",
            Severity.WARNING,
        )
        for action in actions
        if isinstance(action, EnsureCanaryService)
        and release.service(action.name) is None
        and action.name in release.ours.endpoints_ready_since
    )


def foreseen_canary_services(release: Release) -> tuple[EnsureCanaryService, ...]:
    """The canary Services that the release will create, before the name of its revision is known."""
    if not release.strategy.traffic_routings:
        return ()
    copies = _copies(release, release.new_revision or NOT_YET_KNOWN)
    return tuple(copy for copy in copies if release.service(copy.name) is None)


def _copies(release: Release, revision: str) -> tuple[EnsureCanaryService, ...]:
    if release.shared or not revision:
        return ()
    patch = release.strategy.patch_pod_template_metadata
    labels = patch.labels if patch is not None and release.style is Style.CANARY else {}
    return tuple(
        EnsureCanaryService(
            stable=Key(release.namespace, stable),
            name=release.canary_service_of(stable),
            label=release.revision_label,
            revision=revision,
            rollout_uid=release.seen.rollout.metadata.uid,
            selector_patch=labels,
            appends=release.seen.appends_pod_labels,
            renewed=_is_outdated(release, stable),
            stable_version=_version_of(release, stable),
        )
        for stable in release.stable_services
        if not _is_its_copy(release, stable, revision) and _may_be_copied(release, stable)
    )


def _is_its_copy(release: Release, stable: str, revision: str) -> bool:
    """The canary Service leads to this revision, through the ports that the stable Service has now."""
    copy, original = release.service(release.canary_service_of(stable)), release.service(stable)
    label = release.revision_label
    if copy is None or copy.spec.selector.get(label) != revision:
        return False
    if original is None:
        return True
    same_selector = copy.spec.selector == {**original.spec.selector, label: revision}
    same_ports = copy.spec.ports == original.spec.ports
    return same_ports and (same_selector or not _is_outdated(release, stable))


def _is_outdated(release: Release, stable: str) -> bool:
    """The owner corrected the selector of the stable Service: it matches new pods, and that of the copy matches none.

    Otherwise the copy keeps its selector, which people may have corrected.
    """
    copied = own_selector(release, release.canary_service_of(stable))
    original = own_selector(release, stable)
    if not (copied and original):
        return False
    ready = [pod for pod in release.new_pods if pod.ready_since is not None]
    return selects_any(original, ready) and not selects_any(copied, ready)


def _may_be_copied(release: Release, stable: str) -> bool:
    """A missing Service is reported by the effect that copies it."""
    found = release.service(stable)
    return found is None or selects_pods(found, (release.revision_label,))


def _version_of(release: Release, service: str) -> str:
    found = release.service(service)
    return found.metadata.resource_version if found is not None else ""


def canary_service_deletions(release: Release) -> tuple[Action, ...]:
    """Canary Services that were made for this Rollout and still exist."""
    return tuple(
        deletion(SERVICE, found.metadata)
        for found in _own_canary_services(release)
        if not found.metadata.deleting
    )


def unused_canary_services(release: Release, index: int) -> Stop | None:
    """At a step without traffic settings no route names canary Services: they are deleted after the grace period."""
    target = release.target(index)
    unrouted = target.traffic is Traffic.ORIGINAL and target.pinned is Pinned.NO
    if not unrouted or release.routes_in_use:
        return None
    actions = canary_service_deletions(release)
    if not actions:
        return None
    due = routing.grace_period_end(release)
    if due is not None:
        return release.wait(due)
    return release.noting(endpoints_ready_since={}).stop(*actions)
