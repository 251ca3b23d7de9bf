"""Shared routes name a subset a grace period after it was seen, as a Rollout's own routes do."""

from datetime import datetime
from functools import partial
from itertools import pairwise

from msgspec import structs

from controller.domain.decision import EnsureRoutes
from controller.domain.trafficrouting.deciding import decide_traffic_routing
from tests.unit.builders import wait
from tests.unit.domain.trafficrouting.scenes import LANE, A, B, change, routing_of, shared_world
from tests.unit.domain.trafficrouting.test_teardown import CHAIN, chained_world, kinds_led
from tests.unit.worlds import World

GRACE = 2.0
UPWARDS = [CHAIN[2:], CHAIN[1:], CHAIN]


def times_of(world: World, name: str) -> dict[tuple[str, ...], datetime]:
    seen: dict[tuple[str, ...], datetime] = {}

    def look() -> None:
        seen.setdefault(kinds_led(world, name), world.cluster.now)

    world.watchers.append(look)
    return seen


def gaps(seen: dict[tuple[str, ...], datetime]) -> list[float]:
    times = [seen[kinds] for kinds in UPWARDS]
    return [(after - before).total_seconds() for before, after in pairwise(times)]


def _are_led(world: World, kinds: tuple[str, ...]) -> bool:
    return kinds_led(world, "a") == kinds


def test_each_object_follows_a_grace_period_after_the_one_that_it_names() -> None:
    world = chained_world("a")
    seen = times_of(world, "a")
    change(world, A)
    world.rest()
    assert kinds_led(world, "a") == CHAIN
    assert all(GRACE <= gap < GRACE + 1 for gap in gaps(seen))
    named = routing_of(world).status.named_content
    assert named is not None
    assert [member.routed for member in routing_of(world).status.members] == [True]


def test_the_wait_survives_a_restart() -> None:
    world = chained_world("a")
    seen = times_of(world, "a")
    change(world, A)
    for kinds in UPWARDS[:2]:
        world.run_until(partial(_are_led, world, kinds))
        wait(world, 1)
        world.restart()
    world.rest()
    assert all(GRACE <= gap < GRACE + 1 for gap in gaps(seen))


def test_an_instant_that_was_lost_makes_the_wait_longer() -> None:
    world = chained_world("a")
    change(world, A)
    world.run_until(lambda: kinds_led(world, "a") == UPWARDS[0])
    wait(world, 1.5)
    routing = routing_of(world)
    status = structs.replace(routing.status, named_content=None)
    world.cluster.traffic_routings.put(structs.replace(routing, status=status))
    seen, begun = times_of(world, "a"), world.cluster.now
    world.rest()
    assert (seen[UPWARDS[1]] - begun).total_seconds() >= GRACE


def test_a_second_shared_route_waits_for_its_own_subset_only() -> None:
    world = chained_world("a", "b")
    change(world, A)
    world.rest()
    seen = times_of(world, "b")
    change(world, B)
    world.rest()
    assert all(GRACE <= gap < GRACE + 1 for gap in gaps(seen))


def test_an_object_without_another_one_waits_for_nothing() -> None:
    world = shared_world("a")
    change(world, A)
    world.run_until(lambda: any(m.routed for m in routing_of(world).status.members))
    assert routing_of(world).status.named_content is None
    seen = world.passes.shared.observe(LANE)
    assert seen is not None
    actions = decide_traffic_routing(seen, world.cluster.now).actions
    assert not any(isinstance(action, EnsureRoutes) and action.settles_in for action in actions)


def test_the_record_goes_with_the_last_shared_route() -> None:
    world = chained_world("a")
    change(world, A)
    world.rest()
    change(world, A, "v1")
    world.rest()
    assert kinds_led(world, "a") == ()
    assert routing_of(world).status.named_content is None
