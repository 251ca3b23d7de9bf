"""Sides of the traffic that have no ready endpoint, and the record of where their share was sent.

A side is the stable or the new revision behind one Service. Invariant: pure look-ups. A pod counts only when the
Service's EndpointSlices list it as ready and it has the side's revision, because a slice does not say which selector it
reflects. Must not decide anything: `empty_side_routes` does.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from controller.api.rollout import EmptySide, RolloutStatus
from controller.api.workloads import Pod
from controller.domain.decision import Value
from controller.domain.rollout.release_context import ReleaseContext, moonshift_status
from controller.domain.traffic.validation.selecting import selects_pods


class SideRevision(StrEnum):
    """The revision of a side."""

    STABLE = "stable"
    NEW = "new"


SERVICE = "service"
"""A side's share was given away by un-pinning its Service."""
ROUTES = "routes"
"""A side's share was given away by the gateway objects."""


class Side(Value, frozen=True):
    """One revision behind one stable Service."""

    revision: SideRevision
    service: str

    @property
    def key(self) -> str:
        """Its name in status."""
        return f"{self.revision}/{self.service}"


def sides(context: ReleaseContext) -> tuple[Side, ...]:
    """All sides of a Rollout, without those of Services that the release of another Rollout pins."""
    ours = (name for name in context.stable_services if not context.is_pinned_by_another(name))
    return tuple(Side(revision, service) for service in ours for revision in SideRevision)


def entry_of(status: RolloutStatus, side: Side) -> EmptySide | None:
    """The record of a side in the status."""
    return moonshift_status(status).empty_sides.get(side.key)


def led_away(status: RolloutStatus, service: str) -> bool:
    """The share of the stable revision is given away, because it has no ready pod behind this Service."""
    entry = entry_of(status, Side(SideRevision.STABLE, service))
    return entry is not None and bool(entry.led_away)


def all_goes_to_new(status: RolloutStatus) -> bool:
    """The routes send everything to the new revision, because the stable one has no ready pod."""
    found = moonshift_status(status).empty_sides.items()
    return any(
        key.startswith(SideRevision.STABLE) and entry.led_away == ROUTES for key, entry in found
    )


# --- ready pods ---------------------------------------------------------------------------------


def has_ready_pods(context: ReleaseContext, status: RolloutStatus, side: Side) -> bool:
    """Requests for this side reach a ready pod.

    A canary Service of its own counts with every ready pod behind it, because a rollback widens it to stable pods.
    Other Services count only with ready pods of the side's revision.
    """
    if side.revision is SideRevision.NEW and not context.shared:
        return bool(
            context.ready_endpoints(context.canary_service_of(side.service)) & _ready(_all(context))
        )
    here = context.ready_endpoints(side.service)
    new = _ready(context.new_pods)
    if side.revision is SideRevision.NEW:
        return bool(here & new)
    if context.shared:
        return bool(here & _ready(_all(context)) - new)
    return bool(here & stable_uids(context, status))


def reaches_a_ready_pod(context: ReleaseContext, service: str) -> bool:
    """A ready pod of any revision is behind the stable Service."""
    return bool(context.ready_endpoints(service) & _ready(_all(context)))


def stable_uids(context: ReleaseContext, status: RolloutStatus) -> frozenset[str]:
    """Ready pods of the stable revision; where that revision is not known, of all but the new one."""
    revision = moonshift_status(status).stable_revision
    if revision:
        return _ready(context.pods_of(revision))
    return _ready(_all(context)) - _ready(context.new_pods)


def ready_pods_of(context: ReleaseContext, status: RolloutStatus, side: Side) -> list[Pod]:
    """The ready pods of this side's revision, whether its Service selects them or not."""
    new = _ready(context.new_pods)
    uids = new if side.revision is SideRevision.NEW else stable_uids(context, status)
    return [pod for pod in _all(context) if pod.metadata.uid in uids]


def new_side_has_ready_pods(context: ReleaseContext, status: RolloutStatus) -> bool:
    """Every Service that a route uses for the new revision has a ready pod of that revision."""
    new = (Side(SideRevision.NEW, service) for service in context.stable_services)
    return all(has_ready_pods(context, status, side) for side in new)


def ready_pods_if_unpinned(context: ReleaseContext, service: str) -> frozenset[str]:
    """Ready pods of any revision that the owner's selector of the stable Service matches."""
    found = context.service(service)
    if found is None or not selects_pods(found, (context.revision_label,)):
        return frozenset()
    selector = own_selector(context, service)
    return _ready(pod for pod in _all(context) if selector.items() <= pod.metadata.labels.items())


def own_selector(context: ReleaseContext, service: str) -> dict[str, str]:
    """The selector of a Service without our pin; empty if the Service is gone."""
    found = context.service(service)
    selector = found.spec.selector if found is not None else {}
    return {key: value for key, value in selector.items() if key != context.revision_label}


def selects_any(selector: Mapping[str, str], pods: Iterable[Pod]) -> bool:
    """The selector matches one of these pods."""
    return any(selector.items() <= pod.metadata.labels.items() for pod in pods)


def selector_in_words(selector: Mapping[str, str]) -> str:
    """A selector as kubectl takes it."""
    return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))


def _all(context: ReleaseContext) -> tuple[Pod, ...]:
    return (*context.workload.pods, *(pod for extra in context.seen.canaries for pod in extra.pods))


def _ready(pods: Iterable[Pod]) -> frozenset[str]:
    return frozenset(
        pod.metadata.uid
        for pod in pods
        if pod.ready_since is not None and not pod.metadata.deleting
    )
