"""A plan leaves out an object that cannot express its matches: that object leads to the stable revision, as its owner
wrote it."""

import json
from typing import Any

from controller.api.rollout import (
    HttpRouteMatch,
    IngressRef,
    NetworkRef,
    PathMatch,
    Step,
    TrafficRoutingRef,
)
from controller.domain.decision import Done, PartialMatches, RestoreRoutes, RoutePlan
from controller.domain.traffic.drift.object_state import see_route
from controller.domain.traffic.plan.traffic_plan import references_of, route_plan
from controller.effects.gateways import GatewayRoutes

from .leading import VS, rules, weights
from .test_companions import SPEC, UID, weight
from .world import NAMESPACE, ObjectServer, Scripts, split

ROUTE = NetworkRef(api_version="networking.istio.io/v1", kind="VirtualService", name="web")
REFS = references_of(
    (TrafficRoutingRef("web", custom_network_refs=(ROUTE,), ingress=IngressRef(name="web")),),
    disable_generate=False,
)
BY_PATH = Step(matches=(HttpRouteMatch(path=PathMatch("Exact", "/new")),))


def by_plan(obj: Any) -> object:
    """Weights, or one rule more for matches."""
    if "matches" not in obj:
        return split(obj)
    obj["data"]["spec"]["http"].insert(0, {"match": obj["matches"]})
    return obj["data"]


class Scene:
    """A VirtualService and an Ingress, of which one cannot match; the one that is left out is of `kind`."""

    def __init__(self, kind: str, header: str = "") -> None:
        self.server, self.scripts = ObjectServer(), Scripts()
        self.server.put(*VS, rules(), annotations={"team": "a"})
        self.server.put("Ingress", "web", SPEC)
        self.server.objects["Ingress", "web"]["apiVersion"] = "networking.k8s.io/v1"
        self.scripts.add("VirtualService", by_plan, header)
        self.scripts.add("Ingress", weight)
        self.routes = GatewayRoutes(self.server, self.scripts, self.scripts)
        self.left = tuple(item for item in REFS if item.kind == kind)
        self.before = [self.server.content(*key) for key in self.server.objects]

    def matched(self) -> RoutePlan:
        return self.plan(BY_PATH, self.left)

    def plan(
        self, step: Step, left: Any = (), partial: tuple[PartialMatches, ...] = ()
    ) -> RoutePlan:
        return route_plan(
            namespace=NAMESPACE,
            rollout="web",
            release="r1",
            references=REFS,
            step=step,
            rollout_uid=UID,
            left_out=left,
            partial=partial,
        )

    def followed(self) -> set[str]:
        """The plans the objects follow."""
        seen = [
            see_route(item, json.dumps(self.server.objects[item.kind, item.name]).encode())
            for item in REFS
        ]
        return {getattr(state, "plan", "") for state in seen}


async def test_the_canary_ingress_goes_while_its_ingress_is_left_out() -> None:
    scene = Scene("Ingress")
    await scene.routes.ensure(scene.plan(Step(traffic="20%")))
    assert ("Ingress", "web-canary") in scene.server.objects
    assert await scene.routes.ensure(scene.matched()) == Done(wrote=True)
    assert ("Ingress", "web-canary") not in scene.server.objects
    assert scene.server.spec("Ingress", "web") == SPEC
    assert len(scene.server.spec(*VS)["http"]) == 3
    assert scene.followed() == {scene.matched().identity}
    assert await scene.routes.ensure(scene.matched()) == Done(wrote=False)


async def test_a_route_that_is_left_out_is_as_its_owner_wrote_it_until_it_is_led_again() -> None:
    scene = Scene("VirtualService")
    await scene.routes.ensure(scene.plan(Step(traffic="20%")))
    await scene.routes.ensure(scene.matched())
    assert scene.server.spec(*VS) == rules()
    await scene.routes.ensure(scene.plan(Step(traffic="50%")))
    assert weights(scene.server) == [50, 50]


async def test_a_route_has_the_alternatives_that_it_can_express_and_no_other() -> None:
    scene = Scene("none")
    scene.server.objects[VS]["apiVersion"] = "networking.istio.io/v1beta1"
    (reported,) = BY_PATH.matches
    other = HttpRouteMatch(path=PathMatch("Exact", "/other"))
    whole = scene.plan(Step(matches=(reported, other)))
    part = scene.plan(
        Step(matches=(reported, other)), partial=(PartialMatches(REFS[0], (reported,)),)
    )
    assert part.identity != whole.identity
    assert await scene.routes.ensure(part) == Done(wrote=True)
    first = scene.server.spec(*VS)["http"][0]
    assert [match["path"]["value"] for match in first["match"]] == ["/new"]
    assert scene.followed() == {part.identity}
    assert await scene.routes.ensure(part) == Done(wrote=False)


async def test_the_owners_changes_during_the_release_are_kept() -> None:
    scene = Scene("VirtualService")
    await scene.routes.ensure(scene.matched())
    scene.server.edit(*VS, lambda obj: obj["spec"]["hosts"].append("new.example.com"))
    assert await scene.routes.ensure(scene.matched()) == Done(wrote=True)
    assert await scene.routes.ensure(scene.matched()) == Done(wrote=False)
    action = RestoreRoutes(NAMESPACE, REFS, "r1", "web", UID)
    assert await scene.routes.restore(action) == Done(wrote=True)
    assert scene.server.spec(*VS)["hosts"] == ["web.example.com", "new.example.com"]
    assert scene.server.spec(*VS)["http"] == rules()["http"]


async def test_an_announcing_kind_keeps_naming_the_canary_service() -> None:
    scene = Scene("VirtualService", "--@announce")
    await scene.routes.ensure(scene.matched())
    assert weights(scene.server) == [100, 0]


async def test_an_object_of_two_services_is_left_out_for_one_of_them() -> None:
    scene = Scene("Ingress")
    entries = tuple(TrafficRoutingRef(name, custom_network_refs=(ROUTE,)) for name in ("web", "x"))
    first, second = references_of(entries, disable_generate=False)
    plan = route_plan(
        namespace=NAMESPACE,
        rollout="web",
        release="r1",
        references=(first, second),
        step=BY_PATH,
        left_out=(second,),
    )
    await scene.routes.ensure(plan)
    assert len(scene.server.spec(*VS)["http"]) == 3, "one script was asked, not two"
