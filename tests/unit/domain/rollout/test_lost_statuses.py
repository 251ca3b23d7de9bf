"""The controller is killed again and again after it has acted, and before its status is written.

Claimed invariant: the next process never takes the controller's own changes of the workload for changes by people.
"""

from datetime import timedelta

import pytest
from msgspec import structs

from controller.api.rollout import RolloutStatus
from tests.unit.builders import (
    KEY,
    SETS,
    make_steps,
    ours_of,
    sizes_of,
    status_of,
    versions_of,
    wait,
)
from tests.unit.domain.rollout.moving import test_sets
from tests.unit.domain.rollout.scenes import approve, history, started
from tests.unit.worlds import World

LIVES = pytest.mark.parametrize("lives", [1, 2, 3, 5, 8])
MINUTE = timedelta(minutes=1)
ALL = ("20%", "50%", "100%")


def approved_but_not_written(world: World, lives: int) -> list[str]:
    """The step is approved, and this number of processes act on it and die. Return the requests of people in the
    status.
    """
    goals = history(world, lambda: ours_of(world).goal or ours_of(world).template_exchange)
    wait(world, 3)
    world.people.approve(KEY)
    stored = status_of(world)
    for _ in range(lives):
        world.pass_over(KEY)
        lose(world, stored)
        world.restart()
        for _ in range(8):
            world.tick()
        world.cluster.now += MINUTE
    world.rest()
    return goals


def lose(world: World, stored: RolloutStatus) -> None:
    """The status is as it was before the process began."""
    rollout = world.cluster.rollouts[KEY]
    world.cluster.rollouts.put(structs.replace(rollout, status=stored))


@LIVES
def test_a_deployment_goes_on_to_its_last_step(lives: int) -> None:
    world = started("partition", make_steps(*ALL), watched=False)
    approve(world)
    assert ours_of(world).step == 2
    assert set(approved_but_not_written(world, lives)) <= {"", "Success"}
    assert sizes_of(world) == {"v2": 10}


@LIVES
@pytest.mark.parametrize("which", SETS)
def test_a_set_goes_on_to_its_last_step(which: str, lives: int) -> None:
    world = test_sets.started(which, *ALL)
    approve(world)
    assert ours_of(world).step == 2
    assert set(approved_but_not_written(world, lives)) <= {"", "Success"}
    assert set(versions_of(world)) == {"v2"}


@LIVES
@pytest.mark.parametrize("which", SETS)
def test_a_set_goes_on_to_a_step_between(which: str, lives: int) -> None:
    world = test_sets.started(which, *ALL)
    assert ours_of(world).step == 1
    assert approved_but_not_written(world, lives) == [""]
    assert ours_of(world).step == 2
