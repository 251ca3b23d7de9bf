"""Routes name a subset a grace period after it was seen, whatever comes between the two writes."""

from collections.abc import Callable
from datetime import datetime
from itertools import pairwise

import pytest
from msgspec import structs

from controller.api.rollout import NamedContent
from controller.domain.decision import EnsureRoutes
from controller.domain.rollout.phases import decide
from tests.unit.builders import GRACE, KEY, NAMESPACE, ours_of, release, status_of, wait, weight_of
from tests.unit.domain.rollout.routes.test_restoring import (
    APART,
    CHAIN,
    DEEP,
    chained,
    led,
    underway,
)
from tests.unit.domain.rollout.scenes import approve
from tests.unit.worlds import World

STYLES = ("partition", "canary", "blue-green")


class Order:
    """The times at which objects of a kind began to follow a plan."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._led = led(world)
        self.times: dict[str, datetime] = {}
        world.watchers.append(self.look)

    def look(self) -> None:
        now = led(self._world)
        self.times |= {kind: self._world.cluster.now for kind in now if kind not in self._led}
        self._led = now

    def gaps(self, kinds: tuple[tuple[str, int], ...]) -> list[float]:
        """Seconds between an object and the one that names it, from the deepest."""
        times = [self.times[kind] for kind, _ in reversed(kinds)]
        return [(after - before).total_seconds() for before, after in pairwise(times)]


def named(world: World) -> NamedContent | None:
    return ours_of(world).named_content


def half_written(kinds: tuple[tuple[str, int], ...] = CHAIN) -> World:
    """A release at the instant at which its deepest object was written."""
    world = chained(kinds=kinds)
    release(world)
    world.run_until(lambda: led(world) == [kinds[-1][0]])
    return world


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("kinds", [CHAIN, DEEP])
def test_each_object_follows_a_grace_period_after_the_one_that_it_names(
    style: str, kinds: tuple[tuple[str, int], ...]
) -> None:
    world = chained(style, kinds=kinds)
    order = Order(world)
    release(world)
    world.rest()
    assert led(world) == [kind for kind, _ in kinds]
    assert all(GRACE <= gap < GRACE + 1 for gap in order.gaps(kinds))


def test_objects_of_one_depth_follow_together_and_nothing_is_kept_in_the_status() -> None:
    world = chained(kinds=APART)
    order = Order(world)
    release(world)
    world.rest()
    assert order.gaps(APART) == [0]
    assert named(world) is None


def test_the_next_step_does_not_wait_for_a_subset_that_is_there() -> None:
    world = underway()
    before = named(world)
    moved: list[datetime] = []
    world.watchers.append(
        lambda: moved.append(world.cluster.now) if weight_of(world) == 50 else None
    )
    begun = world.cluster.now
    approve(world)
    world.rest()
    assert named(world) == before
    # The Service has its endpoints since step 1: only the new pods are waited for.
    assert (moved[0] - begun).total_seconds() < 2 * GRACE


def test_the_instant_is_in_the_status_and_a_new_leader_counts_from_it() -> None:
    world = half_written()
    wait(world, 1)
    kept = named(world)
    assert kept is not None
    assert kept.since is not None
    order = Order(world)
    world.restart()
    world.rest()
    assert 0 <= (order.times["VirtualService"] - kept.since).total_seconds() - GRACE < 1


def test_an_instant_that_a_crash_took_makes_the_wait_longer() -> None:
    world = half_written()
    ours = ours_of(world)
    assert ours.named_content is None, "the pass that wrote the object has seen nothing yet"
    wait(world, 2)
    rollout = world.cluster.rollouts[KEY]
    lost = structs.replace(ours_of(world), named_content=None)
    status = structs.replace(rollout.status, moonshift=lost)
    world.cluster.rollouts.put(structs.replace(rollout, status=status))
    order, begun = Order(world), world.cluster.now
    world.rest()
    assert (order.times["VirtualService"] - begun).total_seconds() >= GRACE


def test_during_the_wait_the_action_says_how_long_it_takes() -> None:
    world = half_written()
    wait(world, 1)
    seen = world.observe(KEY)
    assert seen is not None
    (action,) = (a for a in decide(seen, world.cluster.now).actions if isinstance(a, EnsureRoutes))
    assert 0 < action.settles_in <= GRACE


def there_and_back(world: World) -> None:
    release(world, "v1")
    wait(world, 1)
    release(world, "v2")


INTERRUPTIONS: dict[str, Callable[[World], None]] = {
    "a third revision": lambda world: release(world, "v3"),
    "a rollback and the version again": there_and_back,
    "an edited plan": lambda world: world.people.edit(KEY, replicas=7),
    "the objects replaced by their owner": lambda world: world.replace_routes(),
    "the objects changed by somebody": lambda world: world.touch_routes(),
    "a restart": lambda world: world.restart(),
}


@pytest.mark.parametrize("name", INTERRUPTIONS)
@pytest.mark.parametrize("before", [0.0, 1.0, GRACE - 0.5, GRACE + 0.5])
def test_no_route_is_early_after(name: str, before: float) -> None:
    """The rule is checked after every write (`simulation/invariants`)."""
    world = half_written()
    wait(world, before)
    INTERRUPTIONS[name](world)
    world.rest()
    assert led(world) == ["VirtualService", "DestinationRule"]
    assert status_of(world).current_step_state == "StepPaused"


def test_objects_that_their_owner_replaced_come_back_in_the_same_order() -> None:
    world = underway()
    order = Order(world)
    world.replace_routes()
    order.look()
    world.rest()
    assert order.gaps(CHAIN)[0] >= GRACE


def test_a_route_alone_that_its_owner_replaced_comes_back_at_once() -> None:
    world = underway()
    order, begun = Order(world), world.cluster.now
    world.put_route(NAMESPACE, "VirtualService", "web")
    order.look()
    world.rest()
    assert (order.times["VirtualService"] - begun).total_seconds() < 1


def test_the_end_of_a_release_forgets_what_was_named() -> None:
    world = underway()
    assert named(world) is not None
    release(world, "v1")
    world.rest()
    assert led(world) == []
    assert named(world) is None
