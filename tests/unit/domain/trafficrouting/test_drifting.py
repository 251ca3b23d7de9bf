"""Another writer replaces the objects of a shared route: they are put back twice, then left."""

from datetime import timedelta

from controller.api.meta import Condition
from controller.domain import reasons
from controller.domain.conditions import find_condition
from controller.domain.fights import RETRY_AFTER_FIGHT
from controller.domain.traffic.drift.policy import DRIFTED
from tests.unit.builders import NAMESPACE
from tests.unit.domain.trafficrouting.scenes import (
    LANE,
    A,
    B,
    change,
    led,
    routing_of,
    shared_world,
    stalled_reason,
)
from tests.unit.worlds import World


def begun(*names: str) -> World:
    world = shared_world(*(names or ("a",)))
    change(world, A)
    world.rest()
    return world


def found(world: World, kind: str) -> Condition:
    condition = find_condition(routing_of(world).status.conditions, kind)
    assert condition is not None
    return condition


def react(world: World) -> None:
    """A few passes of the TrafficRouting, without time for more."""
    for _ in range(3):
        world.passes.over_routing(LANE)


def fight(world: World, times: int) -> list[tuple[str, list[str]]]:
    """Somebody replaces the objects every ten seconds; the reasons, and the Services that are led afterwards."""
    said = []
    for _ in range(times):
        world.cluster.now += timedelta(seconds=10)
        world.replace_routes()
        react(world)
        said.append((found(world, DRIFTED).reason, led(world)))
    return said


def test_a_writer_that_replaces_a_shared_route_is_left_alone_after_two_put_backs() -> None:
    world = begun()
    assert fight(world, 4) == [
        (reasons.ROUTE_REPLACED, ["a"]),
        (reasons.ROUTE_REPLACED_AGAIN, ["a"]),
        (reasons.ROUTE_HELD, []),
        (reasons.ROUTE_HELD, []),
    ]
    stalled = found(world, "Stalled")
    assert (stalled.status, stalled.reason) == ("True", reasons.ROUTE_HELD)
    assert "two writers must not fight" in stalled.message


def test_the_route_is_written_again_five_minutes_after_the_fight() -> None:
    world = begun()
    fight(world, 3)
    world.cluster.now += RETRY_AFTER_FIGHT
    react(world)
    assert led(world) == ["a"]
    assert found(world, "Stalled").status == "False"
    world.cluster.now += timedelta(seconds=10)
    world.replace_routes()
    react(world)
    assert (found(world, DRIFTED).reason, led(world)) == (reasons.ROUTE_HELD, [])


def test_a_fight_is_over_when_the_object_has_the_releases_content_again() -> None:
    world = begun()
    content = world.raw_route(NAMESPACE, "VirtualService", "a")
    assert content is not None
    fight(world, 3)
    world.cluster.server.storage.put(
        ("networking.istio.io", "virtualservices"), A, content | {"metadata": content["metadata"]}
    )
    react(world)
    assert (found(world, DRIFTED).status, found(world, DRIFTED).reason) == (
        "False",
        reasons.ROUTES_AS_WRITTEN,
    )
    assert found(world, "Stalled").status == "False"


def test_a_put_back_that_is_refused_does_not_count_and_says_the_same_all_the_time() -> None:
    """Counted, it would be a fight of two writers after the third try, and Forbidden again five minutes later."""
    world = begun()
    world.cluster.server.forbidden.add(("update", "virtualservices"))
    world.replace_routes()
    said = set()
    for _ in range(40):
        world.cluster.now += timedelta(seconds=20)
        react(world)
        said.add((found(world, "Stalled").status, found(world, "Stalled").reason))
    assert said == {("True", "Forbidden")}
    assert find_condition(routing_of(world).status.conditions, DRIFTED) is None
    world.cluster.server.forbidden.clear()
    react(world)
    assert (found(world, DRIFTED).reason, led(world)) == (reasons.ROUTE_REPLACED, ["a"])


def test_a_put_back_that_is_refused_after_a_fight_does_not_begin_another() -> None:
    world = begun()
    fight(world, 3)
    world.cluster.server.forbidden.add(("update", "virtualservices"))
    world.cluster.now += RETRY_AFTER_FIGHT
    said = set()
    for _ in range(20):
        react(world)
        said.add(found(world, "Stalled").reason)
        world.cluster.now += timedelta(seconds=20)
    assert said == {"Forbidden"}


def test_a_rollback_does_not_wait_for_the_other_writer() -> None:
    world = begun()
    fight(world, 3)
    change(world, A, "v1")
    world.rest()
    assert routing_of(world).status.phase == "Healthy"
    assert routing_of(world).status.written == ()
    assert find_condition(routing_of(world).status.conditions, DRIFTED) is None
    assert stalled_reason(world, A) == ""


def test_the_first_write_of_another_shared_route_is_no_put_back() -> None:
    world = begun("a", "b")
    change(world, B)
    world.rest()
    assert led(world) == ["a", "b"]
    assert find_condition(routing_of(world).status.conditions, DRIFTED) is None
    assert routing_of(world).status.written == (
        "VirtualService.networking.istio.io/a",
        "VirtualService.networking.istio.io/b",
    )


def test_a_missing_object_of_another_route_does_not_end_a_fight() -> None:
    world = begun("a", "b")
    fight(world, 3)
    world.remove_route(NAMESPACE, "VirtualService", "b")
    react(world)
    assert found(world, "Stalled").reason == reasons.GATEWAY_OBJECT_NOT_FOUND
    assert found(world, DRIFTED).reason == reasons.ROUTE_HELD
