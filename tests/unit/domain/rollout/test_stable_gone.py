"""A release none of whose pods is stable any more says so, and goes back or to its end as people say."""

from collections.abc import Callable

import pytest

from controller.api.names import HOLD_MIN_READY_SECONDS
from controller.domain import reasons
from controller.domain.rollout.status import condition
from controller.simulation.world import World
from tests.unit.builders import (
    KEY,
    make_deployment,
    make_steps,
    release,
    revision_of,
    sizes_of,
    status_of,
    workload_of,
)
from tests.unit.domain.rollout.scenes import approve, started
from tests.unit.domain.rollout.test_from_zero import at_half


def stalled(world: World) -> tuple[str, str]:
    """Reason and text."""
    said = condition(status_of(world), "Stalled")
    assert said is not None
    return said.reason, said.message


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


@pytest.mark.parametrize("style", ["partition"])
def test_a_deleted_stable_replica_set_is_said(style: str) -> None:
    world = deleted_stable(at_half(style))
    reason, text = stalled(world)
    assert reason == reasons.STABLE_REVISION_GONE
    assert f"its ReplicaSet web-{revision_of(world, 'v1')} was deleted" in text
    assert "undo web" not in text
    assert "apply the manifest of img:v1" in text
    assert "promote web" in text


def test_a_release_that_went_on_by_itself_is_held_and_said() -> None:
    world = gone_on(at_half("partition"))
    reason, text = stalled(world)
    assert reason == reasons.STABLE_REVISION_GONE
    assert "wants none" in text
    assert workload_of(world).spec.min_ready_seconds == HOLD_MIN_READY_SECONDS


def test_undo_goes_back_to_the_stable_version() -> None:
    world = gone_on(at_half("partition"))
    release(world, "v1")
    world.rest()
    assert sizes_of(world) == {"v1": 10}
    assert stalled(world)[0] == ""


@pytest.mark.parametrize("lose", [deleted_stable, gone_on])
def test_promote_ends_the_release_with_what_runs(lose: Callable[[World], World]) -> None:
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
