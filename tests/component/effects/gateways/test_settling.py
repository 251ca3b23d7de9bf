"""An object that names what a deeper one says, or an object made beside it, is written a grace period after that."""

import json
from typing import Any

import pytest

from controller.api.rollout import Step
from controller.domain.decision import Done, NotYet, Reference
from controller.domain.observation import RoutePresent
from controller.domain.traffic.drift.object_state import see_route
from controller.domain.traffic.plan.traffic_plan import announcement
from controller.effects.gateways import GatewayRoutes

from . import world
from .leading import BOTH, DR, VS, led, weights
from .world import ObjectServer, Scripts, plan, split

LABELS = {"version": "canary"}
DEEPER = ("Backend", "web")
THREE = world.references(VS, DR, DEEPER, shared=True)


def at(traffic: str = "20%", **labels: str) -> Any:
    return plan(BOTH, traffic, labels=labels or LABELS)


def named(server: ObjectServer, reference: Reference) -> str:
    """The content of an object that others may name, as a pass sees it."""
    raw = json.dumps(server.objects[reference.kind, reference.name]).encode()
    seen = see_route(reference, raw)
    assert isinstance(seen, RoutePresent)
    return seen.named


async def test_a_subset_is_written_in_one_pass_and_named_in_a_later_one(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    assert isinstance(await routes.ensure(at()), NotYet)
    assert server.writes == ["DestinationRule/web"]
    assert await routes.ensure(at()) == Done(wrote=True)
    assert server.writes == ["DestinationRule/web", "VirtualService/web"]


async def test_nothing_names_a_subset_until_the_wait_is_over(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await routes.ensure(at())
    outcome = await routes.ensure(at(), settles_in=2.5)
    assert isinstance(outcome, NotYet)
    assert outcome.wake_after == 2.5
    assert server.writes == ["DestinationRule/web"]


async def test_a_plan_that_changes_during_the_wait_does_not_end_it(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await routes.ensure(at())
    before = named(server, BOTH[1])
    assert isinstance(await routes.ensure(at("50%"), settles_in=2.5), NotYet)
    assert server.writes == ["DestinationRule/web", "DestinationRule/web"]
    assert named(server, BOTH[1]) == before, "the subset is the same, so its wait goes on"


async def test_a_step_that_changes_no_subset_is_written_in_one_pass(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await led(routes, at())
    server.writes.clear()
    before = named(server, BOTH[1])
    assert await routes.ensure(at("50%")) == Done(wrote=True)
    assert server.writes == ["DestinationRule/web", "VirtualService/web"]
    assert named(server, BOTH[1]) == before


async def test_other_labels_of_a_subset_are_waited_for(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await led(routes, at())
    before = named(server, BOTH[1])
    assert isinstance(await routes.ensure(at("50%", version="third")), NotYet)
    assert weights(server) == [80, 20]
    assert named(server, BOTH[1]) != before


async def test_a_route_that_names_nothing_else_does_not_wait(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    scripts.add("VirtualService", lambda obj: obj["data"], world.AFTER_RULE)
    assert await routes.ensure(at()) == Done(wrote=True)
    assert server.writes == ["DestinationRule/web", "VirtualService/web"]


async def test_a_deeper_object_without_a_change_delays_nothing_and_can_be_named_by_nobody(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    scripts.add("DestinationRule", lambda obj: obj["data"])
    assert await routes.ensure(at()) == Done(wrote=True)
    assert named(server, BOTH[1]) == ""


async def test_without_a_difference_in_depth_nothing_waits(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    scripts.add("VirtualService", split)
    assert await routes.ensure(at(), settles_in=2.5) == Done(wrote=True)
    assert [named(server, reference) for reference in BOTH] == ["", ""]


async def test_a_subset_that_somebody_deleted_is_put_back_at_once_and_named_again_later(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await led(routes, at())
    before = named(server, BOTH[1])
    server.edit(*DR, lambda rule: rule["spec"]["subsets"].pop())
    server.edit(*VS, lambda route: route["spec"]["http"][-1]["route"].pop())
    touched = named(server, BOTH[1])
    server.writes.clear()
    outcome = await routes.ensure(at(), settles_in=2.5)
    assert isinstance(outcome, NotYet)
    assert outcome.wake_after == 2.5
    assert server.writes == ["DestinationRule/web"]
    assert len({before, touched, named(server, BOTH[1])}) == 3
    assert await routes.ensure(at()) == Done(wrote=True)
    assert weights(server) == [80, 20]


async def test_a_subset_alone_that_somebody_deleted_is_put_back_without_any_wait(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await led(routes, at())
    server.edit(*DR, lambda rule: rule["spec"]["subsets"].pop())
    server.writes.clear()
    assert await routes.ensure(at(), settles_in=2.5) == Done(wrote=True)
    assert server.writes == ["DestinationRule/web"]


async def test_the_owners_change_beside_a_subset_is_no_other_subset(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    await led(routes, at())
    before = named(server, BOTH[1])
    server.edit(*DR, lambda rule: rule["spec"].update(trafficPolicy={"loadBalancer": {}}))
    assert await routes.ensure(at("50%")) == Done(wrote=True)
    assert named(server, BOTH[1]) == before


async def test_fields_that_a_server_adds_to_a_subset_are_no_other_subset(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    def defaulted(stored: dict[str, Any]) -> None:
        for entry in stored["spec"].get("subsets", ()):
            if entry["name"] == "canary":
                entry.setdefault("trafficPolicy", {})

    server.on_store = defaulted
    await led(routes, at())
    before = named(server, BOTH[1])
    assert await routes.ensure(at("50%")) == Done(wrote=True)
    assert named(server, BOTH[1]) == before


async def test_a_chain_of_three_is_written_from_the_deepest_in_three_passes(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    server.put(*DEEPER, {"weights": {}})

    def weighted(obj: Any) -> object:
        obj["data"]["spec"]["weights"] = {"canary": obj["canaryWeight"]}
        return obj["data"]

    scripts.add("Backend", weighted)
    scripts.headers["DestinationRule"] = "--@after networking.istio.io/Backend"
    wanted = plan(THREE, labels=LABELS)
    for number in (1, 2, 3):
        await routes.ensure(wanted)
        assert len(server.writes) == number
    assert server.writes == ["Backend/web", "DestinationRule/web", "VirtualService/web"]
    server.writes.clear()
    assert isinstance(await routes.ensure(plan(THREE, "50%", labels=LABELS)), NotYet)
    assert server.writes == ["Backend/web", "DestinationRule/web"], "the rule says nothing new"


async def test_an_announcement_waits_as_a_share_does(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes
) -> None:
    scripts.headers["DestinationRule"] += "\n--@announce"
    scripts.headers["VirtualService"] += "\n--@announce"
    assert isinstance(await routes.ensure(announcement(at())), NotYet)
    assert isinstance(await routes.ensure(announcement(at()), settles_in=1), NotYet)
    assert server.writes == ["DestinationRule/web"]
    assert await routes.ensure(announcement(at())) == Done(wrote=True)


def beside(obj: Any) -> object:
    """A Mapping that names a second one, which its script makes."""
    data, name = obj["data"], "web-canary"
    made: dict[str, Any] = {"apiVersion": "networking.istio.io/v1", "kind": "VirtualService"}
    spec = {"hosts": data["spec"]["hosts"], "weight": obj["canaryWeight"]}
    made |= {"metadata": {"name": name}, "spec": spec}
    data["spec"]["delegate"] = name
    return {**data, "objects": [made]}


@pytest.mark.parametrize("changes", [True, False])
async def test_an_object_is_made_in_one_pass_and_named_by_the_one_beside_it_in_a_later_one(
    server: ObjectServer, scripts: Scripts, routes: GatewayRoutes, changes: bool
) -> None:
    def alone(obj: Any) -> object:
        answer: Any = beside(obj)
        del answer["spec"]["delegate"]
        return answer

    scripts.add("VirtualService", beside if changes else alone)
    (reference,) = world.references(VS)
    wanted = plan((reference,), uid="u-1")
    first = await routes.ensure(wanted)
    if not changes:
        assert first == Done(wrote=True), "an object that names nothing of it does not wait"
        return
    assert isinstance(first, NotYet)
    assert server.writes == ["+VirtualService/web-canary"]
    assert isinstance(await routes.ensure(wanted, settles_in=2.5), NotYet)
    assert server.writes == ["+VirtualService/web-canary"]
    assert await routes.ensure(wanted) == Done(wrote=True)
    again = plan((reference,), uid="u-1", step=Step(traffic="50%"))
    assert await routes.ensure(again) == Done(wrote=True), "it exists already"
    assert server.spec("VirtualService", "web-canary")["weight"] == 50
