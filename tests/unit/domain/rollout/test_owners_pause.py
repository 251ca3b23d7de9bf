"""A Deployment that its owner keeps paused does not move, whatever template comes, until its owner resumes it."""

import msgspec
import pytest

from controller.api.rollout import Phase, StepState
from controller.domain import reasons
from tests.unit.builders import (
    KEY,
    make_deployment,
    make_rollout,
    make_set_world,
    make_world,
    ours_of,
    release,
    release_set,
    sizes_of,
    status_of,
    strategy_of,
    versions_of,
    weight_of,
    workload_of,
)
from tests.unit.domain.rollout.moving.test_from_zero import finish
from tests.unit.domain.rollout.scenes import approve, reason_of, started
from tests.unit.worlds import World

MOVED = pytest.mark.parametrize("style", ["partition", "blueGreen"])
STYLES = pytest.mark.parametrize("style", ["partition", "canary", "blueGreen"])


def paused_at_step_one(style: str) -> World:
    """A release of v2 at its first step, and its owner's pause."""
    world = started(style)
    world.people.edit(KEY, paused=True)
    world.rest()
    return world


def resume(world: World) -> None:
    """Run `kubectl rollout resume`, and then the world until it rests."""
    world.people.edit(KEY, paused=False)
    world.rest()


@MOVED
def test_another_template_under_a_pause_waits_for_the_resume(style: str) -> None:
    world = paused_at_step_one(style)
    before = sizes_of(world)
    release(world, "v3")
    world.rest()
    assert reason_of(world, "Stalled") == reasons.PAUSED_BY_OWNER
    assert sizes_of(world) == before
    assert weight_of(world) is None
    approve(world)
    assert sizes_of(world) == before
    resume(world)
    assert reason_of(world, "Stalled") == ""
    assert sizes_of(world)["v3"] == 2
    assert "v2" not in sizes_of(world)
    finish(world)
    assert sizes_of(world) == {"v3": 10}
    assert not workload_of(world).spec.paused


@STYLES
def test_a_template_for_a_paused_deployment_waits_for_the_resume(style: str) -> None:
    world = make_world(make_rollout(style=style))
    world.people.edit(KEY, paused=True)
    release(world)
    world.rest()
    assert status_of(world).phase == Phase.PROGRESSING
    assert reason_of(world, "Stalled") == reasons.PAUSED_BY_OWNER
    assert sizes_of(world) == {"v1": 10}
    resume(world)
    assert reason_of(world, "Stalled") == ""
    assert ours_of(world).state == StepState.STEP_PAUSED
    finish(world)
    assert sizes_of(world) == {"v2": 10}
    assert not workload_of(world).spec.paused


def test_a_resume_that_no_webhook_saw_counts() -> None:
    world = paused_at_step_one("partition")
    release(world, "v3")
    world.rest()
    world.people.unheard = True
    world.people.edit(KEY, paused=False)
    world.people.unheard = False
    world.rest()
    assert reason_of(world, "Stalled") == ""
    assert sizes_of(world) == {"v1": 8, "v3": 2}
    finish(world)
    assert sizes_of(world) == {"v3": 10}
    assert not workload_of(world).spec.paused


def test_a_rollback_outranks_a_pause() -> None:
    world = paused_at_step_one("partition")
    release(world, "v1")
    world.rest()
    assert weight_of(world) is None
    assert sizes_of(world) == {"v1": 10}
    assert status_of(world).phase == Phase.HEALTHY
    assert workload_of(world).spec.paused


def test_a_rollback_of_blue_green_returns_the_traffic_and_the_pods_wait_for_the_resume() -> None:
    world = paused_at_step_one("blueGreen")
    release(world, "v1")
    world.rest()
    assert weight_of(world) is None
    assert sizes_of(world)["v1"] >= 10
    assert reason_of(world, "Stalled") == reasons.PAUSED_BY_OWNER
    resume(world)
    assert sizes_of(world) == {"v1": 10}
    assert status_of(world).phase == Phase.HEALTHY


def test_pods_that_a_pause_keeps_in_a_rollback_are_reported() -> None:
    """Its owner allows no surge, so the values that return are no scale event."""
    world = make_world(
        make_rollout(style="partition"), make_deployment(max_surge=0, max_unavailable="20%")
    )
    release(world)
    world.rest()
    world.people.edit(KEY, paused=True)
    release(world, "v1")
    world.rest()
    assert weight_of(world) is None
    assert sizes_of(world) == {"v1": 8, "v2": 2}
    assert reason_of(world, "Stalled") == reasons.PAUSED_BY_OWNER
    resume(world)
    assert sizes_of(world) == {"v1": 10}
    assert status_of(world).phase == Phase.HEALTHY


@MOVED
def test_the_last_approval_under_a_pause_moves_no_pod(style: str) -> None:
    world = started(style)
    approve(world)
    world.people.edit(KEY, paused=True)
    world.rest()
    before = sizes_of(world)
    approve(world)
    assert reason_of(world, "Stalled") == reasons.PAUSED_BY_OWNER
    assert sizes_of(world) == before
    resume(world)
    assert sizes_of(world) == {"v2": 10}
    assert status_of(world).phase == Phase.HEALTHY


def test_a_rollback_of_a_set_that_its_owner_paused_names_its_wait() -> None:
    world = make_set_world("CloneSet")
    release_set(world)
    world.rest()
    pause_set(world, paused=True)
    release_set(world, "v1")
    world.rest()
    assert reason_of(world, "Stalled") == reasons.PAUSED_BY_OWNER
    pause_set(world, paused=False)
    world.rest()
    assert versions_of(world) == {"v1": 5}
    assert status_of(world).phase == Phase.HEALTHY


def pause_set(world: World, *, paused: bool) -> None:
    """The owner's own pause, in the update strategy."""
    strategy = strategy_of(world)
    fields = {**strategy, "paused": paused}
    world.people.edit_set(KEY, update_strategy=msgspec.Raw(msgspec.json.encode(fields)))
