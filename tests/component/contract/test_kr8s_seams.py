"""The private parts of kr8s that `controller.kube` stands on; a new version of kr8s must pass here first."""

import asyncio
import inspect
from pathlib import Path

import httpx
import kr8s
import kr8s.asyncio
import pytest
from kr8s._auth import KubeAuth
from kr8s.asyncio.objects import APIObject

from controller.kube.api import ControllerApi
from controller.kube.credentials import Source


def test_the_version_is_one_these_tests_were_written_for() -> None:
    assert kr8s.__version__.startswith("0.20.")


async def test_an_api_can_be_made_without_the_factory() -> None:
    api = kr8s.asyncio.Api(bypass_factory=True, url="http://127.0.0.1:1")
    assert api._session is None
    assert isinstance(api.auth, KubeAuth)


def test_the_methods_we_replace_still_exist_with_their_parameters() -> None:
    theirs = inspect.signature(kr8s.asyncio.Api.call_api).parameters
    ours = inspect.signature(ControllerApi.call_api).parameters
    assert list(theirs) == list(ours)
    assert inspect.iscoroutinefunction(kr8s.asyncio.Api._create_session)


async def test_addresses_are_built_as_the_api_server_expects() -> None:
    api = kr8s.asyncio.Api(bypass_factory=True, url="http://127.0.0.1:1")
    build = api._construct_url
    assert build("v1", "", "shop", "pods/a") == "/api/v1/namespaces/shop/pods/a"
    assert build("apps/v1", "", None, "deployments") == "/apis/apps/v1/deployments"
    assert build("", "/apis", None, "apps/v1") == "/apis/apps/v1"


async def test_authentication_keeps_what_it_found_where_we_read_it() -> None:
    auth = KubeAuth(url="http://127.0.0.1:1", serviceaccount="")
    for attribute in ("server", "token", "tls_server_name", "proxy", "_serviceaccount"):
        assert hasattr(auth, attribute)
    for attribute in ("client_key_file", "client_cert_file", "server_ca_file"):
        assert getattr(auth, attribute) is None
    assert auth._user == {}
    assert auth._cluster == {}


async def test_no_kubeconfig_is_read_when_told_false(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = tmp_path / "config"
    stray.write_text("this is not: [yaml")
    monkeypatch.setenv("KUBECONFIG", str(stray))
    api = ControllerApi(Source(url="http://127.0.0.1:1"), user_agent="tests")
    await api.open()
    assert api.auth.server == "http://127.0.0.1:1"
    await api.aclose()


async def test_objects_of_kr8s_reach_the_server_through_call_api() -> None:
    source = inspect.getsource(APIObject)
    assert "self.api.call_api(" in source


async def test_the_session_is_ours_and_is_made_once() -> None:
    api = ControllerApi(Source(url="http://127.0.0.1:1"), user_agent="tests")
    await asyncio.gather(*(api._create_session() for _ in range(10)))
    session = api._session
    assert isinstance(session, httpx.AsyncClient)
    await api._create_session()
    assert api._session is session
    await api.aclose()
