"""The nginx canary on Istio with one shared Service: packaged scripts, in a real worker process."""

import copy
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from controller.api.rollout import HttpRouteMatch, Step, ValueMatch
from controller.domain.decision import Done, Refusal, RestoreRoutes
from controller.domain.traffic.plan.traffic_plan import references_of
from controller.effects.gateways import ConfiguredScripts, GatewayRoutes
from controller.scripts.lookup import ScriptLibrary
from controller.scripts.worker_client import ScriptClient
from tests.component.luaworker.process import worker

from . import world
from .leading import led
from .world import ObjectServer, plan

VS, DR = ("VirtualService", "nginx-vs"), ("DestinationRule", "nginx-dr")
SERVICE = "nginx-service"
LABELS = {"version": "canary"}


def to(subset: str, weight: int | None = None) -> dict[str, Any]:
    entry: dict[str, Any] = {"destination": {"host": SERVICE, "subset": subset}}
    return entry if weight is None else {**entry, "weight": weight}


ROUTES = {"hosts": ["*"], "gateways": ["gw"], "http": [{"route": [to("version-base")]}]}
SUBSETS = {
    "host": SERVICE,
    "trafficPolicy": {"loadBalancer": {"simple": "ROUND_ROBIN"}, "tls": {}},
    "subsets": [{"name": "version-base", "labels": {"version": "base"}}],
}
CANARY = {"name": "canary", "labels": {"version": "canary"}}
REFS = references_of((world.routing(VS, DR, service=SERVICE),), True)


@pytest.fixture(scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ScriptClient]:
    socket: Path = tmp_path_factory.mktemp("w") / "s"
    async with worker(f"unix://{socket}") as running:
        made = ScriptClient(running.address)
        try:
            yield made
        finally:
            await made.close()


def world_with(client: ScriptClient, config: dict[str, str]) -> tuple[ObjectServer, GatewayRoutes]:
    server = ObjectServer()
    server.put(*VS, copy.deepcopy(ROUTES), annotations={"note": "<kept>"})
    server.put(*DR, copy.deepcopy(SUBSETS))
    scripts = ConfiguredScripts(ScriptLibrary.read(), lambda: config)
    return server, GatewayRoutes(server, scripts, client)


async def test_the_documented_release_from_first_step_to_restore(client: ScriptClient) -> None:
    server, routes = world_with(client, {})
    before = {key: server.content(*key) for key in (VS, DR)}

    assert await led(routes, plan(REFS, "20%", labels=LABELS)) == Done(wrote=True)
    # The rule first, though it is listed last: a route to a subset that does not exist yet is an error 503.
    assert server.writes == ["DestinationRule/nginx-dr", "VirtualService/nginx-vs"]
    assert server.spec(*VS)["http"] == [{"route": [to("version-base", 80), to("canary", 20)]}]
    assert server.spec(*DR) == {**SUBSETS, "subsets": [*SUBSETS["subsets"], CANARY]}

    by_header = Step(matches=(HttpRouteMatch(headers=(ValueMatch("Exact", "version", "canary"),)),))
    assert await routes.ensure(plan(REFS, step=by_header, labels=LABELS)) == Done(wrote=True)
    assert server.spec(*VS)["http"] == [
        {"match": [{"headers": {"version": {"exact": "canary"}}}], "route": [to("canary")]},
        {"route": [to("version-base")]},
    ]
    assert server.spec(*DR)["subsets"] == [*SUBSETS["subsets"], CANARY]

    server.writes.clear()
    assert await routes.restore(RestoreRoutes("demo", REFS, "r1", "web")) == Done(wrote=True)
    assert server.writes == ["VirtualService/nginx-vs", "DestinationRule/nginx-dr"]
    assert {key: server.content(*key) for key in (VS, DR)} == before


async def test_the_line_of_a_broken_script_of_the_config_map_is_reported(
    client: ScriptClient,
) -> None:
    key = "lua.traffic.routing.Other.networking.istio.io"
    server, routes = world_with(client, {key: "local x = 1\nlocal = nil\nreturn obj.data"})
    server.put("Other", "o", {"a": 1})
    refs = world.references(("Other", "o"))
    outcome = await routes.ensure(plan(refs))
    assert isinstance(outcome, Refusal)
    assert (outcome.reason, outcome.script, outcome.line) == ("ScriptFailed", key, 2)
    assert "has a syntax error in line 2: " in outcome.message
    assert outcome.message.count(key) == 1, "the engine's own place is not told beside ours"


async def test_a_script_that_gives_up_is_reported_in_its_own_words(client: ScriptClient) -> None:
    server, routes = world_with(client, {})
    server.put("VirtualService", "o", {"http": [{"route": [{"destination": {"host": "x"}}]}]})
    outcome = await routes.ensure(plan(world.references(("VirtualService", "o"))))
    assert isinstance(outcome, Refusal)
    script = "networking.istio.io/VirtualService/trafficRouting.lua"
    assert outcome.message == (
        f"VirtualService demo/o: script {script} failed in line {outcome.line}: no route of this VirtualService "
        "points at Service web"
    )


async def test_without_a_worker_nothing_is_touched(tmp_path: Path) -> None:
    lonely = ScriptClient(f"unix://{tmp_path}/nobody", deadline=0.5)
    try:
        server, routes = world_with(lonely, {})
        outcome = await routes.ensure(plan(REFS))
    finally:
        await lonely.close()
    assert isinstance(outcome, Refusal)
    assert (outcome.reason, outcome.retry_after, server.writes) == ("WorkerUnavailable", 1.0, [])


PROXY = ("HTTPProxy", "web")
OF_THE_PROXY = {"routes": [{"services": [{"name": "web", "port": 80}]}]}


@pytest.mark.parametrize("share", ["0%", "30%"])
async def test_a_kind_that_announces_services_names_the_canary_service_at_every_share(
    client: ScriptClient, share: str
) -> None:
    server, routes = world_with(client, {})
    server.put(*PROXY, copy.deepcopy(OF_THE_PROXY))
    references = (structs.replace(world.references(PROXY)[0], api_version="projectcontour.io/v1"),)
    for step in ("30%", share):
        await routes.ensure(plan(references, step))
    (route,) = server.spec(*PROXY)["routes"]
    assert [service["name"] for service in route["services"]] == ["web", "web-canary"]
