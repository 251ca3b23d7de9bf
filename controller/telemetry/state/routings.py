"""The state of a TrafficRouting, as samples.

Invariant: pure; computed from the cached object alone.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from controller.api.trafficrouting import TrafficRouting
from controller.telemetry.state.gauge import Sample, StateGauge, bounded
from controller.telemetry.state.stalls import StallClass, stall_of

_PHASES = ("Healthy", "Progressing", "Finalizing", "Terminating")


class RoutingSeen(NamedTuple):
    """A TrafficRouting at an instant."""

    routing: TrafficRouting
    now: datetime


def _phase(seen: RoutingSeen) -> Iterator[Sample]:
    yield (bounded(seen.routing.status.phase, _PHASES),), 1


def _members(seen: RoutingSeen) -> Iterator[Sample]:
    members = seen.routing.status.members
    routed = sum(member.routed for member in members)
    yield ("true",), routed
    yield ("false",), len(members) - routed


def _weight(seen: RoutingSeen) -> Iterator[Sample]:
    weight = seen.routing.spec.strategy.weight
    if weight is not None:
        yield (), weight


def _state_seconds(seen: RoutingSeen) -> Iterator[Sample]:
    status = seen.routing.status
    times = [member.since for member in status.members]
    if status.descent is not None:
        times.append(status.descent.since)
    known = [since for since in times if since is not None]
    if known:
        yield (), max(0.0, (seen.now - max(known)).total_seconds())


def _empty_sides(seen: RoutingSeen) -> Iterator[Sample]:
    yield (), len(seen.routing.status.empty_sides)


def _stalled(seen: RoutingSeen) -> Iterator[Sample]:
    found = stall_of(seen.routing.status.conditions)
    if found is not None:
        yield (found,), 1


def _drift_held(seen: RoutingSeen) -> Iterator[Sample]:
    if stall_of(seen.routing.status.conditions) is StallClass.DRIFT:
        yield (), 1


ROUTINGS: tuple[StateGauge[RoutingSeen], ...] = (
    StateGauge(
        "moonshift_trafficrouting_phase",
        "1 for the phase a TrafficRouting is in",
        ("phase",),
        _phase,
    ),
    StateGauge(
        "moonshift_trafficrouting_members",
        "Rollouts that share a TrafficRouting, by whether its routes lead to their new pods",
        ("routed",),
        _members,
    ),
    StateGauge(
        "moonshift_trafficrouting_weight_desired",
        "Percent of requests that a TrafficRouting asks for",
        (),
        _weight,
    ),
    StateGauge(
        "moonshift_trafficrouting_state_seconds",
        "Seconds since a Rollout last joined or left, or an object was last restored",
        (),
        _state_seconds,
    ),
    StateGauge(
        "moonshift_trafficrouting_empty_sides",
        "Revisions behind a Service without a ready pod while the other one has some",
        (),
        _empty_sides,
    ),
    StateGauge(
        "moonshift_trafficrouting_stalled",
        "1 while a TrafficRouting cannot go on without help, by the class of its problem",
        ("class",),
        _stalled,
    ),
    StateGauge(
        "moonshift_trafficrouting_drift_held",
        "1 while somebody's change of a gateway object is left alone",
        (),
        _drift_held,
    ),
)
