"""The classes of kr8s, over the controller's own connections."""

import asyncio
from typing import Any

import pytest

from controller.errors import (
    Forbidden,
    Invalid,
    LostLease,
    NotFound,
    Right,
    UnreadableAnswer,
)
from controller.kube.api import ControllerApi
from controller.kube.credentials import Source
from controller.kube.objects import Rollout, RolloutHistory, Secret, TrafficRouting
from controller.kube.resources import ROLLOUT_HISTORIES, ROLLOUTS, TRAFFIC_ROUTINGS, Resource
from tests.component.kube.faulty_server import (
    FaultyServer,
    Reply,
    Request,
    answering,
    connected,
    event,
    status,
    streaming,
)
from tests.component.runtime.virtual_time import virtual_time

WEB: dict[str, Any] = {
    "apiVersion": ROLLOUTS.api_version,
    "kind": "Rollout",
    "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "1"},
    "status": {"phase": "Healthy"},
}
WEB_PATH = "/apis/rollouts.kruise.io/v1beta1/namespaces/shop/rollouts/web"


async def test_a_rollout_is_read_decoded_and_patched() -> None:
    patched = {**WEB, "metadata": {**WEB["metadata"], "annotations": {"a": "b"}}}
    server = FaultyServer(others=[answering(200, WEB), answering(200, patched)])
    async with server.running():
        api = ControllerApi(Source(url=server.url), user_agent="tests")
        await api.open()
        found = await Rollout.get("web", namespace="shop", api=api)
        assert isinstance(found, Rollout)
        assert found.record.status.phase == "Healthy"
        await found.patch({"metadata": {"annotations": {"a": "b"}}})
        assert found.record.metadata.annotations == {"a": "b"}
        await api.aclose()
    read, written = server.requests
    assert (read.method, read.query) == ("GET", {})
    assert read.path == written.path == WEB_PATH
    assert written.query == {"fieldManager": "moonshift"}
    assert written.json() == {"metadata": {"annotations": {"a": "b"}}}


async def test_a_refusal_of_the_api_server_becomes_our_error() -> None:
    server = FaultyServer(others=[answering(422, status(422, "Invalid", "spec: Required value"))])
    async with server.running():
        api = ControllerApi(Source(url=server.url), user_agent="tests")
        await api.open()
        with pytest.raises(Invalid, match="Required value"):
            await Rollout(WEB, api=api).create()
        await api.aclose()


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        (Rollout, ROLLOUTS),
        (RolloutHistory, ROLLOUT_HISTORIES),
        (TrafficRouting, TRAFFIC_ROUTINGS),
    ],
)
def test_a_class_names_the_kind_as_the_api_server_serves_it(kind: Any, resource: Resource) -> None:
    assert (kind.version, kind.kind, kind.plural) == (
        resource.api_version,
        resource.kind,
        resource.plural,
    )


async def test_a_write_of_a_class_of_kr8s_passes_the_fence_and_names_its_field_manager() -> None:
    def shut(_: str) -> None:
        raise LostLease("others lead")

    server = FaultyServer(others=[answering(200, WEB)])
    async with server.running(), connected(server) as client:
        with pytest.raises(LostLease):
            await Rollout(WEB, api=client.fenced(shut).api).replace()
        with pytest.raises(LostLease):
            await Rollout(WEB, api=client.fenced(shut).api).delete()
        await Rollout(WEB, api=client.api).replace()
    (sent,) = server.requests
    assert (sent.method, sent.path, sent.query["fieldManager"]) == ("PUT", WEB_PATH, "moonshift")
    assert sent.json()["metadata"]["resourceVersion"] == "1"


async def test_a_refusal_names_the_right_that_a_class_of_kr8s_asked_for() -> None:
    server = FaultyServer(others=[answering(403, status(403, "Forbidden", "no"))])
    async with server.running(), connected(server) as client:
        with pytest.raises(Forbidden) as refused:
            _ = await Secret.get("keys", namespace="shop", api=client.api)
    assert refused.value.right == Right("get", "", "secrets", "", "shop", "keys")


async def test_a_missing_object_is_asked_for_once() -> None:
    server = FaultyServer(others=[answering(404, status(404, "NotFound"))])
    async with server.running(), connected(server) as client:
        with pytest.raises(NotFound):
            _ = await Rollout.get("web", namespace="shop", api=client.api)
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", ["../secrets/s", "web?watch=1", "a b", "%2e"])
async def test_a_name_that_would_change_the_address_is_not_sent(name: str) -> None:
    server = FaultyServer()
    async with server.running(), connected(server) as client:
        with pytest.raises(ValueError, match="can be called"):
            _ = await Rollout.get(name, namespace="shop", api=client.api)
    assert not server.requests


async def test_a_rollout_watches_its_own_group_without_looking_for_the_plural_in_all() -> None:
    server = FaultyServer(watches=[streaming(event("MODIFIED", WEB))])
    async with server.running(), connected(server) as client:
        seen = [kind async for kind, _ in Rollout(WEB, api=client.api).watch()]
    assert seen == ["MODIFIED"]
    (sent,) = server.requests
    assert sent.path == WEB_PATH.removesuffix("/web")
    assert sent.query["fieldSelector"] == "metadata.name=web"


@virtual_time
async def test_a_watch_of_kr8s_may_be_silent_for_longer_than_an_answer() -> None:
    async def quiet(request: Request, reply: Reply) -> None:
        await reply.begin_stream()
        await asyncio.sleep(600)
        await reply.send(event("MODIFIED", WEB))
        await reply.end_stream()

    server = FaultyServer(watches=[quiet])
    async with server.running(), connected(server) as client:
        seen = [kind async for kind, _ in Rollout(WEB, api=client.api).watch()]
    assert seen == ["MODIFIED"]


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b'{"status": 1}'])
async def test_an_answer_that_is_no_review_is_named_as_unreadable(answer: bytes) -> None:
    server = FaultyServer(others=[answering(201, answer)])
    async with server.running(), connected(server) as client:
        with pytest.raises(UnreadableAnswer):
            await client.whoami()
