"""Objects beside a gateway object: made before it, kept as written, removed after it, and nobody else's touched."""

from typing import Any

import msgspec

from controller.api import names
from controller.api.rollout import IngressRef, TrafficRoutingRef
from controller.domain.decision import (
    Done,
    Outcome,
    Reference,
    Refusal,
    RestoreRoutes,
)
from controller.domain.traffic.plan.traffic_plan import references_of
from controller.effects.gateways import GatewayRoutes
from tests.component.effects.gateways.world import NAMESPACE, ObjectServer, Scripts, plan

UID = "rollout-1"
REFS = references_of(
    (TrafficRoutingRef(service="web", ingress=IngressRef(name="web", class_type="nginx")),),
    disable_generate=False,
)
SPEC = {"rules": [{"host": "h", "http": {"paths": [{"backend": {"service": {"name": "web"}}}]}}]}


def weight(obj: Any) -> object:
    return {**obj.get("annotations", {}), "weight": obj["weight"]}


class Scene:
    """One Ingress, one class script, one Rollout."""

    def __init__(self, script: Any = weight) -> None:
        self.server, self.scripts = ObjectServer(), Scripts()
        self.server.put("Ingress", "web", SPEC, annotations={"owner": "me"})
        self.server.objects["Ingress", "web"]["apiVersion"] = "networking.k8s.io/v1"
        self.scripts.add("Ingress", script)
        self.routes = GatewayRoutes(self.server, self.scripts, self.scripts)
        self.before = self.server.content("Ingress", "web")

    async def ensure(self, traffic: str = "20%") -> Outcome:
        return await self.routes.ensure(plan(REFS, traffic, uid=UID))

    async def restore(self) -> Outcome:
        return await self.routes.restore(RestoreRoutes(NAMESPACE, REFS, "r1", "web", UID))

    def canary(self, name: str = "web-canary") -> Any:
        return self.server.objects.get(("Ingress", name))


