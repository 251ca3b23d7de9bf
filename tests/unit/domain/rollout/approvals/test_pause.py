"""For whom a step waits: clients ask the function that the metrics ask, and it says what the pause decides."""

import pytest

from controller.api.analysis import Analysis
from controller.api.rollout import Pause, Step
from controller.cli.views.waiting import pause_of
from controller.domain.rollout.approvals.pause import awaits_approval, was_approved
from tests.unit.builders import KEY, make_rollout, make_step, make_strategy, make_world, release
from tests.unit.cli.situations import SITUATIONS
from tests.unit.domain.rollout.approvals.said import says_who_is_waited_for
from tests.unit.domain.rollout.approvals.test_analysing import gated, released
from tests.unit.worlds import World


def rollout_awaits(world: World) -> bool:
    return awaits_approval(world.cluster.rollouts[KEY])


@pytest.mark.parametrize("name", SITUATIONS)
def test_clients_and_the_controller_agree_in_every_situation(name: str) -> None:
    says_who_is_waited_for(SITUATIONS[name].begin())


@pytest.mark.parametrize("seconds", [0, 60])
@pytest.mark.parametrize("errors", [0.07, 0.001])
def test_a_gate_that_holds_a_timed_step_waits_for_a_person(seconds: int, errors: float) -> None:
    """The timer does not end it: whoever approves decides in the place of the gate."""
    world = released(gated(), pause=Pause(duration=seconds), errors=(errors,))
    held = errors > 0.01
    if held:
        assert rollout_awaits(world)
        assert not pause_of(world.cluster.rollouts[KEY])
    else:
        # without a pause, the step is over, and the next one has no timer
        assert rollout_awaits(world) is (seconds == 0)
    says_who_is_waited_for(world)


def test_a_gate_in_the_background_that_holds_a_timed_step_waits_for_a_person() -> None:
    background: Analysis = gated()
    world = released(None, background=background, pause=Pause(duration=3600), errors=(0.07,))
    assert rollout_awaits(world)
    says_who_is_waited_for(world)


@pytest.mark.parametrize("replicas", ["100%", "99%"])
def test_a_last_step_of_all_pods_waits_for_nobody(replicas: str) -> None:
    steps: tuple[Step, ...] = (make_step(replicas, "100%"),)
    world = make_world(make_rollout(strategy=make_strategy(steps=steps)))
    asked: list[bool] = []
    world.watchers.append(lambda: asked.append(rollout_awaits(world)))
    release(world)
    world.rest()
    assert any(asked) is (replicas == "99%")


def test_an_approval_that_arrived_ends_the_wait_for_one() -> None:
    world = make_world(make_rollout())
    release(world)
    world.rest()
    assert rollout_awaits(world)
    world.people.approve(KEY)
    status = world.cluster.rollouts[KEY].status
    assert was_approved(status)
    assert not rollout_awaits(world)
    says_who_is_waited_for(world)
