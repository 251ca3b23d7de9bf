"""Enough stable pods before all traffic returns to them: after a rollback, and when another revision comes.

Why: in partition style new pods have replaced stable ones. All traffic had gone to however many were left: two of ten
got five times their load. Invariants: while a route leads to new pods, stable pods are added first, and the canary
Services select them, too. The wait ends after some time, because the version that was taken back must not keep its
share. But if no stable pod is ready at all while new pods are, the traffic stays with the new ones.
"""

from datetime import timedelta

from controller.api.duration import later
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.moving.awaiting_stable import stable_is_awaited_until
from controller.domain.rollout.routes import empty_sides, services
from controller.domain.rollout.routes.shared_routing import shared_route_is_open
from controller.domain.rollout.styles.choice import mechanism_of
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop

ENDPOINTS_FOLLOW_WITHIN = timedelta(seconds=10)
"""Kubernetes lists a ready pod among the endpoints of its Services within this time, also on a busy control plane."""


def restore(release: Release) -> Stop | None:
    """A rollback with too few ready stable pods: add some before the traffic returns.

    If they do not become ready within the time of `stable_is_awaited_until`, the traffic returns to those that are.
    """
    if not stable_pods_are_needed(release):
        return _endpoints_follow(release)
    stable, due = _stable_pods(release), stable_is_awaited_until(release)
    if stable.ready and due <= release.now:
        return None
    actions = mechanism_of(release).scale_up_stable(release, stable)
    if actions is None:
        # No pod can be added: while the new revision has ready pods, no route returns to a revision without any.
        waits = not stable.ready and empty_sides.new_side_has_ready_pods(release)
        return release.stop() if waits else None
    times = [time for time in (stable.next_at, due) if time is not None and time > release.now]
    return _widen_canary_services(release) or release.stop(
        *actions, wake_at=min(times, default=None)
    )


def replace_abandoned(release: Release) -> Stop | None:
    """Another revision came, and too few stable pods are ready: they replace abandoned ones before the traffic
    returns.
    """
    if not stable_pods_are_needed(release):
        return _endpoints_follow(release)
    replaced = mechanism_of(release).replace_abandoned(release)
    if replaced is None:
        return None
    return _widen_canary_services(release) or replaced


def stable_pods_are_needed(release: Release) -> bool:
    """Routes still lead requests away from the stable pods, and too few of these are ready to take all traffic."""
    ready = _stable_pods(release).ready
    led = release.routes_lead or shared_route_is_open(release)
    return led and ready < release.enough_for_all_traffic


def _endpoints_follow(release: Release) -> Stop | None:
    """Wait until the stable Services lead to the pods that have just become ready, for ten seconds at most."""
    pods = release.pods_of(release.ours.stable_revision)
    behind = release.ready(pods).ready - services.not_yet_endpoints(release, pods)
    times = [pod.ready_since for pod in pods if pod.ready_since is not None]
    due = later(max(times, default=release.now), ENDPOINTS_FOLLOW_WITHIN)
    waits = release.routes_lead and behind < release.enough_for_all_traffic and due > release.now
    return release.stop(wake_at=due) if waits else None


def _widen_canary_services(release: Release) -> Stop | None:
    """The canary Services also select stable pods: while new pods go, the routes that name them always reach a pod."""
    widened = services.widened_canary_services(release)
    narrow = services.canary_services_miss_stable_pods(release, release.ours.stable_revision)
    return release.stop(*widened) if widened or narrow else None


def _stable_pods(release: Release) -> Readiness:
    return release.ready(release.pods_of(release.ours.stable_revision))
