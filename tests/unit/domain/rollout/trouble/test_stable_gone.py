"""A release without stable pods reports that, and people choose between a rollback and its end."""

from collections.abc import Callable

import pytest
from msgspec import structs

from controller.api.names import FREEZE_MIN_READY_SECONDS
from controller.api.rollout import Phase
from controller.domain import reasons
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    lose_kept,
    make_deployment,
    make_rollout,
    make_steps,
    make_strategy,
    make_world,
    release,
    revision_of,
    sizes_of,
    status_of,
    wait,
    workload_of,
)
from tests.unit.domain.rollout.moving.test_from_zero import at_half
from tests.unit.domain.rollout.scenes import approve, started
from tests.unit.worlds import World


def stalled(world: World) -> tuple[str, str]:
    """Reason and text."""
    reported = condition(status_of(world), "Stalled")
    assert reported is not None
    return reported.reason, reported.message


def deleted_stable(world: World) -> World:
    """`kubectl delete replicaset` of the stable one."""
    revision = revision_of(world, "v1")
    (stable,) = [rs for rs in world.cluster.replica_sets if rs.revision == revision]
    world.cluster.replica_sets.remove(stable.metadata.key)
    world.rest()
    return world


def gone_on(world: World) -> World:
    """Nobody answered and nobody looked: the Deployment went on to its end."""
    world.people.unheard = True
    world.people.replace(KEY, make_deployment(version="v2").spec)
    for _ in range(12):
        world.tick()
        world.cluster.set_clock(world.cluster.now + 3 * world.cluster.delays.ready)
    world.people.unheard = False
    assert sizes_of(world) == {"v2": 10}
    world.rest()
    return world


def lost_stable(world: World) -> World:
    """The same, and nothing keeps its template any more."""
    revision = revision_of(world, "v1")
    (stable,) = [rs for rs in world.cluster.replica_sets if rs.revision == revision]
    world.cluster.replica_sets.remove(stable.metadata.key)
    lose_kept(world)
    world.rest()
    return world


def test_a_stable_replica_set_that_is_kept_nowhere_is_reported() -> None:
    world = lost_stable(at_half("partition"))
    reason, text = stalled(world)
    assert reason == reasons.STABLE_REVISION_GONE
    assert f"its ReplicaSet web-{revision_of(world, 'v1')} was deleted" in text
    assert "undo web" not in text
    assert "apply the manifest of img:v1" in text
    assert "promote web" in text


def test_a_stable_replica_set_of_blue_green_that_is_kept_nowhere_is_reported() -> None:
    world = lost_stable(at_half("blueGreen"))
    reason, text = stalled(world)
    assert reason == reasons.STABLE_REVISION_GONE
    assert "undo web" not in text
    assert "promote web" in text


def test_a_canary_release_is_rolled_back_although_the_stable_replica_set_was_deleted() -> None:
    world = deleted_stable(at_half("canary"))
    release(world, "v1")
    world.rest()
    wait(world, 3)
    world.rest()
    assert sizes_of(world) == {"v1": 10}
    assert status_of(world).phase == Phase.HEALTHY
    assert all(route.plan is None for route in world.routes)


def test_a_deadline_takes_the_template_back_although_its_replica_set_was_deleted() -> None:
    strategy = structs.replace(
        make_strategy(steps=make_steps("100%"), traffic=False),
        progress_deadline_seconds=60,
        on_deadline_exceeded="Rollback",
    )
    world = make_world(make_rollout(strategy=strategy), make_deployment())
    stable = revision_of(world, "v1")
    release(world)
    world.watchers.append(lambda: break_new_pods(world, stable))
    world.rest()
    deleted_stable(world)
    assert stalled(world)[0] == ""
    wait(world, 120)
    assert sizes_of(world) == {"v1": 10}


def break_new_pods(world: World, stable: str) -> None:
    """Nothing but the stable version ever becomes ready."""
    world.cluster.broken |= {p.metadata.uid for p in world.cluster.pods if p.revision != stable}


def test_a_release_that_went_on_by_itself_is_held_and_reported() -> None:
    world = gone_on(at_half("partition"))
    reason, text = stalled(world)
    assert reason == reasons.STABLE_REVISION_GONE
    assert "wants none" in text
    assert workload_of(world).spec.min_ready_seconds == FREEZE_MIN_READY_SECONDS


def test_undo_goes_back_to_the_stable_version() -> None:
    world = gone_on(at_half("partition"))
    release(world, "v1")
    world.rest()
    assert sizes_of(world) == {"v1": 10}
    assert stalled(world)[0] == ""


@pytest.mark.parametrize("lose", [lost_stable, gone_on])
def test_promote_ends_the_release_with_the_running_version(lose: Callable[[World], World]) -> None:
    """It jumps to the last step, and approves that."""
    world = at_first_step()
    lose(world)
    assert stalled(world)[0] == reasons.STABLE_REVISION_GONE
    world.people.jump(KEY, 2)
    world.rest()
    assert stalled(world)[0] == reasons.STABLE_REVISION_GONE
    approve(world)
    assert sizes_of(world) == {"v2": 10}
    assert status_of(world).phase == "Healthy"
    assert workload_of(world).spec.min_ready_seconds == 0


def at_first_step() -> World:
    """A release that waits at 20 %."""
    return started(watched=False)


def test_a_step_that_takes_all_pods_is_no_loss() -> None:
    world = started(steps=make_steps("20%", "100%", "100%"), watched=False)
    approve(world)
    assert sizes_of(world) == {"v2": 10}
    assert stalled(world)[0] == ""


def test_undo_makes_stable_pods_although_nothing_kept_their_replica_set() -> None:
    """A paused Deployment creates no ReplicaSet: it is resumed with its stable template."""
    world = lost_stable(at_half("canary"))
    release(world, "v1")
    world.rest()
    assert sizes_of(world) == {"v1": 10}
    assert status_of(world).phase == Phase.HEALTHY
