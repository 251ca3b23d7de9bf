"""Routes are restored from depth 0 downwards, one grace period apart, whatever ends or interrupts the release."""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from msgspec import structs

from controller.api.rollout import (
    BlueGreenStrategy,
    EmptySide,
    NetworkRef,
    Phase,
    RolloutStatus,
    Step,
    StepState,
    Strategy,
)
from controller.domain.decision import Decision, RestoreRoutes
from controller.domain.observation import RouteAbsent
from controller.domain.rollout.phases import decide
from controller.domain.rollout.routes.routing import GIVEN_BACK, SEVERAL
from tests.unit.builders import (
    GRACE,
    KEY,
    NAMESPACE,
    make_deployment,
    make_rollout,
    make_routing,
    make_step,
    make_steps,
    make_strategy,
    make_world,
    ours_of,
    release,
    status_of,
    wait,
    weight_of,
    with_spec,
)
from tests.unit.domain.rollout.scenes import BOTH, approve
from tests.unit.simulation.invariants import Watch
from tests.unit.worlds import World

ISTIO = "networking.istio.io/v1"
MARGIN = timedelta(seconds=GRACE)
POINTS, POINTED_AT = "VirtualService", "DestinationRule"
CHAIN = ((POINTS, 0), (POINTED_AT, 1))
DEEP = ((POINTS, 0), (POINTED_AT, 1), ("Backend", 2))
APART = ((POINTS, 0), (POINTED_AT, 0))


def chained(
    style: str = "partition",
    steps: tuple[Step, ...] | None = None,
    kinds: tuple[tuple[str, int], ...] = CHAIN,
) -> World:
    """A world whose Rollout leads objects of these kinds, each at its depth."""
    references = tuple(NetworkRef(ISTIO, kind, "web") for kind, _ in kinds)
    routings = (make_routing("web", *references),)
    if style == "blue-green":
        plan = BlueGreenStrategy(steps=(make_step("100%", "50%"),), traffic_routings=routings)
        rollout = with_spec(make_rollout(), strategy=Strategy(blue_green=plan))
    else:
        strategy = make_strategy(steps=steps, style=style)
        rollout = make_rollout(strategy=structs.replace(strategy, traffic_routings=routings))
    world = make_world(rollout)
    for kind, depth in kinds:
        world.put_route(NAMESPACE, kind, "web", depth=depth)
    Watch(world)
    return world


def underway(
    style: str = "partition",
    steps: tuple[Step, ...] | None = None,
    kinds: tuple[tuple[str, int], ...] = CHAIN,
) -> World:
    """A release that waits for people at step 1, with its routes in place."""
    world = chained(style, steps, kinds)
    release(world)
    world.rest()
    assert led(world) == [kind for kind, _ in kinds]
    return world


def led(world: World) -> list[str]:
    """Kinds whose object follows a plan."""
    seen = world.observe(KEY)
    routes = seen.routes if seen is not None else ()
    found = ((r.reference.kind, world.route(NAMESPACE, r.reference)) for r in routes)
    return [kind for kind, route in found if route is not None and route.plan is not None]


