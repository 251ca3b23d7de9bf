"""The reasons why parts of `controller.kube` are ours and not kr8s': a test that fails says that kr8s does it by now.

docs/decisions/20261127-kr8s-is-the-client.md has the list, with a patch for each that is small.
"""

import asyncio
import base64
import contextlib
import os
import ssl
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import kr8s
import kr8s.asyncio
import msgspec
import pytest
import yaml
from kr8s.asyncio.objects import Pod, new_class

from tests.component.kube.faulty_server import (
    FaultyServer,
    Reply,
    Request,
    Responder,
    answering,
    error_event,
    status,
    streaming,
)
from tests.component.kube.test_credentials import self_signed

NO_KUBECONFIG = {
    "current-context": "none",
    "contexts": [{"name": "none", "context": {"cluster": ""}}],
}
LOGIN = "client.authentication.k8s.io/v1"
FORBIDDEN = status(403, "Forbidden", "no")


@contextlib.asynccontextmanager
async def kr8s_of(**where: Any) -> AsyncIterator[Any]:
    """kr8s' own Api, with its own connections."""
    api: Any = kr8s.asyncio.Api(bypass_factory=True, **({"kubeconfig": NO_KUBECONFIG} | where))
    await api.auth
    try:
        yield api
    finally:
        if api._session is not None:
            await api._session.aclose()


