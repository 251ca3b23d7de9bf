"""The input of a decision about a TrafficRouting: the routing, its members, their pods and routes.

A Rollout joins by a finalizer of its own on the TrafficRouting and leaves by removing it. Invariant: values only;
nothing is decided here.
"""

from datetime import datetime, timedelta

from controller.api.duration import of_seconds
from controller.api.networking import EndpointSlice
from controller.api.rollout import MoonshiftStatus, Phase, Rollout
from controller.api.trafficrouting import (
    PROGRESSING_FINALIZER_PREFIX,
    Member,
    TrafficRouting,
)
from controller.api.workloads import Pod, label_value
from controller.domain.decision import Reference, Value
from controller.domain.observation import RouteSeen

OWNER_PREFIX = "trafficrouting/"
"""Stands before the name of a TrafficRouting in the records of gateway objects; no Rollout can have such a name."""


ROUTES_TAKEN = "RoutesTaken"
"""Condition of a TrafficRouting, only while members wait for a gateway: False, and the gateway's object."""


class MemberSeen(Value, frozen=True):
    """A Rollout that has joined, the pods of its release, and all pods of its workload itself."""

    rollout: Rollout
    new_pods: tuple[Pod, ...] = ()
    pods: tuple[Pod, ...] = ()
    removes_the_stable_side: bool = False
    """The release, or its step, replaces the last stable pod: it is no trouble that none is ready."""


class TrafficRoutingSeen(Value, frozen=True):
    """A TrafficRouting and everything that a decision about it needs."""

    routing: TrafficRouting
    members: tuple[MemberSeen, ...] = ()
    routes: tuple[RouteSeen, ...] = ()
    slices: tuple[EndpointSlice, ...] = ()
    strays: tuple[str, ...] = ()
    """Rollouts that joined and no longer exist, or now name another TrafficRouting: they cannot leave."""
    living: frozenset[str] = frozenset()
    """Names of the Rollouts that name this TrafficRouting and are in a release, members or not."""


def name_in_status(reference: Reference) -> str:
    """The name of a gateway object in the status of its TrafficRouting."""
    return f"{reference.kind}.{reference.group}/{reference.name}"


def owner_of(routing: TrafficRouting) -> str:
    """The name of this TrafficRouting in the records of gateway objects."""
    return OWNER_PREFIX + routing.metadata.name


def finalizer_of(rollout: str) -> str:
    """The finalizer by which a Rollout joins; the part after the slash may have 63 characters."""
    return PROGRESSING_FINALIZER_PREFIX + label_value(rollout)


def joined(routing: TrafficRouting) -> tuple[str, ...]:
    """The Rollouts that have joined: their names as `label_value` makes them."""
    return tuple(
        name.removeprefix(PROGRESSING_FINALIZER_PREFIX)
        for name in routing.metadata.finalizers
        if name.startswith(PROGRESSING_FINALIZER_PREFIX)
    )


def grace_of(routing: TrafficRouting) -> timedelta:
    """The time that proxies get to learn that a route has moved: the longest of all shared routes."""
    longest = max((entry.grace_period_seconds for entry in routing.spec.object_ref), default=0)
    return of_seconds(longest)


def started_at(rollout: Rollout) -> datetime | None:
    """The start of the Rollout's release; None before its first."""
    ours = rollout.status.moonshift
    return ours.started_at if isinstance(ours, MoonshiftStatus) else None


def is_admitted(member: Member, rollout: Rollout) -> bool:
    """The routes of the Rollout's present release were tried. A third revision is another release."""
    known = member.release_started_at
    return known is None or known == started_at(rollout)


def is_under_way(rollout: Rollout) -> bool:
    """A Rollout that may still wait for its shared routes to close."""
    return rollout.status.phase in (Phase.PROGRESSING, Phase.DISABLING, Phase.TERMINATING)
