"""Enough stable pods before all traffic returns to them: after a rollback, and when another revision comes.

Why: in partition style new pods have replaced stable ones. All traffic had gone to however many were left: two of ten
got five times their load. Invariants: while a route leads to new pods, stable pods are added first, and the canary
Services select them, too. The wait ends after some time, because the version that was taken back must not keep its
share. But if no stable pod is ready at all while new pods are, the traffic stays with the new ones.
"""

from datetime import timedelta

from controller.api.duration import later
from controller.api.rollout import RolloutStatus
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout import empty_sides, services
from controller.domain.rollout.moving.awaiting_stable import stable_is_awaited_until
from controller.domain.rollout.moving.choice import mechanism_of
from controller.domain.rollout.release_context import ReleaseContext, moonshift_status
from controller.domain.rollout.shared_routing import shared_route_is_open
from controller.domain.rollout.transition import Stop

ENDPOINTS_FOLLOW_WITHIN = timedelta(seconds=10)
"""Kubernetes lists a ready pod among the endpoints of its Services within this time, also on a busy control plane."""


def restore(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """A rollback with too few ready stable pods: add some before the traffic returns.

    If they do not become ready within the time of `stable_is_awaited_until`, the traffic returns to those that are.
    """
    if not stable_pods_are_needed(context, status):
        return _endpoints_follow(context, status)
    stable, due = _stable_pods(context, status), stable_is_awaited_until(context, status)
    if stable.ready and due <= context.now:
        return None
    actions = mechanism_of(context).scale_up_stable(context, stable)
    if actions is None:
        # No pod can be added: while the new revision has ready pods, no route returns to a revision without any.
        waits = not stable.ready and empty_sides.new_side_has_ready_pods(context, status)
        return Stop(status=status) if waits else None
    times = [time for time in (stable.next_at, due) if time is not None and time > context.now]
    return _widen_canary_services(context, status) or Stop(
        status=status, actions=actions, wake_at=min(times, default=None)
    )


def replace_abandoned(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Another revision came, and too few stable pods are ready: they replace abandoned ones before the traffic
    returns.
    """
    if not stable_pods_are_needed(context, status):
        return _endpoints_follow(context, status)
    replaced = mechanism_of(context).replace_abandoned(context, status)
    if replaced is None:
        return None
    return _widen_canary_services(context, status) or replaced


def stable_pods_are_needed(context: ReleaseContext, status: RolloutStatus) -> bool:
    """Routes still lead requests away from the stable pods, and too few of these are ready to take all traffic."""
    ready = _stable_pods(context, status).ready
    led = context.routes_lead or shared_route_is_open(context)
    return led and ready < context.enough_for_all_traffic


def _endpoints_follow(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Wait until the stable Services lead to the pods that have just become ready, for ten seconds at most."""
    pods = context.pods_of(moonshift_status(status).stable_revision)
    behind = context.ready(pods).ready - services.not_yet_endpoints(context, pods)
    times = [pod.ready_since for pod in pods if pod.ready_since is not None]
    due = later(max(times, default=context.now), ENDPOINTS_FOLLOW_WITHIN)
    waits = context.routes_lead and behind < context.enough_for_all_traffic and due > context.now
    return Stop(status=status, wake_at=due) if waits else None


def _widen_canary_services(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """The canary Services also select stable pods: while new pods go, the routes that name them always reach a pod."""
    widened = services.widened_canary_services(context)
    narrow = services.canary_services_miss_stable_pods(
        context, moonshift_status(status).stable_revision
    )
    return Stop(status=status, actions=widened) if widened or narrow else None


def _stable_pods(context: ReleaseContext, status: RolloutStatus) -> Readiness:
    return context.ready(context.pods_of(moonshift_status(status).stable_revision))
