"""The requests that the client sends, and how it reads the answers."""

import json
from collections.abc import Callable

import pytest

from controller.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    LostLease,
    NotFound,
    Right,
    ServerFault,
    Throttled,
    Unauthorized,
    Unreachable,
    WebhookFailed,
)
from controller.kube.client import KubeClient
from controller.kube.errors import Status, seconds_asked_for
from controller.kube.resources import DEPLOYMENTS, NAMESPACES, PODS, Resource
from tests.component.kube.faulty_server import (
    FaultyServer,
    Request,
    answering,
    connected,
    listing,
    status,
    thing,
)
from tests.component.runtime.virtual_time import virtual_time


async def written(
    server: FaultyServer, write: str, *arguments: object, **options: object
) -> Request:
    """The one request that a verb makes."""
    server.others = [answering(200, b"{}")]
    async with server.running(), connected(server) as client:
        await getattr(client, write)(*arguments, **options)
    (request,) = server.requests
    return request


WEB = "/apis/apps/v1/namespaces/shop/deployments/web"


@virtual_time
async def test_every_write_names_its_field_manager_and_identifies_itself() -> None:
    request = await written(FaultyServer(), "create", DEPLOYMENTS, "shop", b'{"a":1}')
    assert (request.method, request.path) == ("POST", "/apis/apps/v1/namespaces/shop/deployments")
    assert request.query == {"fieldManager": "moonshift"}
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"] == "tests"
    assert request.headers["accept-encoding"] == "identity"
    assert request.body == b'{"a":1}'


@virtual_time
async def test_behind_a_fence_that_is_shut_nothing_is_written_and_everything_is_read() -> None:
    def shut(_: str) -> None:
        raise LostLease("others lead")

    server = FaultyServer()
    server.others = [answering(200, b"{}")]
    async with server.running(), connected(server) as client:
        leading = client.fenced(shut)
        with pytest.raises(LostLease):
            await leading.create(DEPLOYMENTS, "shop", b"{}")
        with pytest.raises(LostLease):
            await leading.merge_patch(DEPLOYMENTS, "shop", "web", {})
        with pytest.raises(LostLease):
            await leading.delete(DEPLOYMENTS, "shop", "web")
        await leading.get(DEPLOYMENTS, "shop", "web")
        await client.delete(DEPLOYMENTS, "shop", "web")
    assert [request.method for request in server.requests] == ["GET", "DELETE"]


@virtual_time
async def test_a_fence_that_shuts_while_a_write_waits_for_its_turn_stops_it() -> None:
    server, asked = FaultyServer(), list[str]()
    server.others = [
        answering(429, status(429, "TooManyRequests", "busy"), Retry_After="3"),
        answering(200, b"{}"),
    ]

    def once(_: str) -> None:
        asked.append("asked")
        if len(asked) > 2:
            raise LostLease("others lead by now")

    async with server.running(), connected(server) as client:
        with pytest.raises(LostLease):
            await client.fenced(once).merge_patch(DEPLOYMENTS, "shop", "web", {})
    assert [request.method for request in server.requests] == ["PATCH"]


@virtual_time
async def test_a_fence_that_shuts_just_before_the_body_is_sent_stops_the_write() -> None:
    server = FaultyServer()
    server.others = [answering(200, b"{}")]

    def shutting() -> Callable[[str], None]:
        asked = list[str]()

        def once(_: str) -> None:
            asked.append("asked")
            if len(asked) > 1:
                raise LostLease("others lead by now")

        return once

    async with server.running(), connected(server) as client:
        with pytest.raises(LostLease):
            await client.fenced(shutting()).merge_patch(DEPLOYMENTS, "shop", "web", {})
        with pytest.raises(Unreachable):
            await client.fenced(shutting()).create(DEPLOYMENTS, "shop", b"{}")
        await client.get(DEPLOYMENTS, "shop", "web")
    assert [request.method for request in server.requests] == ["GET"]


@virtual_time
async def test_replace_puts_a_subresource() -> None:
    request = await written(
        FaultyServer(), "replace", DEPLOYMENTS, "shop", "web", b"{}", "status", dry_run=True
    )
    assert (request.method, request.path) == ("PUT", f"{WEB}/status")
    assert request.query == {"fieldManager": "moonshift", "dryRun": "All"}


@pytest.mark.parametrize(
    ("verb", "content_type"),
    [
        ("merge_patch", "application/merge-patch+json"),
    ],
)
@virtual_time
async def test_patches_carry_their_media_type(verb: str, content_type: str) -> None:
    patch = {"metadata": {"labels": {"a": None}}}
    request = await written(FaultyServer(), verb, DEPLOYMENTS, "shop", "web", patch)
    assert (request.method, request.path) == ("PATCH", WEB)
    assert request.headers["content-type"] == content_type
    assert request.json() == patch