async def test_the_canary_ingress_is_made_followed_and_removed() -> None:
    scene = Scene()
    assert await scene.ensure() == Done(wrote=True)
    made = scene.canary()
    assert (
        made["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] == "web-canary"
    )
    assert made["metadata"]["annotations"]["weight"] == "20"
    assert made["metadata"]["labels"] == {names.ROLLOUT_UID: UID}
    assert scene.server.spec("Ingress", "web") == SPEC
    assert await scene.ensure() == Done()
    assert await scene.ensure("40%") == Done(wrote=True)
    assert scene.canary()["metadata"]["annotations"]["weight"] == "40"
    assert await scene.restore() == Done(wrote=True)
    assert scene.canary() is None
    assert scene.server.content("Ingress", "web") == scene.before
    assert await scene.restore() == Done()


async def test_a_companion_object_is_created_before_and_removed_after_the_object() -> None:
    scene = Scene()
    await scene.ensure()
    await scene.restore()
    assert scene.server.writes == [
        "+Ingress/web-canary", "Ingress/web", "-Ingress/web-canary",
    ]  # fmt: skip


async def test_a_changed_or_deleted_companion_object_comes_back() -> None:
    scene = Scene()
    await scene.ensure()

    def to_all(obj: Any) -> None:
        obj["metadata"]["annotations"]["weight"] = "100"

    scene.server.edit("Ingress", "web-canary", to_all)
    assert await scene.ensure() == Done(wrote=True)
    assert scene.canary()["metadata"]["annotations"]["weight"] == "20"
    del scene.server.objects["Ingress", "web-canary"]
    assert await scene.ensure() == Done(wrote=True)
    assert scene.canary()["metadata"]["annotations"]["weight"] == "20"


async def test_an_object_of_somebody_else_is_never_overwritten() -> None:
    scene = Scene()
    scene.server.put("Ingress", "web-canary", {"mine": True})
    outcome = await scene.ensure()
    assert isinstance(outcome, Refusal)
    assert outcome.reason == "ObjectNotOurs"
    assert scene.server.content("Ingress", "web") == scene.before
    await scene.restore()
    assert scene.canary()["spec"] == {"mine": True}


async def test_a_crash_between_the_two_writes_leaves_nothing_behind() -> None:
    scene = Scene()
    scene.server.forbidden.add(("update", "Ingress"))
    outcome = await scene.ensure()
    assert isinstance(outcome, Refusal)
    assert scene.canary() is not None
    scene.server.forbidden.clear()
    await scene.restore()
    assert scene.canary() is None
    assert scene.server.content("Ingress", "web") == scene.before


async def test_a_companion_object_is_removed_when_the_object_itself_is_gone() -> None:
    scene = Scene()
    await scene.ensure()
    del scene.server.objects["Ingress", "web"]
    scene.scripts.functions.clear()
    assert await scene.restore() == Done(wrote=True)
    assert scene.server.objects == {}


def several(obj: Any) -> object:
    found = []
    for number in range(int(obj["canaryWeight"]) // 10):
        one = msgspec.json.decode(msgspec.json.encode(obj["canaryIngress"]))
        one["metadata"]["name"] += f"-{number}"
        found.append(one)
    return {"objects": found}


async def test_objects_that_are_wanted_no_more_go() -> None:
    scene = Scene(several)
    await scene.ensure("20%")
    assert {name for _, name in scene.server.objects} == {"web", "web-canary-0", "web-canary-1"}
    assert await scene.ensure("10%") == Done(wrote=True)
    assert {name for _, name in scene.server.objects} == {"web", "web-canary-0"}
    assert await scene.ensure("10%") == Done()


async def test_a_namesake_on_its_way_out_is_waited_for_with_a_reason() -> None:
    scene = Scene()
    await scene.ensure()

    def leave(obj: Any) -> None:
        obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        obj["metadata"]["finalizers"] = ["example.com/addresses"]

    scene.server.edit("Ingress", "web-canary", leave)
    outcome = await scene.ensure()
    assert isinstance(outcome, Refusal)
    assert (outcome.reason, outcome.retry_after) == ("ObjectIsGoing", 1)
    assert outcome.message.startswith(
        "Ingress demo/web-canary of an earlier release is still being"
    )
    assert "(example.com/addresses)" in outcome.message
    assert await scene.restore() == Done(wrote=True)


async def test_missing_rights_are_reported() -> None:
    scene = Scene()
    scene.server.forbidden.add(("create", "Ingress"))
    outcome = await scene.ensure()
    assert isinstance(outcome, Refusal)
    assert outcome.reason == "Forbidden"
    scene.server.forbidden = set()
    await scene.ensure()
    scene.server.forbidden.add(("delete", "Ingress"))
    outcome = await scene.restore()
    assert isinstance(outcome, Refusal)
    assert "web-canary" in outcome.message


async def test_two_services_behind_one_ingress_cannot_both_have_a_copy() -> None:
    scene = Scene()
    paths = [{"backend": {"service": {"name": name}}} for name in ("web", "shop")]
    scene.server.objects["Ingress", "web"]["spec"] = {"rules": [{"http": {"paths": paths}}]}
    other = msgspec.structs.replace(REFS[0], stable_service="shop", canary_service="shop-canary")
    outcome = await scene.routes.ensure(plan((*REFS, other), uid=UID))
    assert isinstance(outcome, Refusal)
    assert outcome.reason == "SiblingNamedTwice"


def ingresses(*names_: str) -> tuple[Reference, ...]:
    """Ingresses of one owner, each for the Service of its name."""
    entries = tuple(
        TrafficRoutingRef(service=name, ingress=IngressRef(name=name, class_type="nginx"))
        for name in names_
    )
    return references_of(entries, disable_generate=False)


class TwoIngresses:
    """Two Ingresses of one TrafficRouting, whose shared routes open and close one by one."""

    def __init__(self) -> None:
        self.server, self.scripts = ObjectServer(), Scripts()
        self.scripts.add("Ingress", weight)
        self.routes = GatewayRoutes(self.server, self.scripts, self.scripts)
        self.both = ingresses("web", "shop")
        for name in ("web", "shop"):
            path = {"backend": {"service": {"name": name}}}
            self.server.put("Ingress", name, {"rules": [{"host": name, "http": {"paths": [path]}}]})
            self.server.objects["Ingress", name]["apiVersion"] = "networking.k8s.io/v1"

    async def ensure(self, *refs: Reference) -> Outcome:
        made = msgspec.structs.replace(plan(refs, uid=UID), others=self.both)
        return await self.routes.ensure(made)

    async def restore(self, *refs: Reference) -> Outcome:
        action = RestoreRoutes(NAMESPACE, refs, "r1", "web", UID, others=self.both)
        return await self.routes.restore(action)


async def test_restoring_one_of_two_ingresses_leaves_the_canary_of_the_other() -> None:
    scene = TwoIngresses()
    web, shop = scene.both
    await scene.ensure(web, shop)
    await scene.restore(web)
    assert set(scene.server.objects) == {
        ("Ingress", name) for name in ("web", "shop", "shop-canary")
    }


async def test_plans_for_two_ingresses_of_one_owner_leave_each_others_canaries() -> None:
    scene = TwoIngresses()
    web, shop = scene.both
    await scene.ensure(web)
    await scene.ensure(shop)
    assert await scene.ensure(web) == Done()
    assert {name for _, name in scene.server.objects} == {
        "web", "web-canary", "shop", "shop-canary",
    }  # fmt: skip
