"""Time that the product itself chooses to wait is never work: no deadline counts it, in any step and at any end."""

import pytest
from msgspec import structs

from controller.api.rollout import (
    BlueGreenStrategy,
    NetworkRef,
    Phase,
    Strategy,
    TrafficRoutingRef,
)
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    BLUE_GREEN,
    KEY,
    NAMESPACE,
    make_deployment,
    make_rollout,
    make_steps,
    make_strategy,
    make_world,
    ours_of,
    release,
    revision_of,
    status_of,
    wait,
    with_spec,
)
from tests.unit.domain.rollout.scenes import approve, reason_of
from tests.unit.worlds import World

STYLES = pytest.mark.parametrize("style", ["partition", "canary", BLUE_GREEN])
GATEWAYS = pytest.mark.parametrize("gateway", ["plain", "deep", "announcing"])
GRACE = 50
DEADLINE = 20
ISTIO = "networking.istio.io/v1"


def patient(style: str, gateway: str, *, min_ready_seconds: int = 0) -> World:
    """Every step may work for 20 s, and each grace period lasts 50 s."""
    refs = [NetworkRef(ISTIO, "VirtualService", "web")]
    if gateway == "deep":
        refs.append(NetworkRef(ISTIO, "DestinationRule", "web"))
    if gateway == "announcing":
        refs = [NetworkRef("gateway.networking.k8s.io/v1", "HTTPRoute", "web")]
    routing = TrafficRoutingRef(
        service="web", grace_period_seconds=GRACE, custom_network_refs=tuple(refs)
    )
    plan = structs.replace(
        make_strategy(
            steps=make_steps("20%", "50%"), style="canary" if style == "canary" else "partition"
        ),
        traffic_routings=(routing,),
        progress_deadline_seconds=DEADLINE,
        on_deadline_exceeded="Rollback",
    )
    rollout = make_rollout(strategy=plan)
    if style == BLUE_GREEN:
        blue_green = BlueGreenStrategy(
            steps=plan.steps,
            traffic_routings=plan.traffic_routings,
            progress_deadline_seconds=DEADLINE,
            on_deadline_exceeded="Rollback",
        )
        rollout = with_spec(rollout, strategy=Strategy(blue_green=blue_green))
    world = make_world(rollout, make_deployment(replicas=4, min_ready_seconds=min_ready_seconds))
    for ref in refs:
        world.put_route(
            NAMESPACE,
            ref.kind,
            ref.name,
            depth=1 if ref.kind == "DestinationRule" else 0,
            announces=gateway == "announcing",
        )
    world.rest()
    return world


def stalls(world: World) -> list[str]:
    """Every reason for which the Rollout is stalled from now on."""
    found: list[str] = []

    def note() -> None:
        rollout = world.cluster.rollouts.get(KEY)
        stalled = condition(rollout.status, "Stalled") if rollout is not None else None
        if stalled is not None and stalled.status == "True":
            found.append(stalled.message)

    world.watchers.append(note)
    return found


@STYLES
@GATEWAYS
def test_grace_periods_do_not_count_against_the_deadline_of_a_step(
    style: str, gateway: str
) -> None:
    world = patient(style, gateway)
    found = stalls(world)
    release(world)
    world.rest()
    assert (ours_of(world).state, ours_of(world).step) == ("StepPaused", 1)
    approve(world)
    assert (ours_of(world).state, ours_of(world).step) == ("StepPaused", 2)
    approve(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert reason_of(world, "Succeeded") is not None
    assert not ours_of(world).failed_template
    assert not found


@STYLES
@GATEWAYS
def test_grace_periods_do_not_count_against_the_deadline_of_a_rollback(
    style: str, gateway: str
) -> None:
    world = patient(style, gateway)
    release(world)
    world.rest()
    found = stalls(world)
    release(world, "v1")
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert not found


@STYLES
def test_a_step_has_its_whole_time_for_work_beside_the_grace_periods(style: str) -> None:
    """A pod that fails after a grace period gets the deadline, no more and no less."""
    world = patient(style, "plain")
    world.people.fail_pods(frozenset({revision_of(world, "v2")}))
    release(world)
    wait(world, DEADLINE + 5)
    assert ours_of(world).failed_template


@STYLES
def test_waits_before_the_failure_are_not_counted_twice(style: str) -> None:
    world = patient(style, "plain")
    release(world)
    wait(world, GRACE / 2)
    pods = [pod.metadata.uid for pod in world.cluster.pods]
    assert pods
    world.people.fail_pods(frozenset({revision_of(world, "v2")}))
    wait(world, DEADLINE - 5)
    assert not ours_of(world).failed_template
    wait(world, 15)
    assert ours_of(world).failed_template


def test_the_owners_own_time_is_work() -> None:
    """`minReadySeconds` says when a pod counts as ready: its owner chose it."""
    world = patient("partition", "plain", min_ready_seconds=DEADLINE + 10)
    release(world)
    wait(world, DEADLINE + 5)
    assert ours_of(world).failed_template
