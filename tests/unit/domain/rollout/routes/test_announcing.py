"""Proxies that learn of Services from routes: named without a share before the first and after the last."""

from datetime import datetime, timedelta

import pytest
from msgspec import structs

from controller.api.rollout import Phase, Step
from controller.domain.decision import EnsureRoutes
from controller.domain.rollout.phases import decide
from tests.unit.builders import (
    GRACE,
    KEY,
    NAMESPACE,
    VIRTUAL_SERVICE,
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
)
from tests.unit.domain.rollout.scenes import BOTH, approve
from tests.unit.simulation.invariants import Watch
from tests.unit.simulation.test_machine import POINTED_AT, rollout_of
from tests.unit.worlds import Led, World

MARGIN = timedelta(seconds=GRACE)


def announcing_world(style: str, steps: tuple[Step, ...] | None = None) -> World:
    """A world at rest whose one gateway object is of such a kind."""
    world = make_world(
        make_rollout(style=style, steps=steps or make_steps("20%", "50%")), make_deployment()
    )
    world.put_route(NAMESPACE, "VirtualService", "web", announces=True)
    Watch(world)
    return world


class Diary:
    """Every different content of the gateway object, and the time since which it had this content."""

    def __init__(self, world: World) -> None:
        self.pages: list[tuple[datetime, Led | None]] = []
        self._world = world
        world.watchers.append(self._look)
        self._look()

    def _look(self) -> None:
        plan = self._world.routes[0].plan
        if not self.pages or self.pages[-1][1] != plan:
            self.pages.append((self._world.cluster.now, plan))

    @property
    def words(self) -> list[str]:
        """Each page in a word: the owner's, named, or the share in percent."""
        return [
            "owner's" if p is None else "named" if p.announces else f"{p.weight:.0f} %"
            for _, p in self.pages
        ]

    def lasted(self, page: int) -> timedelta:
        """How long a page stood."""
        return self.pages[page + 1][0] - self.pages[page][0]


@BOTH
def test_a_service_is_named_for_the_grace_period_before_its_first_share_and_after_its_last(
    style: str,
) -> None:
    world = announcing_world(style)
    diary = Diary(world)
    release(world)
    world.rest()
    approve(world)
    approve(world)
    wait(world, 60)
    assert status_of(world).phase == Phase.HEALTHY
    assert diary.words == ["owner's", "named", "20 %", "50 %", "named", "owner's"]
    assert diary.lasted(1) >= MARGIN
    assert diary.lasted(4) >= MARGIN


def test_blue_green_takes_the_last_share_once_and_the_name_after_the_grace_period() -> None:
    rollout = rollout_of(make_steps("100%", "100%"), "blueGreen", (VIRTUAL_SERVICE,))
    world = make_world(rollout, make_deployment())
    world.put_route(NAMESPACE, "VirtualService", "web", announces=True)
    Watch(world)
    diary = Diary(world)
    release(world)
    world.rest()
    for _ in range(2):
        approve(world)
        wait(world, 30)
    assert status_of(world).phase == Phase.HEALTHY
    assert diary.words == ["owner's", "named", "100 %", "named", "owner's"]
    assert diary.lasted(3) >= MARGIN


@BOTH
def test_a_rollback_takes_the_share_first_and_the_name_after_the_grace_period(style: str) -> None:
    world = announcing_world(style)
    diary = Diary(world)
    release(world)
    world.rest()
    release(world, "v1")
    wait(world, 60)
    assert status_of(world).phase == Phase.HEALTHY
    assert diary.words == ["owner's", "named", "20 %", "named", "owner's"]
    assert diary.lasted(3) >= MARGIN


@BOTH
@pytest.mark.parametrize("also_the_service", [False, True])
def test_the_name_goes_after_the_share_when_the_workload_is_gone(
    style: str, also_the_service: bool
) -> None:
    world = announcing_world(style)
    diary = Diary(world)
    release(world)
    world.rest()
    world.cluster.deployments.remove(KEY)
    if also_the_service:
        world.cluster.services.remove(KEY)
    wait(world, 60)
    assert diary.words == ["owner's", "named", "20 %", "named", "owner's"]


@BOTH
def test_a_third_revision_is_announced_again(style: str) -> None:
    world = announcing_world(style)
    diary = Diary(world)
    release(world)
    world.rest()
    release(world, "v3")
    wait(world, 60)
    assert diary.words[3:] == ["named", "owner's", "named", "20 %"]


@BOTH
def test_a_step_without_traffic_in_between_withdraws_and_the_next_announces(style: str) -> None:
    steps = (make_step("20%", "20%"), make_step("30%"), make_step("50%", "50%"))
    world = announcing_world(style, steps)
    diary = Diary(world)
    release(world)
    world.rest()
    approve(world)
    approve(world)
    wait(world, 30)
    assert diary.words == ["owner's", "named", "20 %", "named", "owner's", "named", "50 %"]


@BOTH
def test_a_crash_before_the_status_of_a_restore_keeps_no_announcement_for_the_next_step(
    style: str,
) -> None:
    steps = (make_step("20%", "20%"), make_step("30%"), make_step("50%", "50%"))
    world = announcing_world(style, steps)
    diary = Diary(world)
    release(world)
    world.rest()
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: ours_of(world).withdrawn_at is not None)
    lost = status_of(world)
    world.run_until(lambda: diary.words[-1] == "owner's")
    rollout = world.cluster.rollouts[KEY]
    world.cluster.rollouts.put(structs.replace(rollout, status=lost))
    world.restart()
    world.rest()
    approve(world)
    assert diary.words == ["owner's", "named", "20 %", "named", "owner's", "named", "50 %"]


