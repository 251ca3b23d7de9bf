"""Sides of a Rollout's own traffic that have no ready endpoint, and the record of where their share was sent.

Invariant: pure look-ups. A pod counts only when the Service's EndpointSlices list it as ready and it has the side's
revision, because a slice does not say which selector it reflects. Must not decide anything: `empty_side_routes` does.
"""

from collections.abc import Iterable, Mapping

from controller.api.rollout import RolloutStatus
from controller.api.workloads import Pod
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.release_value import Release
from controller.domain.sides import ROUTES, Side, SideRevision, is_led_away
from controller.domain.traffic.validation.selecting import selects_pods


def sides(release: Release) -> tuple[Side, ...]:
    """All sides of a Rollout, without those of Services that the release of another Rollout pins."""
    ours = (name for name in release.stable_services if not release.is_pinned_by_another(name))
    return tuple(Side(revision, service) for service in ours for revision in SideRevision)


def led_away(status: RolloutStatus, service: str) -> bool:
    """The share of the stable revision is given away, because it has no ready pod behind this Service."""
    return is_led_away(moonshift_status(status).empty_sides, Side(SideRevision.STABLE, service))


def all_goes_to_new(status: RolloutStatus) -> bool:
    """The routes send everything to the new revision, because the stable one has no ready pod."""
    found = moonshift_status(status).empty_sides.items()
    return any(
        key.startswith(SideRevision.STABLE) and entry.led_away == ROUTES for key, entry in found
    )


# --- ready pods ---------------------------------------------------------------------------------


def has_ready_pods(release: Release, side: Side) -> bool:
    """Requests for this side reach a ready pod.

    A canary Service of its own counts with every ready pod behind it, because a rollback widens it to stable pods.
    Other Services count only with ready pods of the side's revision.
    """
    if side.revision is SideRevision.NEW and not release.shared:
        return bool(
            release.ready_endpoints(release.canary_service_of(side.service))
            & ready_uids(all_pods(release))
        )
    here = release.ready_endpoints(side.service)
    new = ready_uids(release.new_pods)
    if side.revision is SideRevision.NEW:
        return bool(here & new)
    if release.shared:
        return bool(here & ready_uids(all_pods(release)) - new)
    return bool(here & stable_uids(release))


def reaches_a_ready_pod(release: Release, service: str) -> bool:
    """A ready pod of any revision is behind the stable Service."""
    return bool(release.ready_endpoints(service) & ready_uids(all_pods(release)))


def stable_uids(release: Release) -> frozenset[str]:
    """Ready pods of the stable revision; where that revision is not known, of all but the new one."""
    revision = release.ours.stable_revision
    if revision:
        return ready_uids(release.pods_of(revision))
    return ready_uids(all_pods(release)) - ready_uids(release.new_pods)


def ready_pods_of(release: Release, side: Side) -> list[Pod]:
    """The ready pods of this side's revision, whether its Service selects them or not."""
    new = ready_uids(release.new_pods)
    uids = new if side.revision is SideRevision.NEW else stable_uids(release)
    return [pod for pod in all_pods(release) if pod.metadata.uid in uids]


def new_side_has_ready_pods(release: Release) -> bool:
    """Every Service that a route uses for the new revision has a ready pod of that revision."""
    new = (Side(SideRevision.NEW, service) for service in release.stable_services)
    return all(has_ready_pods(release, side) for side in new)


def ready_pods_if_unpinned(release: Release, service: str) -> frozenset[str]:
    """Ready pods of any revision that the owner's selector of the stable Service matches."""
    found = release.service(service)
    if found is None or not selects_pods(found, (release.revision_label,)):
        return frozenset()
    selector = own_selector(release, service)
    return ready_uids(
        pod for pod in all_pods(release) if selector.items() <= pod.metadata.labels.items()
    )


def own_selector(release: Release, service: str) -> dict[str, str]:
    """The selector of a Service without our pin; empty if the Service is gone."""
    found = release.service(service)
    selector = found.spec.selector if found is not None else {}
    return {key: value for key, value in selector.items() if key != release.revision_label}


def selects_any(selector: Mapping[str, str], pods: Iterable[Pod]) -> bool:
    """The selector matches one of these pods."""
    return any(selector.items() <= pod.metadata.labels.items() for pod in pods)


def selector_in_words(selector: Mapping[str, str]) -> str:
    """A selector as kubectl takes it."""
    return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))


def all_pods(release: Release) -> tuple[Pod, ...]:
    """The pods of the workload and of its extra Deployments."""
    return (*release.workload.pods, *(pod for extra in release.seen.canaries for pod in extra.pods))


def ready_uids(pods: Iterable[Pod]) -> frozenset[str]:
    """UIDs of the pods that are ready and stay."""
    return frozenset(
        pod.metadata.uid
        for pod in pods
        if pod.ready_since is not None and not pod.metadata.deleting
    )
