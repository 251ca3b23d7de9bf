"""`install --check` asks which rights the controller has on the gateway kinds that Rollouts name."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.component.cli.double import ROLLOUTS, cluster, make_rollout
from tests.component.kube.faulty_server import Reply, Request


def of_lanes() -> dict[str, Any]:
    """A Rollout whose traffic is led by an object of another kind."""
    rollout = make_rollout()
    lane = {"apiVersion": "shop.example/v2", "kind": "Lane", "name": "web"}
    routing = {"service": "web", "customNetworkRefs": [lane]}
    rollout["spec"]["strategy"]["canary"]["trafficRoutings"] = [routing]
    return rollout


@pytest.mark.parametrize(
    ("granted", "missing"),
    [
        pytest.param("", False, id="in all namespaces"),
        pytest.param("default", False, id="in the one namespace that is served"),
        pytest.param("other", True, id="elsewhere"),
    ],
)
async def test_a_right_in_the_namespace_of_the_rollouts_is_enough(
    tmp_path: Path, granted: str, missing: bool
) -> None:
    async with cluster(tmp_path, of_lanes()) as api:

        async def respond(request: Request, reply: Reply) -> None:
            if request.method != "POST":
                await api.respond(request, reply)
                return
            asked = json.loads(request.body)["spec"]["resourceAttributes"]
            allowed = asked["resource"] != "lanes" or asked.get("namespace", "") == granted
            await reply.answer(201, {"status": {"allowed": allowed}})

        api.server.others[:] = [respond]
        api.collections[ROLLOUTS.replace("/namespaces/default", "")] = api.collections[ROLLOUTS]
        lanes = {"resources": [{"name": "lanes", "kind": "Lane", "namespaced": True}]}
        api.overrides["GET", "/apis/shop.example/v2"] = (200, lanes)
        api.overrides["GET", "/version"] = (200, {"gitVersion": "v1.35.0"})
        result = await api.run("install", "--check", "-o", "json")
    found = [finding["what"] for finding in json.loads(result.stdout)["findings"]]
    assert (
        any("needs get, list, watch, patch, update on lanes" in what for what in found) is missing
    )
