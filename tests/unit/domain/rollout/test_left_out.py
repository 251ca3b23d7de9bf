"""Several gateways lead to a workload, and only some of them can match as a step asks."""

import msgspec
from msgspec import structs

from controller.api.rollout import (
    CanaryStrategy,
    HttpRouteMatch,
    IngressRef,
    PathMatch,
    Pause,
    Step,
)
from controller.domain.rollout.routing import routed_note
from controller.domain.rollout.situation import Situation
from controller.domain.rollout.status import condition
from controller.domain.traffic.header import ScriptHeader
from controller.simulation.cluster import Route
from controller.simulation.world import World
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    VIRTUAL_SERVICE,
    inner_of,
    make_rollout,
    make_routing,
    make_step,
    make_world,
    release,
    sizes_of,
    status_of,
)
from tests.unit.domain.rollout.scenes import approve

BY_PATH = Step(
    replicas="20%", matches=(HttpRouteMatch(path=PathMatch("Exact", "/new")),), pause=Pause()
)


def released(virtual_service: set[str], ingress: set[str]) -> World:
    """A release by path, then by weight, through a VirtualService and an Ingress that can say these words."""
    entry = structs.replace(make_routing("web", VIRTUAL_SERVICE), ingress=IngressRef(name="web"))
    steps = (BY_PATH, make_step("50%", "50%"))
    strategy = CanaryStrategy(steps=steps, traffic_routings=(entry,))
    world = make_world(make_rollout(strategy=strategy))
    world.cluster.put_route(NAMESPACE, "Ingress", "web", Route(raw=msgspec.Raw(b"{}")))
    can = {"VirtualService": virtual_service, "Ingress": ingress}
    world.headers = lambda reference: ScriptHeader(can=frozenset(can[reference.kind]))
    world.rest()
    release(world)
    world.rest()
    return world


def left_out(world: World) -> list[list[str]]:
    """For each gateway object, the kinds that its plan leaves out."""
    plans = (route.plan for route in world.cluster.routes)
    return [[item.kind for item in plan.left_out] for plan in plans if plan is not None]


def test_a_gateway_that_cannot_match_is_left_out_of_that_step_only() -> None:
    world = released({"path", "weight"}, {"weight"})
    assert inner_of(world).current_step_index == 1
    assert left_out(world) == [["Ingress"], ["Ingress"]]
    approve(world)
    assert inner_of(world).current_step_index == 2
    assert left_out(world) == [[], []]


def test_the_release_says_which_gateway_is_left_out() -> None:
    world = released({"path", "weight"}, {"weight"})
    seen = world.observe(KEY)
    assert seen is not None
    sit = Situation(seen=seen, now=world.cluster.now)
    assert routed_note(sit, 1).message == (
        "step(1): requests that match go to the new version; all that comes through Ingress class nginx (Ingress/web) "
        "goes to the stable version"
    )
    assert routed_note(sit, 2).message == "step(2): 50% of the traffic goes to the new version"


def test_a_match_that_no_gateway_can_say_stops_the_release_before_a_pod_is_made() -> None:
    world = released({"weight"}, {"weight"})
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert "VirtualService/web cannot match paths" in stalled.message
    assert sizes_of(world) == {"v1": 10}
