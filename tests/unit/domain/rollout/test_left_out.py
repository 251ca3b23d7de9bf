"""Several gateways lead to a workload, and only some of them can match as a step asks."""

from msgspec import structs

from controller.api.rollout import (
    CanaryStrategy,
    HttpRouteMatch,
    IngressRef,
    PathMatch,
    Pause,
    Step,
    StepState,
    ValueMatch,
)
from controller.domain.rollout.routes.routing import routed_note
from controller.domain.rollout.words.release_value import as_stored
from controller.domain.rollout.words.status import condition
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
from tests.unit.worlds import World

BY_PATH = Step(
    replicas="20%", matches=(HttpRouteMatch(path=PathMatch("Exact", "/new")),), pause=Pause()
)
INGRESS = b'{"spec":{"defaultBackend":{"service":{"name":"web","port":{"number":80}}}}}'


def released(virtual_service: set[str], ingress: set[str], first: Step = BY_PATH) -> World:
    """A release by matches, then by weight, through a VirtualService and an Ingress that can express these words."""
    entry = structs.replace(make_routing("web", VIRTUAL_SERVICE), ingress=IngressRef(name="web"))
    steps = (first, make_step("50%", "50%"))
    strategy = CanaryStrategy(steps=steps, traffic_routings=(entry,))
    world = make_world(make_rollout(strategy=strategy))
    world.put_route(NAMESPACE, "Ingress", "web", INGRESS)
    world.scripts.can |= {"VirtualService": virtual_service, "Ingress": ingress}
    world.rest()
    release(world)
    world.rest()
    return world


def left_out(world: World) -> list[str]:
    """Kinds of the gateway objects that follow the plan and say nothing of it."""
    return [route.kind for route in world.routes if route.plan is not None and route.plan.left_out]


def test_a_gateway_that_cannot_match_is_left_out_of_that_step_only() -> None:
    world = released({"path", "weight"}, {"weight"})
    assert inner_of(world).current_step_index == 1
    assert left_out(world) == ["Ingress"]
    approve(world)
    assert inner_of(world).current_step_index == 2
    assert left_out(world) == []


def test_the_release_names_the_gateway_that_is_left_out() -> None:
    world = released({"path", "weight"}, {"weight"})
    seen = world.observe(KEY)
    assert seen is not None
    context = as_stored(seen, world.cluster.now)
    assert routed_note(context, 1).message == (
        "step(1): requests that match go to the new version; all that comes through Ingress class nginx (Ingress/web) "
        "goes to the stable version"
    )
    assert routed_note(context, 2).message == "step(2): 50% of the traffic goes to the new version"


def by(*matches: HttpRouteMatch) -> Step:
    return Step(replicas="20%", matches=matches, pause=Pause())


HEADER = HttpRouteMatch(headers=(ValueMatch(name="agent", value="pc"),))
PATH = BY_PATH.matches[0]
EVERYTHING = {"path", "header", "weight"}


def asked(world: World) -> dict[str, int]:
    """How many alternatives each gateway object was asked for."""
    return {route.kind: len(route.plan.matches) for route in world.routes if route.plan is not None}


def test_a_gateway_gets_the_alternatives_that_it_can_express() -> None:
    world = released(EVERYTHING, {"header", "weight"}, by(HEADER, PATH))
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    assert asked(world) == {"VirtualService": 2, "Ingress": 1}
    assert left_out(world) == []
    seen = world.observe(KEY)
    assert seen is not None
    context = as_stored(seen, world.cluster.now)
    assert routed_note(context, 1).message == (
        "step(1): requests that match go to the new version; through Ingress class nginx (Ingress/web) those of 1 of 2 "
        "matches do"
    )
    approve(world)
    assert inner_of(world).current_step_index == 2
    assert asked(world) == {"VirtualService": 0, "Ingress": 0}


def test_an_ingress_class_is_not_asked_for_two_alternatives_of_three() -> None:
    other = HttpRouteMatch(headers=(ValueMatch(name="agent", value="tv"),))
    world = released(EVERYTHING, {"header", "weight"}, by(HEADER, other, PATH))
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    assert left_out(world) == ["Ingress"]


def test_a_condition_that_a_gateway_cannot_say_is_never_dropped_from_an_alternative() -> None:
    both = structs.replace(HEADER, path=PATH.path)
    world = released(EVERYTHING, {"header", "weight"}, by(both))
    assert left_out(world) == ["Ingress"]


def test_a_match_that_no_gateway_can_say_stops_the_release_before_a_pod_is_made() -> None:
    world = released({"weight"}, {"weight"})
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert "VirtualService/web cannot match paths" in stalled.message
    assert sizes_of(world) == {"v1": 10}