@virtual_time
async def test_apply_is_forced_and_may_name_another_manager() -> None:
    request = await written(
        FaultyServer(), "apply", DEPLOYMENTS, "shop", "web", b"{}", field_manager="moonshift-hold"
    )
    assert request.query == {"fieldManager": "moonshift-hold", "force": "true"}
    assert request.headers["content-type"] == "application/apply-patch+yaml"


@virtual_time
async def test_delete_carries_preconditions_only_where_given() -> None:
    request = await written(FaultyServer(), "delete", PODS, "shop", "web-1", uid="u1")
    assert (request.method, request.path) == ("DELETE", "/api/v1/namespaces/shop/pods/web-1")
    assert request.json()["preconditions"] == {"uid": "u1"}
    assert request.json()["propagationPolicy"] == "Background"
    request = await written(FaultyServer(), "delete", PODS, "shop", "web-1")
    assert "preconditions" not in request.json()


@virtual_time
async def test_cluster_scoped_kinds_are_addressed_without_a_namespace() -> None:
    request = await written(FaultyServer(), "get", NAMESPACES, "", "shop")
    assert request.path == "/api/v1/namespaces/shop"


@virtual_time
async def test_an_empty_name_never_addresses_the_collection() -> None:
    server = FaultyServer(others=[answering(200, b"{}")])
    async with server.running(), connected(server) as client:
        with pytest.raises(ValueError, match="needs a name"):
            await client.delete(PODS, "shop", "")
        with pytest.raises(ValueError, match="needs a name"):
            await client.delete(PODS, "", "web-1")
    assert server.requests == []


@virtual_time
async def test_a_name_cannot_leave_its_path() -> None:
    request = await written(FaultyServer(), "get", PODS, "shop", "../../secrets/s?x=1")
    assert request.path == "/api/v1/namespaces/shop/pods/..%2F..%2Fsecrets%2Fs%3Fx%3D1"


@virtual_time
async def test_pages_follow_each_other_with_the_same_selection() -> None:
    server = FaultyServer(lists=[listing("1", thing("a", "1"), following="t"), listing("1")])
    async with server.running(), connected(server) as client:
        pages = [page async for page in client.list_pages(PODS, None, "app=web", limit=7)]
    assert len(pages) == 2
    assert server.requests[0].path == "/api/v1/pods"
    assert server.requests[0].query == {"labelSelector": "app=web", "limit": "7"}
    assert server.requests[1].query == {"labelSelector": "app=web", "limit": "7", "continue": "t"}


@virtual_time
async def test_discovery_names_kinds_without_subresources() -> None:
    served = {
        "resources": [
            {"name": "widgets", "kind": "Widget", "namespaced": True},
            {"name": "widgets/status", "kind": "Widget", "namespaced": True},
            {"name": "lands", "kind": "Land", "namespaced": False},
        ]
    }
    server = FaultyServer(others=[answering(200, served), answering(404, b"404 page not found")])
    async with server.running(), connected(server) as client:
        assert await client.discover("example.com/v1") == (
            Resource("example.com", "v1", "widgets", "Widget"),
            Resource("example.com", "v1", "lands", "Land", namespaced=False),
        )
        with pytest.raises(NotFound):
            await client.discover("absent.example.com/v1")
    assert server.requests[0].path == "/apis/example.com/v1"


@virtual_time
async def test_the_core_group_is_discovered_under_its_own_root() -> None:
    server = FaultyServer(others=[answering(200, {"resources": [{"name": "pods", "kind": "Pod"}]})])
    async with server.running(), connected(server) as client:
        assert await client.discover("v1") == (PODS,)
    assert server.requests[0].path == "/api/v1"


@virtual_time
async def test_the_servers_version_is_its_git_version() -> None:
    server = FaultyServer(others=[answering(200, {"gitVersion": "v1.35.0"})])
    async with server.running(), connected(server) as client:
        assert await client.server_version() == "v1.35.0"


ANSWERS: list[tuple[int, str, type[ApiError]]] = [
    (400, "BadRequest", Invalid),
    (401, "Unauthorized", Unauthorized),
    (403, "Forbidden", Forbidden),
    (404, "NotFound", NotFound),
    (409, "Conflict", Conflict),
    (409, "AlreadyExists", AlreadyExists),
    (410, "Expired", Gone),
    (422, "Invalid", Invalid),
    (429, "TooManyRequests", Throttled),
    (500, "InternalError", ServerFault),
    (503, "ServiceUnavailable", ServerFault),
    (504, "Timeout", ServerFault),
    (302, "", ServerFault),
]


