"""A release asks whether its own objects are accepted before it changes anything."""

import pytest

from controller.api.rollout import BlueGreenStrategy, Rollout, Strategy
from tests.unit.builders import (
    make_rollout,
    make_routing,
    make_steps,
    make_world,
    release,
    sizes_of,
    wait,
    with_spec,
    workload_of,
)
from tests.unit.domain.rollout.moving.test_from_zero import at_half
from tests.unit.domain.rollout.scenes import approve, pin_of, reason_of
from tests.unit.worlds import World


def rollout_of(style: str) -> Rollout:
    if style != "blueGreen":
        return make_rollout(style=style)
    plan = BlueGreenStrategy(steps=make_steps("20%", "50%"), traffic_routings=(make_routing(),))
    return with_spec(make_rollout(), strategy=Strategy(blue_green=plan))


def refusing(style: str, plural: str) -> World:
    """The API server lets nobody create objects of this kind."""
    world = make_world(rollout_of(style))
    world.cluster.server.forbidden.add(("create", plural))
    release(world)
    world.rest()
    return world


@pytest.mark.parametrize(
    ("style", "plural"),
    [("canary", "services"), ("canary", "deployments"), ("blueGreen", "services")],
)
def test_a_refused_object_stalls_the_release_before_it_changes_anything(
    style: str, plural: str
) -> None:
    world = refusing(style, plural)
    assert reason_of(world, "Stalled") == "Forbidden"
    assert sizes_of(world) == {"v1": 10}
    assert pin_of(world) == ""
    assert all(route.plan is None for route in world.routes)


@pytest.mark.parametrize("style", ["canary", "blueGreen"])
def test_the_release_begins_as_soon_as_its_objects_are_accepted(style: str) -> None:
    world = refusing(style, "services")
    world.cluster.server.forbidden.clear()
    wait(world, 60)
    assert reason_of(world, "Stalled") == ""
    assert len(sizes_of(world)) == 2


@pytest.mark.parametrize("style", ["canary", "blueGreen"])
def test_nothing_is_asked_again_later_in_the_release(style: str) -> None:
    world = at_half(style)
    world.cluster.server.forbidden.update({("create", "services"), ("create", "deployments")})
    approve(world)
    approve(world)
    assert sizes_of(world) == {"v2": 10}
    assert workload_of(world).spec.paused is False
