"""Reacts to foreign changes of shared routes as a Rollout does to those of its own (`traffic/drift/policy` decides).

An object that another writer replaces as a whole has lost our record of it. So the status names the objects that have
followed a plan (`written`), and the condition Drifted has the time of the last put-back.
Invariant: only an object in `written` counts as replaced; the first write of a route is no put-back.
"""

from datetime import datetime

from msgspec import structs

from controller.api.trafficrouting import TrafficRoutingStatus
from controller.domain.conditions import find_condition, set_condition
from controller.domain.traffic.drift.policy import (
    DRIFTED,
    Drift,
    drift_among,
    replaced_among,
    shown,
)
from controller.domain.trafficrouting.seen import TrafficRoutingSeen, name_in_status


def drift_of(seen: TrafficRoutingSeen, open_routes: tuple[str, ...], now: datetime) -> Drift:
    """The drift of the objects behind open shared routes."""
    if not open_routes:
        return Drift()
    meta, status = seen.routing.metadata, seen.routing.status
    found = drift_among(seen.routes, meta.namespace, now)
    if found.held is not None or found.put_back:
        return found
    written = set(status.written) & _named(seen, open_routes)
    routes = tuple(route for route in seen.routes if name_in_status(route.reference) in written)
    return replaced_among(routes, meta.namespace, find_condition(status.conditions, DRIFTED), now)


def with_drift(
    status: TrafficRoutingStatus,
    seen: TrafficRoutingSeen,
    open_routes: tuple[str, ...],
    drift: Drift | None,
    *,
    settled: bool,
    now: datetime,
) -> TrafficRoutingStatus:
    """The status with the reaction (None: another problem comes first); it names every object of an open route once all
    of them follow their plans.
    """
    named = _named(seen, open_routes)
    written = named if settled else named & set(status.written)
    status = structs.replace(status, written=tuple(sorted(written)))
    if not open_routes:
        kept = tuple(each for each in status.conditions if each.type != DRIFTED)
        return structs.replace(status, conditions=kept)
    before = find_condition(status.conditions, DRIFTED)
    found = shown(drift, before, now) if drift is not None else None
    if found is None:
        return status
    conditions = set_condition(status.conditions, DRIFTED, *found, now)
    return structs.replace(status, conditions=conditions)


def _named(seen: TrafficRoutingSeen, open_routes: tuple[str, ...]) -> set[str]:
    return {
        name_in_status(route.reference)
        for route in seen.routes
        if route.reference.stable_service in open_routes
    }