@pytest.mark.parametrize(("code", "reason", "expected"), ANSWERS)
@virtual_time
async def test_each_answer_becomes_its_exception_with_the_servers_words(
    code: int, reason: str, expected: type[ApiError]
) -> None:
    message = "admission webhook said: no, because"
    server = FaultyServer(others=[answering(code, status(code, reason, message))])
    async with server.running(), connected(server) as client:
        with pytest.raises(ApiError) as caught:
            await client.create(PODS, "shop", b"{}")
    assert type(caught.value) is expected
    assert (caught.value.status, caught.value.reason) == (code, reason)
    assert str(caught.value) == message


@virtual_time
async def test_a_webhook_without_an_answer_is_no_other_fault_of_the_server() -> None:
    message = 'Internal error occurred: failed calling webhook "v.example.dev": connection refused'
    server = FaultyServer(others=[answering(500, status(500, "InternalError", message))])
    async with server.running(), connected(server) as client:
        with pytest.raises(WebhookFailed, match="connection refused") as caught:
            await client.merge_patch(PODS, "shop", "a", {})
    assert caught.value.request == "patch pods shop/a"


@virtual_time
async def test_an_answer_that_is_no_status_is_quoted() -> None:
    server = FaultyServer(others=[answering(502, b"<html>bad gateway</html>"), answering(500, b"")])
    async with server.running(), connected(server) as client:
        with pytest.raises(ServerFault, match="bad gateway"):
            await client.get(PODS, "shop", "a")
        with pytest.raises(ServerFault, match="HTTP 500 without a message"):
            await client.get(PODS, "shop", "a")


REFUSED_PATCH = status(
    422, "Invalid", "the server rejected our request due to an error in our request"
)


@virtual_time
async def test_a_failed_test_of_a_json_patch_is_a_conflict() -> None:
    server = FaultyServer(others=[answering(422, REFUSED_PATCH)])
    async with server.running(), connected(server) as client:
        with pytest.raises(Conflict, match="not as this patch requires"):
            await client.json_patch(PODS, "shop", "a", [{"op": "test", "path": "/x", "value": 1}])
        with pytest.raises(Invalid):
            await client.json_patch(PODS, "shop", "a", [{"op": "add", "path": "/x", "value": 1}])


@virtual_time
async def test_an_invalid_object_made_by_a_json_patch_is_not_a_conflict() -> None:
    message = 'Pod "a" is invalid: spec: Forbidden'
    server = FaultyServer(others=[answering(422, status(422, "Invalid", message))])
    async with server.running(), connected(server) as client:
        with pytest.raises(Invalid, match="spec: Forbidden"):
            await client.json_patch(PODS, "shop", "a", [{"op": "test", "path": "/x", "value": 1}])


@virtual_time
async def test_a_patch_body_with_any_values_is_json() -> None:
    request = await written(
        FaultyServer(),
        "json_patch",
        PODS,
        "shop",
        "a",
        [{"op": "add", "path": "/x", "value": None}],
    )
    assert json.loads(request.body) == [{"op": "add", "path": "/x", "value": None}]
    assert request.headers["content-type"] == "application/json-patch+json"


@virtual_time
async def test_a_closed_client_says_so() -> None:
    server = FaultyServer()
    async with server.running():
        async with connected(server) as client:
            pass
        with pytest.raises(Exception, match="closed"):
            await client.get(PODS, "shop", "a")
    assert isinstance(client, KubeClient)


@pytest.mark.parametrize("body", [b"<html>log in</html>", b"[" * 5000 + b"]" * 5000])
@virtual_time
async def test_an_answer_that_cannot_be_read_is_a_fault_of_the_server(body: bytes) -> None:
    server = FaultyServer(others=[answering(200, body)])
    async with server.running(), connected(server) as client:
        for asked in (
            client.discover("example.com/v1"),
            client.versions("example.com"),
            client.server_version(),
            client.whoami(),
            client.may(Right("get", "", "pods", "", "shop", "")),
        ):
            with pytest.raises(ServerFault, match="could not be read"):
                await asked


@virtual_time
async def test_an_odd_digit_is_no_time_to_wait() -> None:
    assert seconds_asked_for(Status(), "3") == 3
    assert seconds_asked_for(Status(), "\N{SUPERSCRIPT TWO}") == 0


@virtual_time
async def test_a_failure_that_is_nested_too_deeply_is_a_fault_of_the_server() -> None:
    body = b'{"unknown":' + b"[" * 5000 + b"]" * 5000 + b"}"
    server = FaultyServer(others=[answering(500, body)])
    async with server.running(), connected(server) as client:
        with pytest.raises(ServerFault, match="unknown"):
            await client.get(PODS, "shop", "a")
