"""Sides of the traffic that have no ready endpoint: what is so, and what was done about it.

A side is the old or the new revision behind one Service. Invariant: pure look-ups; pods are counted only where the
Service's EndpointSlices call them ready and they are of the side's revision, since a slice does not say which selector
it reflects. Must not decide anything: `guarding` does.
"""

from collections.abc import Iterable
from enum import StrEnum

from controller.api.rollout import EmptySide, RolloutStatus
from controller.api.workloads import Pod
from controller.domain.decision import Value
from controller.domain.rollout.situation import Situation, position
from controller.domain.traffic.selecting import selects_pods


class Half(StrEnum):
    """Which revision a side is of."""

    STABLE = "stable"
    NEW = "new"


SERVICE = "service"
"""A side's share was given away by un-pinning its Service."""
ROUTES = "routes"
"""A side's share was given away by the gateway objects."""


class Side(Value, frozen=True):
    """One revision behind one stable Service."""

    half: Half
    service: str

    @property
    def key(self) -> str:
        """Its name in status."""
        return f"{self.half}/{self.service}"


def sides(sit: Situation) -> tuple[Side, ...]:
    """All sides of a Rollout."""
    return tuple(Side(half, service) for service in sit.stable_services for half in Half)


def entry_of(status: RolloutStatus, side: Side) -> EmptySide | None:
    """What is noted of a side."""
    return position(status).empty_sides.get(side.key)


def led_away(status: RolloutStatus, service: str) -> bool:
    """The stable Service leads to every revision now, because the stable one has no ready pod."""
    entry = entry_of(status, Side(Half.STABLE, service))
    return entry is not None and entry.led_away == SERVICE


def all_goes_to_new(status: RolloutStatus) -> bool:
    """The routes give everything to the new revision, because the stable one has no ready pod."""
    found = position(status).empty_sides.items()
    return any(key.startswith(Half.STABLE) and entry.led_away == ROUTES for key, entry in found)


# --- who answers --------------------------------------------------------------------------------


def answers(sit: Situation, status: RolloutStatus, side: Side) -> bool:
    """Requests for this side reach a ready pod of its own revision, or of those it was widened to."""
    if side.half is Half.NEW and not sit.shared:
        return bool(sit.ready_endpoints(sit.canary_service_of(side.service)) & _ready(_all(sit)))
    here = sit.ready_endpoints(side.service)
    new = _ready(sit.new_pods)
    if side.half is Half.NEW:
        return bool(here & new)
    if sit.shared:
        return bool(here & _ready(_all(sit)) - new)
    return bool(here & stable_uids(sit, status))


def reaches_somebody(sit: Situation, service: str) -> bool:
    """Whatever its revision, a ready pod is behind the stable Service."""
    return bool(sit.ready_endpoints(service) & _ready(_all(sit)))


def stable_uids(sit: Situation, status: RolloutStatus) -> frozenset[str]:
    """Ready pods of the stable revision; where that is not known, of any but the new one."""
    revision = position(status).stable_revision
    if revision:
        return _ready(sit.pods_of(revision))
    return _ready(_all(sit)) - _ready(sit.new_pods)


def new_answers(sit: Situation, status: RolloutStatus) -> bool:
    """Behind every Service that a route names for the new revision is a ready pod of it."""
    new = (Side(Half.NEW, service) for service in sit.stable_services)
    return all(answers(sit, status, side) for side in new)


def would_lead_to(sit: Situation, service: str) -> frozenset[str]:
    """Ready pods that the stable Service's owner selects, of whatever revision."""
    found = sit.service(service)
    if found is None or not selects_pods(found, (sit.revision_label,)):
        return frozenset()
    selector = {k: v for k, v in found.spec.selector.items() if k != sit.revision_label}
    return _ready(pod for pod in _all(sit) if selector.items() <= pod.metadata.labels.items())


def _all(sit: Situation) -> tuple[Pod, ...]:
    return (*sit.workload.pods, *(pod for extra in sit.seen.canaries for pod in extra.pods))


def _ready(pods: Iterable[Pod]) -> frozenset[str]:
    return frozenset(
        pod.metadata.uid
        for pod in pods
        if pod.ready_since is not None and not pod.metadata.deleting
    )
