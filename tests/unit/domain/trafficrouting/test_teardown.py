"""Shared routes that are shut are restored from the top down, a grace period apart."""

from datetime import datetime, timedelta
from itertools import pairwise

from msgspec import structs

from controller.api.rollout import (
    Phase,
)
from controller.api.trafficrouting import (
    Teardown,
)
from controller.domain.decision import RestoreRoutes
from controller.domain.traffic.plan.traffic_plan import references_of
from controller.domain.trafficrouting.deciding import decide_traffic_routing
from tests.unit.builders import (
    NAMESPACE,
)
from tests.unit.domain.trafficrouting.scenes import (
    LANE,
    A,
    B,
    change,
    entry,
    lane,
    routing_of,
    shared_world,
)
from tests.unit.worlds import World

CHAIN = ("VirtualService", "DestinationRule", "Backend")
"""Each points at the next."""


def chained_world(*names: str) -> World:
    """As `shared_world`; the lane of each Rollout leads a chain of three objects, and each points at the next."""
    routing = lane(*names)
    spec = structs.replace(routing.spec, object_ref=tuple(entry(name, *CHAIN) for name in names))
    world = shared_world(*names, routing=structs.replace(routing, spec=spec))
    for name in names:
        for depth, kind in enumerate(CHAIN):
            world.put_route(NAMESPACE, kind, name, depth=depth)
    world.rest()
    return world


def kinds_led(world: World, name: str) -> tuple[str, ...]:
    references = references_of((entry(name, *CHAIN),), disable_generate=True)
    routes = ((ref.kind, world.route(NAMESPACE, ref)) for ref in references)
    return tuple(kind for kind, route in routes if route is not None and route.plan is not None)


def first_times(world: World, name: str) -> dict[tuple[str, ...], datetime]:
    """When each set of led kinds was first seen."""
    seen: dict[tuple[str, ...], datetime] = {}

    def look() -> None:
        seen.setdefault(kinds_led(world, name), world.cluster.now)

    world.watchers.append(look)
    return seen


def apart(seen: dict[tuple[str, ...], datetime]) -> list[float]:
    times = [seen[CHAIN[depth:]] for depth in (1, 2, 3)]
    return [(after - before).total_seconds() for before, after in pairwise(times)]


def test_a_shared_route_that_is_shut_is_restored_from_the_top_down_a_grace_period_apart() -> None:
    world = chained_world("a")
    change(world, A)
    world.rest()
    assert kinds_led(world, "a") == CHAIN
    seen = first_times(world, "a")
    change(world, A, "v1")
    world.rest()
    assert min(apart(seen)) >= 2
    assert routing_of(world).status.phase == "Healthy"
    assert routing_of(world).status.descent is None
    assert world.cluster.rollouts[A].status.phase == Phase.HEALTHY


def test_a_trafficrouting_that_is_deleted_stays_until_all_is_restored() -> None:
    world = chained_world("a")
    change(world, A)
    world.rest()
    seen = first_times(world, "a")
    world.cluster.traffic_routings.delete(LANE)
    change(world, A, "v1")
    world.rest()
    assert world.cluster.traffic_routings.get(LANE) is None
    assert min(apart(seen)) >= 2


def test_a_shared_route_that_opens_meanwhile_is_not_kept_waiting_and_the_grace_period_begins_again() -> (
    None
):
    world = chained_world("a", "b")
    change(world, A)
    world.rest()
    seen = first_times(world, "a")
    change(world, A, "v1")
    world.run_until(lambda: routing_of(world).status.descent is not None)
    change(world, B)
    opened = first_times(world, "b")
    world.rest()
    assert kinds_led(world, "b") == CHAIN
    assert opened[CHAIN] < seen[()]
    assert min(apart(seen)) >= 2


def test_the_record_of_an_earlier_descent_is_removed_before_a_route_moves() -> None:
    world = chained_world("a")
    change(world, A)
    world.rest()
    routing = routing_of(world)
    kept = structs.replace(routing.status, descent=Teardown(1, world.cluster.now))
    world.cluster.traffic_routings.put(structs.replace(routing, status=kept))
    everywhere = world.passes.shared.observe(LANE)
    assert everywhere is not None
    shut = structs.replace(everywhere, members=())
    decision = decide_traffic_routing(shut, world.cluster.now)
    assert decision.actions == ()
    assert decision.status.descent is None
    noted = structs.replace(shut, routing=structs.replace(routing, status=decision.status))
    (action,) = decide_traffic_routing(noted, world.cluster.now).actions
    assert isinstance(action, RestoreRoutes)
    assert [reference.kind for reference in action.references] == ["VirtualService"]


def test_a_restoring_names_the_objects_of_the_lane_whose_companion_objects_stay() -> None:
    world = shared_world("a", "b")
    for key in (A, B):
        change(world, key)
    world.rest()
    both = world.passes.shared.observe(LANE)
    assert both is not None
    only_b = structs.replace(both, members=both.members[1:])
    late = world.cluster.now + timedelta(minutes=1)
    noted = decide_traffic_routing(only_b, world.cluster.now).status
    again = structs.replace(only_b, routing=structs.replace(both.routing, status=noted))
    actions = decide_traffic_routing(again, late).actions
    (action,) = (each for each in actions if isinstance(each, RestoreRoutes))
    assert [reference.name for reference in action.references] == ["a"]
    assert [reference.name for reference in action.others] == ["a", "b"]
