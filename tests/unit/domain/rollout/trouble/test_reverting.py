"""A stuck revision is rolled back if the plan says so, and held if it is applied again."""

from datetime import timedelta

import pytest
from msgspec import structs

from controller.api.rollout import MoonshiftStatus, Phase, StepState
from controller.domain import reasons
from controller.domain.rollout.trouble.deadline import with_deadline
from controller.domain.rollout.words.release_value import as_stored
from controller.domain.rollout.words.status import condition
from controller.domain.rollout.words.transition import Stop
from tests.unit.builders import (
    KEY,
    SETS,
    inner_of,
    make_rollout,
    make_set_world,
    make_steps,
    make_strategy,
    make_world,
    ours_of,
    release,
    release_set,
    revision_of,
    status_of,
    template,
    versions_of,
    wait,
    workload_of,
)
from tests.unit.domain.rollout.scenes import BOTH, approve, pin_of
from tests.unit.simulation.invariants import Watch
from tests.unit.worlds import World


def impatient(style: str = "partition") -> World:
    """A world at rest whose plan takes a step back that has taken a minute."""
    strategy = structs.replace(
        make_strategy(steps=make_steps("20%", "50%"), style=style),
        progress_deadline_seconds=60,
        on_deadline_exceeded="Rollback",
    )
    world = make_world(make_rollout(strategy=strategy))
    Watch(world)
    return world


def stuck(world: World) -> None:
    """v2 is released, and its pods never become ready."""
    world.people.fail_pods(frozenset({world.cluster.revision_of(template("v2"))}))
    release(world)
    world.rest()


def template_of(world: World) -> str:
    """Which version the workload asks for."""
    present = world.cluster.hash_of(workload_of(world).spec.template)
    return next(v for v in ("v1", "v2") if world.cluster.hash_of(template(v)) == present)


def stalled(world: World) -> str:
    found = condition(status_of(world), "Stalled")
    return found.reason if found is not None and found.status == "True" else ""


@BOTH
def test_a_stuck_revision_is_rolled_back_and_traffic_with_it(style: str) -> None:
    world = impatient(style)
    stuck(world)
    assert template_of(world) == "v1"
    assert status_of(world).phase == Phase.HEALTHY
    assert condition(status_of(world), "Succeeded").status == "False"  # type: ignore[union-attr] # just ended
    assert pin_of(world) == ""
    assert {pod.revision for pod in world.cluster.pods} == {
        world.cluster.revision_of(template("v1"))
    }


@BOTH
def test_a_step_that_gets_through_in_time_is_not_rolled_back(style: str) -> None:
    world = impatient(style)
    release(world)
    world.rest()
    wait(world, 1000)
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    approve(world)
    approve(world)
    assert template_of(world) == "v2"


@BOTH
def test_a_revision_that_was_given_up_is_held_until_somebody_says_retry(style: str) -> None:
    world = impatient(style)
    stuck(world)
    release(world)
    wait(world, 500)
    assert stalled(world) == reasons.REVISION_FAILED
    assert "kubectl moonshift retry web" in status_of(world).message
    assert {pod.revision for pod in world.cluster.pods} == {
        world.cluster.revision_of(template("v1"))
    }
    world.people.heal()
    rollout = world.cluster.rollouts[KEY]
    ours: MoonshiftStatus = structs.replace(ours_of(world), failed_template="")
    status = structs.replace(rollout.status, moonshift=ours)
    world.cluster.rollouts.put(structs.replace(rollout, status=status))
    world.rest()
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    assert stalled(world) == ""


def test_another_revision_is_not_held() -> None:
    world = impatient()
    stuck(world)
    release(world, "v3")
    world.rest()
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED


def test_where_the_stable_template_is_not_kept_nothing_is_rolled_back() -> None:
    world = impatient()
    world.people.fail_pods(frozenset({world.cluster.revision_of(template("v2"))}))
    release(world)
    world.run_until(lambda: inner_of(world).current_step_state == StepState.STEP_UPGRADE)
    seen = world.observe(KEY)
    assert seen is not None
    assert seen.workload is not None
    lost = structs.replace(seen, workload=structs.replace(seen.workload, replica_sets=()), kept=())
    late = world.cluster.now + timedelta(hours=1)
    stop = with_deadline(as_stored(lost, late), Stop(status_of(world)))
    assert stop.actions == ()
    assert stop.problem is not None
    assert stop.problem.reason == reasons.DEADLINE_EXCEEDED


@pytest.mark.parametrize("which", SETS)
def test_a_stuck_revision_of_a_set_is_rolled_back(which: str) -> None:
    strategy = structs.replace(
        make_strategy(steps=make_steps("20%", "40%", traffic=False), traffic=False),
        progress_deadline_seconds=60,
        on_deadline_exceeded="Rollback",
    )
    world = make_set_world(which, strategy=strategy)
    release_set(world)
    name = revision_of(world, "v2")
    world.people.fail_pods(frozenset({name, f"web-{name}"}))
    world.rest()
    wait(world, 300)
    assert versions_of(world) == {"v1": 5}
    assert ours_of(world).failed_template
    assert status_of(world).phase == Phase.HEALTHY
