"""A namespace's script writes only objects that its ServiceAccount may write; restoring needs no right."""

import copy
from typing import Any

import msgspec
import pytest

from controller.domain.decision import Done, OwnScript, Reference, Refusal, RestoreRoutes
from controller.effects.gateways import GatewayRoutes
from controller.errors import Right, Unreachable
from tests.component.effects.gateways.world import (
    NAMESPACE,
    ObjectServer,
    Scripts,
    plan,
    references,
    split,
    subset,
)

ALL = {"get", "patch", "update", "create", "delete"}
OWN = OwnScript(NAMESPACE, "scripts", "router")
ACCOUNT = f"{NAMESPACE}/router"
VS, DR = references(("VirtualService", "web"), ("DestinationRule", "web"))
RULE = {"route": [{"destination": {"host": "web"}}]}


def own(reference: Reference) -> Reference:
    return msgspec.structs.replace(reference, own_script=OWN)


class Scene:
    """A VirtualService of the tenant's script, and the rights of its account."""

    def __init__(self) -> None:
        self.server, self.scripts = ObjectServer(), Scripts()
        self.server.put("VirtualService", "web", {"hosts": ["web"], "http": [RULE]})
        self.server.put("DestinationRule", "web", {"host": "web", "subsets": []})
        self.scripts.add("VirtualService", split)
        self.scripts.add("DestinationRule", subset)
        self.may_: dict[str, set[str]] = {"virtualservices": set(ALL)}
        self.asked: list[Right] = []
        self.away = False
        self.routes = GatewayRoutes(self.server, self.scripts, self.scripts, rights=self)
        self.refs: tuple[Reference, ...] = (own(VS),)

    async def may(self, right: Right) -> bool:
        if self.away:
            raise Unreachable("away")
        self.asked.append(right)
        return right.verb in self.may_.get(right.resource, set())

    async def ensure(self, traffic: str = "20%") -> Any:
        return await self.routes.ensure(plan(self.refs, traffic, uid="u"))

    async def restore(self) -> Any:
        return await self.routes.restore(RestoreRoutes(NAMESPACE, self.refs, "r1", "web", "u"))


async def test_the_account_is_asked_about_by_name_before_each_write_and_not_at_rest() -> None:
    scene = Scene()
    assert await scene.ensure() == Done(wrote=True)
    assert scene.asked == [
        Right(verb, "networking.istio.io", "virtualservices", "", NAMESPACE, "web", ACCOUNT)
        for verb in ("get", "patch", "update")
    ]
    assert await scene.ensure() == Done()
    assert len(scene.asked) == 3
    assert await scene.ensure("40%") == Done(wrote=True)
    assert len(scene.asked) == 6


async def test_a_script_of_all_namespaces_asks_nobody() -> None:
    scene = Scene()
    scene.refs = (VS,)
    assert await scene.ensure() == Done(wrote=True)
    assert scene.asked == []


@pytest.mark.parametrize("missing", ["get", "patch", "update"])
async def test_without_a_right_nothing_is_shown_to_the_script_and_nothing_is_written(
    missing: str,
) -> None:
    scene = Scene()
    scene.may_["virtualservices"].discard(missing)
    for outcome in (await scene.ensure(), await scene.routes.rehearse(plan(scene.refs))):
        assert isinstance(outcome, Refusal)
        assert outcome.reason == "ServiceAccountForbidden"
        assert f"ServiceAccount {ACCOUNT} may not {missing} virtualservices." in outcome.message
        role = f"router-virtualservices-{missing}"
        assert f"kubectl create role {role} -n {NAMESPACE} --verb={missing}" in outcome.message
        assert f"--role={role} --serviceaccount={NAMESPACE}:router" in outcome.message
        assert outcome.right is not None
        assert (outcome.right.verb, outcome.right.account) == (missing, ACCOUNT)
    assert scene.server.writes == []
    assert scene.scripts.asked == []


async def test_without_an_authority_nobody_has_a_right() -> None:
    scene = Scene()
    alone = GatewayRoutes(scene.server, scene.scripts, scene.scripts)
    assert isinstance(await alone.ensure(plan(scene.refs)), Refusal)
    scene.away = True
    with pytest.raises(Unreachable):
        await scene.ensure()
    assert scene.server.writes == []


async def test_a_right_that_is_taken_away_stops_the_next_write_and_not_the_way_back() -> None:
    scene = Scene()
    before = scene.server.content("VirtualService", "web")
    await scene.ensure()
    led = copy.deepcopy(scene.server.objects)
    scene.may_.clear()
    assert isinstance(await scene.ensure("40%"), Refusal)
    assert scene.server.objects == led
    assert await scene.restore() == Done(wrote=True)
    assert scene.server.content("VirtualService", "web") == before


async def test_one_account_without_a_right_stops_the_objects_of_all() -> None:
    scene = Scene()
    scene.refs = (VS, own(DR))
    outcome = await scene.ensure()
    assert isinstance(outcome, Refusal)
    assert "destinationrules" in outcome.message
    assert scene.server.writes == []


async def test_a_script_sees_a_sibling_only_if_its_account_may() -> None:
    scene = Scene()
    scene.scripts.add("VirtualService", split, "--@siblings networking.istio.io/DestinationRule")
    scene.refs = (own(VS), DR)
    outcome = await scene.ensure()
    assert isinstance(outcome, Refusal)
    assert "may not get destinationrules" in outcome.message
    assert scene.scripts.asked == []
    scene.may_["destinationrules"] = {"get"}
    assert await scene.ensure() == Done(wrote=True)


async def test_a_script_creates_a_companion_object_only_if_its_account_may() -> None:
    scene = Scene()

    def beside(obj: Any) -> object:
        made = {"apiVersion": obj["object"]["apiVersion"], "kind": "VirtualService"}
        return {
            **obj["data"],
            "objects": [{**made, "metadata": {"name": "b"}, "spec": obj["data"]["spec"]}],
        }

    scene.scripts.add("VirtualService", beside)
    scene.may_["virtualservices"] = {"get", "patch", "update"}
    outcome = await scene.ensure()
    assert isinstance(outcome, Refusal)
    assert "may not create and delete virtualservices" in outcome.message
    assert scene.server.writes == []
    scene.may_["virtualservices"] = set(ALL)
    assert await scene.ensure() == Done(wrote=True)
    assert ("VirtualService", "b") in scene.server.objects
    scene.may_.clear()
    assert await scene.restore() == Done(wrote=True)
    assert ("VirtualService", "b") not in scene.server.objects


async def test_a_cluster_scoped_kind_is_asked_about_in_the_cluster() -> None:
    scene = Scene()
    scene.server.cluster_scoped.add("VirtualService")
    scene.may_.clear()
    routes = GatewayRoutes(
        scene.server, scene.scripts, scene.scripts, rights=scene, allow_cluster_scoped=True
    )
    outcome = await routes.ensure(plan(scene.refs))
    assert isinstance(outcome, Refusal)
    assert "in the cluster" in outcome.message
    assert "kubectl create clusterrolebinding" in outcome.message
    assert {right.namespace for right in scene.asked} == {""}
