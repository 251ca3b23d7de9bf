"""A stuck release says so in time, with what is missing; and goes on when it can after all."""

from msgspec import structs

from controller.api.meta import Condition, Key
from controller.domain.rollout.phases import decide
from controller.domain.rollout.status import condition
from controller.simulation.world import World
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    inner_of,
    make_rollout,
    make_steps,
    make_strategy,
    make_world,
    ours_of,
    release,
    status_of,
    template,
    wait,
)
from tests.unit.domain.rollout.scenes import BOTH, approve, seconds


def limited(style: str = "partition") -> World:
    """A world at rest whose plan allows so many seconds a step."""
    strategy = structs.replace(
        make_strategy(steps=make_steps("20%", "50%"), style=style),
        progress_deadline_seconds=60,
    )
    return make_world(make_rollout(strategy=strategy))


def break_v2(world: World) -> None:
    """Pods of v2 never become ready."""
    world.people.fail_pods(frozenset({world.cluster.revision_of(template("v2"))}))


def stalled(world: World) -> Condition:
    found = condition(status_of(world), "Stalled")
    assert found is not None
    return found


@BOTH
def test_pods_that_do_not_become_ready_stall_the_release_in_time(style: str) -> None:
    world = limited(style)
    break_v2(world)
    release(world)
    wait(world, 55)
    assert stalled(world).status == "False"
    wait(world, 10)
    found = stalled(world)
    assert (found.status, found.reason) == ("True", "ProgressDeadlineExceeded")
    assert found.message.startswith(
        "step(1) has taken more than 60 s: 0 of 2 new pods are ready; not ready: web-"
    )
    assert status_of(world).message == found.message


@BOTH
def test_a_release_that_gets_through_after_all_is_no_longer_stalled(style: str) -> None:
    world = limited(style)
    break_v2(world)
    release(world)
    wait(world, 70)
    assert stalled(world).status == "True"
    world.people.heal()
    world.rest()
    assert stalled(world).status == "False"
    assert inner_of(world).current_step_state == "StepPaused"


def test_waiting_for_a_person_is_no_work() -> None:
    world = limited()
    release(world)
    world.rest()
    wait(world, 10_000)
    assert stalled(world).status == "False"
    approve(world)
    assert inner_of(world).current_step_index == 2


def test_the_deadline_itself_wakes_the_release() -> None:
    world = limited()
    break_v2(world)
    release(world)
    world.run_until(lambda: inner_of(world).current_step_state == "StepUpgrade")
    seen = world.observe(KEY)
    assert seen is not None
    began = ours_of(world).visits[-1].started_at
    assert began is not None
    assert decide(seen, world.cluster.now).wake_at == began + seconds(60)
    world.rest()
    assert stalled(world).status == "True"


def test_many_unready_pods_are_not_all_named() -> None:
    strategy = structs.replace(make_strategy(steps=make_steps("50%")), progress_deadline_seconds=10)
    world = make_world(make_rollout(strategy=strategy))
    break_v2(world)
    release(world)
    wait(world, 20)
    assert stalled(world).message.count("web-") <= 3


def test_an_end_that_takes_too_long_says_where_it_is() -> None:
    world = limited()
    release(world)
    world.rest()
    approve(world)
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: ours_of(world).goal == "Success")
    break_v2(world)
    wait(world, 90)
    found = stalled(world)
    assert found.status == "True"
    assert found.message == (
        "the end of the release (Success) has taken more than 60 s, it is at ResumeWorkload"
    )


def test_a_step_that_loses_its_pods_after_a_long_wait_has_its_time_again() -> None:
    world = limited()
    release(world)
    world.rest()
    wait(world, 10_000)
    break_v2(world)
    wait(world, 50)
    assert inner_of(world).current_step_state == "StepUpgrade"
    assert stalled(world).status == "False"
    wait(world, 20)
    assert stalled(world).reason == "ProgressDeadlineExceeded"


def test_a_problem_with_a_name_of_its_own_keeps_it() -> None:
    world = limited()
    world.cluster.services.delete(Key(NAMESPACE, "web"))
    release(world)
    wait(world, 90)
    assert stalled(world).reason == "ServiceNotFound"
