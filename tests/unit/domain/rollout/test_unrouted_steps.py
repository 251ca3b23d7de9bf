"""A step without traffic and matches after steps with them: traffic follows the pods."""

import pytest

from controller.api.rollout import Step, StepState
from tests.unit.builders import inner_of, make_steps, revision_of, sizes_of, weight_of
from tests.unit.domain.rollout.scenes import BOTH, approve, history, pin_of, started
from tests.unit.worlds import World

BETWEEN = make_steps("20%") + make_steps("40%", traffic=False) + make_steps("60%")
LAST = make_steps("20%") + make_steps("40%", traffic=False)


def versions_behind(world: World) -> set[str]:
    """Revisions that the stable Service leads to."""
    found = world.cluster.services
    return {
        pod.revision
        for service in found
        if service.metadata.name == "web"
        for pod in world.cluster.selected(service)
        if pod.ready_since is not None
    }


@pytest.mark.parametrize("steps", [BETWEEN, LAST], ids=["between", "last"])
@BOTH
def test_the_service_leads_to_both_revisions_and_the_routes_are_their_owners(
    style: str, steps: tuple[Step, ...]
) -> None:
    world = started(style, steps)
    approve(world)
    assert weight_of(world) is None
    assert pin_of(world) == ""
    assert len(versions_behind(world)) == 2


def services_of(world: World) -> set[str]:
    return {service.metadata.name for service in world.cluster.services}


@BOTH
def test_the_canary_service_goes_the_grace_period_after_the_routes_that_led_to_it(
    style: str,
) -> None:
    world = started(style, BETWEEN)
    assert "web-canary" in services_of(world)
    seen = history(world, lambda: (weight_of(world), "web-canary" in services_of(world)))
    approve(world)
    assert seen == [(20, True), (None, True), (None, False)]
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    approve(world)
    assert "web-canary" in services_of(world)
    assert weight_of(world) == 60


@BOTH
def test_the_next_step_with_traffic_pins_and_routes_again(style: str) -> None:
    world = started(style, BETWEEN)
    approve(world)
    approve(world)
    assert weight_of(world) == 60
    assert pin_of(world) == revision_of(world, "v1")


@pytest.mark.parametrize("steps", [BETWEEN, LAST], ids=["between", "last"])
@BOTH
def test_the_service_selects_both_revisions_before_it_gets_all_requests(
    style: str, steps: tuple[Step, ...]
) -> None:
    world = started(style, steps)
    seen = history(world, lambda: (weight_of(world), len(versions_behind(world))))
    approve(world)
    assert seen == [(20, 1), (20, 2), (None, 2)]


@BOTH
def test_a_release_with_an_unrouted_step_ends_like_every_other(style: str) -> None:
    world = started(style, BETWEEN)
    for _ in range(3):
        approve(world)
    assert sizes_of(world) == {"v2": 10}
    assert pin_of(world) == ""
