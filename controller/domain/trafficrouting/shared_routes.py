"""Which shared routes are open: a shared route is the gateway objects of one Service.

A shared route is open while new pods of a member are ready behind its Service (the original opens all, B38). Invariant:
no route leads to a Service without new pods for longer than the grace period.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from controller.api.rollout import EmptySide
from controller.api.workloads import Pod
from controller.domain.observation import RoutePresent
from controller.domain.sides import (
    ROUTES,
    Side,
    SideRevision,
    Sides,
    advanced,
    is_led_away,
    is_waited_for,
)
from controller.domain.trafficrouting.seen import MemberSeen, TrafficRoutingSeen, grace_of


def _services(seen: TrafficRoutingSeen) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry.service for entry in seen.routing.spec.object_ref))


def _ready_behind(seen: TrafficRoutingSeen, service: str) -> frozenset[str]:
    """UIDs of the ready pods behind a Service."""
    parts = (part.ready_pod_uids for part in seen.slices if part.service == service)
    return frozenset[str]().union(*parts)


def _selected_by(seen: TrafficRoutingSeen, service: str) -> frozenset[str]:
    """UIDs of all pods that a Service selects, ready or not."""
    return frozenset(
        endpoint.target_ref.uid
        for part in seen.slices
        if part.service == service
        for endpoint in part.endpoints or ()
        if endpoint.target_ref is not None
    )


def services_behind(seen: TrafficRoutingSeen, pods: tuple[Pod, ...]) -> tuple[str, ...]:
    """Services that select any of these pods, ready or not."""
    uids = {pod.metadata.uid for pod in pods}
    return tuple(service for service in _services(seen) if _selected_by(seen, service) & uids)


def leads_to_new(seen: TrafficRoutingSeen, service: str) -> bool:
    """A ready new pod of a member is behind the Service."""
    ready = _ready_behind(seen, service)
    return any(has_ready_pod_among(member, ready) for member in seen.members)


def open_shared_routes(seen: TrafficRoutingSeen, sides: Sides) -> tuple[str, ...]:
    """Services behind which a member has ready new pods, or had some less than a grace period ago."""
    return tuple(
        service
        for service in _services(seen)
        if not is_led_away(sides, side := Side(SideRevision.NEW, service))
        and (leads_to_new(seen, service) or is_waited_for(sides, side))
    )


def empty_sides(seen: TrafficRoutingSeen, now: datetime) -> Sides:
    """The sides without ready pods while the other side has some; none without routed members."""
    present = {member.rollout.metadata.name for member in seen.members}
    led_members = any(m.routed and m.rollout in present for m in seen.routing.status.members)
    known = seen.routing.status.empty_sides
    if seen.routing.metadata.deleting or not (led_members or (known and present)):
        return {}
    new = {pod.metadata.uid for member in seen.members for pod in member.new_pods}
    weight, grace = seen.routing.spec.strategy.weight, grace_of(seen.routing)
    observed: list[tuple[Side, _Observed]] = []
    for service in _services(seen):
        leads = _is_led(seen, service) and (weight is None or weight < 100)
        new_ready = leads_to_new(seen, service)
        stable_ready = bool(_ready_behind(seen, service) - new)
        # Without members' pods behind its Service, ready or not, a shared route is closed at once.
        if _selected_by(seen, service) & new:
            facts = _Observed(new_ready, leads and stable_ready, grace)
            observed.append((Side(SideRevision.NEW, service), facts))
        facts = _Observed(stable_ready, leads and new_ready, grace)
        observed.append((Side(SideRevision.STABLE, service), facts))
    return advanced(known, observed, grace, now)


class _Observed(NamedTuple):
    """The facts of one side of a shared route (`sides`)."""

    ready: bool
    wrong: bool
    """Routes divide the Service's requests, and the other side has ready pods."""
    patience: timedelta

    def is_ready(self) -> bool:
        return self.ready

    def is_wrong(self) -> bool:
        return self.wrong

    def is_over(self, _known: EmptySide) -> bool:
        return False

    def way_to_move_share(self) -> str:
        return ROUTES if self.wrong else ""


def _is_led(seen: TrafficRoutingSeen, service: str) -> bool:
    """Routes divide the requests of this Service."""
    states = (r.state for r in seen.routes if r.reference.stable_service == service)
    return any(isinstance(state, RoutePresent) and state.in_use for state in states)


def has_ready_pod_among(member: MemberSeen, ready: frozenset[str]) -> bool:
    """A new pod of the member is ready and is one of these."""
    return any(pod.metadata.uid in ready and pod.ready_since is not None for pod in member.new_pods)


def is_routed(seen: TrafficRoutingSeen, member: MemberSeen, open_routes: tuple[str, ...]) -> bool:
    """An open shared route leads to pods of this member."""
    ready = frozenset().union(
        *(part.ready_pod_uids for part in seen.slices if part.service in open_routes)
    )
    return has_ready_pod_among(member, ready)