@BOTH
def test_other_kinds_are_written_no_more_often_than_before(style: str) -> None:
    world = make_world(make_rollout(style=style, steps=make_steps("20%", "50%")), make_deployment())
    diary = Diary(world)
    release(world)
    world.rest()
    release(world, "v1")
    wait(world, 60)
    assert diary.words == ["owner's", "20 %", "owner's"]


@BOTH
def test_the_instant_is_kept_so_that_a_crash_waits_longer_never_shorter(style: str) -> None:
    world = announcing_world(style)
    release(world)
    world.run_until(lambda: ours_of(world).announced_at is not None)
    world.run_until(lambda: weight_of(world) == 20)
    announced_at = ours_of(world).announced_at
    assert announced_at is not None
    assert world.cluster.now >= announced_at + MARGIN


@BOTH
def test_beside_an_object_of_another_kind_a_crash_costs_no_grace_period_either(style: str) -> None:
    strategy = make_strategy(steps=make_steps("20%", "50%"), style=style)
    routings = (make_routing("web", VIRTUAL_SERVICE, POINTED_AT),)
    rollout = make_rollout(strategy=structs.replace(strategy, traffic_routings=routings))
    world = make_world(rollout, make_deployment())
    world.put_route(NAMESPACE, "VirtualService", "web", announces=True)
    world.put_route(NAMESPACE, POINTED_AT.kind, "web", depth=1)
    Watch(world)
    diary = Diary(world)
    release(world)
    world.rest()
    crash_after_the_share_was_taken(world, diary)
    assert diary.words == ["owner's", "named", "20 %", "named", "owner's"]
    assert diary.lasted(3) >= MARGIN


def crash_after_the_share_was_taken(world: World, diary: Diary) -> None:
    """A rollback writes the object; the status that records it is lost."""
    before = status_of(world)
    release(world, "v1")
    world.run_until(lambda: diary.words[-1] == "named")
    rollout = world.cluster.rollouts[KEY]
    world.cluster.rollouts.put(structs.replace(rollout, status=before))
    world.restart()
    wait(world, 60)


def away_until(world: World, now: datetime) -> None:
    """The worker is away until then; the world goes on."""
    world.scripts.worker_is_away = True
    world.run_until(lambda: world.cluster.now >= now)
    world.scripts.worker_is_away = False


@BOTH
def test_a_worker_that_restarts_when_the_share_is_taken_is_asked_again(style: str) -> None:
    world = announcing_world(style)
    diary = Diary(world)
    release(world)
    world.rest()
    release(world, "v1")
    away_until(world, world.cluster.now + timedelta(seconds=GRACE + 2))
    wait(world, 60)
    assert status_of(world).phase == Phase.HEALTHY
    assert diary.words == ["owner's", "named", "20 %", "named", "owner's"]
    assert diary.lasted(3) >= MARGIN


@pytest.mark.parametrize("away", [4, 40])
@BOTH
def test_a_worker_that_is_away_when_services_are_to_be_named_is_asked_again(
    style: str, away: float
) -> None:
    world = announcing_world(style)
    diary = Diary(world)
    release(world)
    world.run_until(lambda: ours_of(world).state == "StepUpgrade")
    away_until(world, world.cluster.now + timedelta(seconds=GRACE + away))
    wait(world, 30)
    assert diary.words == ["owner's", "named", "20 %"]
    assert diary.lasted(1) >= MARGIN


@BOTH
def test_a_crash_between_the_write_and_its_status_costs_no_grace_period(style: str) -> None:
    world = announcing_world(style)
    diary = Diary(world)
    release(world)
    world.rest()
    crash_after_the_share_was_taken(world, diary)
    assert diary.words == ["owner's", "named", "20 %", "named", "owner's"]
    assert diary.lasted(3) >= MARGIN


@pytest.mark.parametrize("gone", [True, False])
def test_a_failed_withdrawal_does_not_prevent_restoring(gone: bool) -> None:
    world = announcing_world("canary")
    release(world)
    world.rest()
    # From here on the effect leaves the object alone: its script is gone, or announces no more.
    world.scripts.announcing.clear()
    if gone:
        world.scripts.missing_of["VirtualService"] = "there is no script"
    release(world, "v1")
    wait(world, 60)
    assert status_of(world).phase == Phase.HEALTHY
    assert weight_of(world) is None


def test_while_the_last_share_is_being_taken_a_pass_repeats_nothing() -> None:
    world = announcing_world("canary")
    release(world)
    world.rest()
    release(world, "v1")
    world.run_until(lambda: ours_of(world).withdrawn_at is not None)
    seen = world.observe(KEY)
    assert seen is not None
    decision = decide(seen, world.cluster.now)
    assert not any(isinstance(action, EnsureRoutes) for action in decision.actions)
    assert decision.wake_at is not None


@BOTH
def test_a_release_that_never_had_a_share_is_only_named_before_it_is_rolled_back(
    style: str,
) -> None:
    world = announcing_world(style)
    diary = Diary(world)
    release(world)
    world.run_until(lambda: diary.words[-1] == "named")
    release(world, "v1")
    wait(world, 60)
    assert diary.words == ["owner's", "named", "owner's"]
    assert status_of(world).phase == Phase.HEALTHY


@BOTH
def test_a_release_begun_by_an_older_version_counts_as_announced(style: str) -> None:
    world = announcing_world(style)
    diary = Diary(world)
    release(world)
    world.rest()
    rollout = world.cluster.rollouts[KEY]
    older = structs.replace(ours_of(world), announced_at=None)
    status = structs.replace(rollout.status, moonshift=older)
    world.cluster.rollouts.put(structs.replace(rollout, status=status))
    approve(world)
    assert diary.words == ["owner's", "named", "20 %", "50 %"]
    assert ours_of(world).announced_at is not None