class Diary:
    """The times at which objects of a kind were restored."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._led = led(world)
        self.given_back: list[tuple[str, datetime]] = []
        world.watchers.append(self.look)

    def look(self) -> None:
        now = led(self._world)
        if self._world.observe(KEY) is None:
            return
        self.given_back += [(k, self._world.cluster.now) for k in self._led if k not in now]
        self._led = now

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.given_back]

    @property
    def gaps(self) -> list[timedelta]:
        """Time between one and the next."""
        times = [at for _, at in self.given_back]
        return [after - before for before, after in pairwise(times)]


def roll_back(world: World) -> None:
    release(world, "v1")


def lose_the_workload(world: World) -> None:
    world.cluster.deployments.remove(KEY)
    for replica_set in tuple(world.cluster.replica_sets):
        world.cluster.replica_sets.remove(replica_set.metadata.key)
    for pod in tuple(world.cluster.pods):
        world.cluster.pods.remove(pod.metadata.key)


ENDS: dict[str, Callable[[World], None]] = {
    "rollback": roll_back,
    "third revision": lambda world: release(world, "v3"),
    "disabling": lambda world: world.people.disable(KEY),
    "deletion": lambda world: world.cluster.rollouts.delete(KEY),
    "scaling away": lambda world: world.people.edit(KEY, replicas=0),
}


# --- at every end -------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("end", ENDS)
def test_an_object_behind_a_route_is_restored_a_grace_period_after_the_route(
    style: str, end: str
) -> None:
    world = underway(style)
    diary = Diary(world)
    began = world.cluster.now
    ENDS[end](world)
    wait(world, 60)
    assert diary.kinds[:2] == [POINTS, POINTED_AT]
    assert diary.gaps[0] >= MARGIN
    assert diary.given_back[0][1] < began + MARGIN, "who leads is given back at once"


@pytest.mark.parametrize("style", ["partition", "canary", "blue-green"])
def test_success_restores_the_routes_and_a_grace_period_later_the_objects_below_them(
    style: str,
) -> None:
    world = underway(style)
    diary = Diary(world)
    for _ in range(2):
        approve(world)
    wait(world, 60)
    assert status_of(world).phase == Phase.HEALTHY
    assert diary.kinds == [POINTS, POINTED_AT]
    assert diary.gaps[0] >= MARGIN


def test_a_step_without_traffic_begins_when_all_is_restored() -> None:
    world = underway(steps=make_steps("20%") + make_steps("40%", traffic=False))
    diary = Diary(world)
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: diary.kinds == [POINTS])
    assert ours_of(world).state == StepState.BEFORE_STEP_UPGRADE
    world.rest()
    assert diary.kinds == [POINTS, POINTED_AT]
    assert diary.gaps[0] >= MARGIN
    assert ours_of(world).state == StepState.STEP_PAUSED


@pytest.mark.parametrize("replaced", [True, False])
def test_a_workload_that_is_gone_keeps_the_grace_period_too(replaced: bool) -> None:
    world = underway("canary")
    world.watchers.clear()
    diary = Diary(world)
    lose_the_workload(world)
    if replaced:
        world.cluster.deployments.put(make_deployment())
    wait(world, 60)
    assert diary.kinds == [POINTS, POINTED_AT]
    assert diary.gaps[0] >= MARGIN


def test_three_depths_are_two_grace_periods_apart() -> None:
    world = underway(kinds=DEEP)
    diary = Diary(world)
    roll_back(world)
    wait(world, 60)
    assert diary.kinds == [POINTS, POINTED_AT, "Backend"]
    assert min(diary.gaps) >= MARGIN


@BOTH
def test_no_wait_begins_if_no_object_refers_to_another(style: str) -> None:
    def duration(world: World) -> timedelta:
        began = world.cluster.now
        roll_back(world)
        world.run_until(lambda: status_of(world).phase == Phase.HEALTHY)
        return world.cluster.now - began

    one = underway(style, kinds=((POINTS, 0),))
    two = underway(style, kinds=APART)
    diary = Diary(two)
    assert duration(two) == duration(one)
    assert diary.gaps == [timedelta()]


# --- crashes ------------------------------------------------------------------------------------


def test_a_crash_before_the_status_write_does_not_shorten_the_wait() -> None:
    world = underway()
    diary = Diary(world)
    roll_back(world)
    while not diary.kinds:
        world.pass_over(KEY, crash_after=1)
    world.restart()
    assert ours_of(world).route_plan != f"{GIVEN_BACK}1"
    wait(world, 60)
    assert diary.kinds == [POINTS, POINTED_AT]
    assert diary.gaps[0] >= MARGIN


def test_an_instant_that_was_lost_counts_as_now() -> None:
    world = underway()
    diary = Diary(world)
    roll_back(world)
    world.run_until(lambda: ours_of(world).route_plan == f"{GIVEN_BACK}1")
    wait(world, GRACE - 0.5)
    keep(world, routed_at=None)
    lost = world.cluster.now
    wait(world, 60)
    assert diary.kinds == [POINTS, POINTED_AT]
    assert diary.given_back[1][1] - lost >= MARGIN


def keep(world: World, **ours: object) -> None:
    """The stored position says something else."""
    rollout = world.cluster.rollouts[KEY]
    status = structs.replace(rollout.status, moonshift=structs.replace(ours_of(world), **ours))
    world.cluster.rollouts.put(structs.replace(rollout, status=status))


def decided(world: World) -> Decision:
    seen = world.observe(KEY)
    assert seen is not None
    return decide(seen, world.cluster.now)


def plan_kept(status: RolloutStatus, world: World) -> str:
    keep(world, route_plan=status.moonshift.route_plan)  # type: ignore[union-attr]
    return ours_of(world).route_plan


def stale(world: World) -> None:
    """The status still says that the routes were restored long ago, but they follow a plan again."""
    keep(world, route_plan=f"{GIVEN_BACK}1", routed_at=world.cluster.now - 10 * MARGIN)
    roll_back(world)


def test_a_route_that_leads_again_is_noted_before_it_is_restored_again() -> None:
    world = underway()
    stale(world)
    first = decided(world)
    assert not [a for a in first.actions if isinstance(a, RestoreRoutes)]
    assert plan_kept(first.status, world) == world.routes[0].plan.identity  # type: ignore[union-attr]
    second = decided(world)
    assert [a for a in second.actions if isinstance(a, RestoreRoutes)]


def test_routes_that_lead_again_and_differ_are_noted_as_several() -> None:
    world = underway(kinds=((POINTS, 0), ("Gateway", 0), (POINTED_AT, 1)))
    stale(world)
    world.put_route(NAMESPACE, "Gateway", "web")
    first = decided(world)
    assert not [a for a in first.actions if isinstance(a, RestoreRoutes)]
    assert plan_kept(first.status, world) == SEVERAL
    diary = Diary(world)
    wait(world, 60)
    assert diary.kinds == [POINTS, POINTED_AT]
    assert diary.gaps[0] >= MARGIN


# --- pods that are lost meanwhile ---------------------------------------------------------------


def lose_new_pods(world: World) -> None:
    seen = world.observe(KEY)
    assert seen is not None
    plan = status_of(world).canary_status
    new = {p.metadata.uid for p in world.cluster.pods if p.revision == plan.pod_template_hash}  # type: ignore[union-attr]
    world.people.fail_pods(frozenset(new))


def test_traffic_moved_from_lost_pods_leaves_the_targets_of_routes_for_its_return() -> None:
    world = underway("canary")
    world.watchers.clear()
    diary = Diary(world)
    lose_new_pods(world)
    wait(world, 30)
    assert diary.kinds == [POINTS]
    assert weight_of(world) is None
    world.people.heal()
    wait(world, 30)
    assert led(world) == [POINTS, POINTED_AT]
    assert ours_of(world).state == StepState.STEP_PAUSED


def test_traffic_that_leads_again_is_noted_before_it_is_withdrawn() -> None:
    world = underway("canary")
    world.watchers.clear()
    lose_new_pods(world)
    wait(world, GRACE / 2)
    long_ago = world.cluster.now - 10 * MARGIN
    keep(
        world,
        route_plan=f"{GIVEN_BACK}1",
        routed_at=long_ago,
        empty_sides={"new/web": EmptySide(since=long_ago)},
    )
    first = decided(world)
    assert not [a for a in first.actions if isinstance(a, RestoreRoutes)]
    assert not plan_kept(first.status, world).startswith(GIVEN_BACK)
    wait(world, 30)
    assert led(world) == [POINTED_AT]


def test_companions_of_a_deleted_route_go_before_the_objects_behind_the_route() -> None:
    world = underway()
    roll_back(world)
    seen = world.observe(KEY)
    assert seen is not None
    gone = structs.replace(seen.routes[0], state=RouteAbsent(left=True))
    decision = decide(structs.replace(seen, routes=(gone, *seen.routes[1:])), world.cluster.now)
    (restored,) = (a for a in decision.actions if isinstance(a, RestoreRoutes))
    assert [reference.kind for reference in restored.references] == [POINTS]