def kubeconfig_of(
    user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, **context: Any
) -> dict[str, Any]:
    return {
        "current-context": "here",
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u"}},
            {"name": "there", "context": {"cluster": "c", "user": "u", **context}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": "https://here", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
    }


def quiet(begun: asyncio.Event) -> Responder:
    """A watch that begins and says nothing."""

    async def respond(_: Request, reply: Reply) -> None:
        await reply.begin_stream()
        begun.set()
        await reply.until_closed()

    return respond


# --- connections ----------------------------------------------------------------------------------


async def test_a_missing_right_ends_every_open_watch_of_the_process() -> None:
    begun = asyncio.Event()
    server = FaultyServer(watches=[quiet(begun)], lists=[answering(403, FORBIDDEN)])

    async def watch(api: Any) -> None:
        async for _ in api.watch(Pod, namespace="shop"):
            pass

    async with server.running(), kr8s_of(url=server.url) as api:
        watching = asyncio.create_task(watch(api))
        await begun.wait()
        with pytest.raises(kr8s.ServerError):
            _ = [pod async for pod in api.get(Pod, namespace="shop")]
        with pytest.raises(httpx.ReadError):
            await asyncio.wait_for(watching, 10)
    assert len(server.listed) == 4


async def test_a_watch_of_a_version_that_is_gone_asks_for_it_again_and_again() -> None:
    begun = asyncio.Event()
    server = FaultyServer(watches=[*[streaming(error_event(410))] * 20, quiet(begun)])
    async with server.running(), kr8s_of(url=server.url) as api:
        seen = api.async_watch(Pod, namespace="shop", since="7")
        waiting = asyncio.create_task(anext(seen))
        await begun.wait()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await seen.aclose()
    assert [request.query["resourceVersion"] for request in server.watched] == ["7"] * 21


async def test_a_redirect_is_followed_to_another_server() -> None:
    other = FaultyServer(others=[answering(200, {"gitVersion": "v1.35.0"})])
    server = FaultyServer()
    async with other.running(), server.running(), kr8s_of(url=server.url) as api:
        server.others = [answering(307, b"", Location=f"{other.url}/version")]
        assert await api.version() == {"gitVersion": "v1.35.0"}
    assert len(other.requests) == 1


async def test_no_wait_for_an_answer_is_bounded() -> None:
    async with kr8s_of(url="http://127.0.0.1:1") as api:
        await api._create_session()
        assert api._session.timeout == httpx.Timeout(None)


# --- the kubeconfig -------------------------------------------------------------------------------


async def test_a_private_key_stays_behind_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    encoded = base64.b64encode(self_signed()[1]).decode()
    async with kr8s_of(kubeconfig=kubeconfig_of({"client-key-data": encoded})):
        pass
    (left,) = os.listdir(tmp_path)
    assert b"PRIVATE KEY" in (tmp_path / left).read_bytes()


async def test_of_two_files_the_last_one_with_an_entry_wins(tmp_path: Path) -> None:
    for name in ("first", "second"):
        tree = kubeconfig_of(cluster={"server": f"https://{name}"})
        (tmp_path / name).write_bytes(msgspec.json.encode(tree))
    files = f"{tmp_path / 'first'}:{tmp_path / 'second'}"
    async with kr8s_of(kubeconfig=files) as api:
        assert api.auth.server == "https://second"


async def test_the_namespace_is_that_of_another_context() -> None:
    tree = kubeconfig_of(namespace="shop")
    async with kr8s_of(kubeconfig=tree, context="there") as api:
        assert api.namespace == "default"


async def test_an_error_quotes_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("users: [{token: 's3cret]}\n")
    with pytest.raises(yaml.YAMLError, match="s3cret"):
        async with kr8s_of(kubeconfig=str(tmp_path / "config")):
            pass


async def test_impersonation_and_files_of_tokens_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    user = {"tokenFile": str(tmp_path / "token"), "as": "jane"}
    server = FaultyServer(others=[answering(200, {})])
    async with (
        server.running(),
        kr8s_of(kubeconfig=kubeconfig_of(user, {"server": server.url})) as api,
    ):
        await api.version()
    (sent,) = server.requests
    assert {"authorization", "impersonate-user"}.isdisjoint(sent.headers)


async def test_a_login_program_does_not_learn_for_which_cluster_it_runs(tmp_path: Path) -> None:
    program = "import os, json; print(json.dumps({'status': {'token': str('KUBERNETES_EXEC_INFO' in os.environ)}}))"
    plugin = {
        "apiVersion": LOGIN,
        "command": sys.executable,
        "args": ["-c", program],
        "provideClusterInfo": True,
    }
    async with kr8s_of(kubeconfig=kubeconfig_of({"exec": plugin})) as api:
        assert api.auth.token == "False"


async def test_with_a_client_certificate_and_no_authority_no_server_is_trusted(
    tmp_path: Path,
) -> None:
    certificate, key = self_signed()
    files = {"client-certificate": certificate, "client-key": key}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    user = {name: str(tmp_path / name) for name in files}
    async with kr8s_of(kubeconfig=kubeconfig_of(user)) as api:
        context = await api.auth.ssl_context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.cert_store_stats()["x509_ca"] == 0


# --- objects --------------------------------------------------------------------------------------


async def test_one_object_is_read_by_lists_that_are_repeated_while_it_is_missing() -> None:
    found = {"metadata": {"name": "a", "namespace": "shop"}}
    server = FaultyServer(others=[answering(200, {"items": items}) for items in ([], [found])])
    async with server.running(), kr8s_of(url=server.url) as api:
        _ = await Pod.get("a", namespace="shop", api=api, timeout=20)
    assert [request.path for request in server.requests] == ["/api/v1/namespaces/shop/pods"] * 2


async def test_an_object_is_watched_by_its_plural_in_whatever_group_comes_first() -> None:
    served = {"name": "rollouts", "singularName": "rollout", "kind": "Rollout", "namespaced": True}
    groups = [
        {"name": group, "versions": [{"groupVersion": f"{group}/v1"}]}
        for group in ("argoproj.io", "rollouts.kruise.io")
    ]
    server = FaultyServer(
        lists=[
            answering(200, {"versions": []}),
            answering(200, {"groups": groups}),
            answering(200, {"resources": [served]}),
        ],
        watches=[streaming()],
    )
    ours = new_class("Rollout", "rollouts.kruise.io/v1")
    async with server.running(), kr8s_of(url=server.url) as api:
        _ = [change async for change in ours("web", namespace="shop", api=api).watch()]
    assert server.watched[0].path == "/apis/argoproj.io/v1/namespaces/shop/rollouts"


async def test_who_we_are_is_asked_with_the_token_in_the_body() -> None:
    user = {"status": {"user": {"username": "jane"}}}
    server = FaultyServer(others=[answering(201, user)])
    async with server.running():
        tree = kubeconfig_of({"token": "s3cret"}, {"server": server.url})
        async with kr8s_of(kubeconfig=tree) as api:
            assert await api.whoami() == "jane"
    assert server.requests[0].json()["spec"] == {"token": "s3cret"}


async def test_a_name_is_not_quoted_in_the_address() -> None:
    server = FaultyServer(others=[answering(200, {"metadata": {"name": "a"}})])
    async with server.running(), kr8s_of(url=server.url) as api:
        await Pod("../secrets/a", namespace="shop", api=api).refresh()
    assert server.requests[0].path == "/api/v1/namespaces/shop/secrets/a"
