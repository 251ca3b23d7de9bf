"""The metrics of one TrafficRouting on the leader's page."""

from datetime import timedelta

from controller.api.meta import Condition, ObjectMeta
from controller.api.rollout import EmptySide
from controller.api.trafficrouting import (
    Member,
    Teardown,
    TrafficRouting,
    TrafficRoutingSpec,
    TrafficRoutingStatus,
    TrafficRoutingStrategy,
)
from controller.telemetry.metrics import Metrics
from controller.telemetry.state.collector import Seen
from tests.unit.builders import NOW
from tests.unit.telemetry.page import samples


def gauges_of(routing: TrafficRouting) -> dict[str, float]:
    metrics = Metrics()
    metrics.state.lead(lambda: Seen(NOW, routings=(routing,)))
    return {
        f"{name.removeprefix('moonshift_trafficrouting_')}:"
        + ",".join(t for key, t in labels if key not in ("namespace", "trafficrouting")): value
        for (name, labels), value in samples(metrics).items()
        if name.startswith("moonshift_trafficrouting_")
    }


def routing(status: TrafficRoutingStatus) -> TrafficRouting:
    return TrafficRouting(
        ObjectMeta(name="lanes", namespace="shop"),
        TrafficRoutingSpec(strategy=TrafficRoutingStrategy(weight=30)),
        status,
    )


def test_members_weight_and_time_are_reported() -> None:
    status = TrafficRoutingStatus(
        phase="Progressing",
        members=(
            Member("web", routed=True, since=NOW - timedelta(minutes=2)),
            Member("api", since=NOW - timedelta(seconds=5)),
        ),
    )
    assert gauges_of(routing(status)) == {
        "phase:Progressing": 1,
        "members:true": 1,
        "members:false": 1,
        "weight_desired:": 30,
        "state_seconds:": 5,
        "empty_sides:": 0,
    }


def test_trouble_and_empty_sides_are_reported() -> None:
    status = TrafficRoutingStatus(
        phase="Finalizing",
        conditions=(Condition("Stalled", "True", "RouteHeld"),),
        descent=Teardown(1, NOW - timedelta(seconds=9)),
        empty_sides={"new/web": EmptySide()},
    )
    gauges = gauges_of(routing(status))
    assert gauges["stalled:drift"] == 1
    assert gauges["drift_held:"] == 1
    assert gauges["empty_sides:"] == 1
    assert gauges["state_seconds:"] == 9


def test_a_routing_without_a_weight_or_members_says_less() -> None:
    gauges = gauges_of(TrafficRouting(ObjectMeta(name="lanes", namespace="shop")))
    assert gauges.keys() == {"phase:Unknown", "members:true", "members:false", "empty_sides:"}
