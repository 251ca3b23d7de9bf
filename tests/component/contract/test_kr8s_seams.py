"""The private parts of kr8s and asyncio that `controller.kube` relies on; new versions must pass here first."""

import asyncio
import inspect
import re
import subprocess
import sys
from asyncio.sslproto import SSLProtocol
from pathlib import Path

import kr8s
import kr8s._api as kr8s_api
import kr8s._objects as kr8s_objects
import kr8s.asyncio
import pytest
from kr8s._auth import KubeAuth
from kr8s.asyncio.objects import APIObject

from controller.kube.api import ControllerApi, path_of
from controller.kube.credentials import Source
from controller.kube.kr8s_api import Kr8sApi
from controller.kube.transport import TLS_BUFFER, Answer


def test_the_version_is_one_these_tests_were_written_for() -> None:
    assert kr8s.__version__.startswith("0.20.")


async def test_an_api_can_be_made_without_the_factory() -> None:
    api = kr8s.asyncio.Api(bypass_factory=True, url="http://127.0.0.1:1")
    assert api._session is None
    assert isinstance(api.auth, KubeAuth)


def test_the_methods_we_replace_still_exist_with_their_parameters() -> None:
    theirs = inspect.signature(kr8s.asyncio.Api.call_api).parameters
    ours = inspect.signature(Kr8sApi.call_api).parameters
    assert list(theirs) == list(ours)


def test_all_that_kr8s_reads_of_an_answer_is_there() -> None:
    sources = inspect.getsource(kr8s_api) + inspect.getsource(kr8s_objects)
    own = inspect.getsource(kr8s.asyncio.Api.call_api)
    read = set(re.findall(r"\b(?:resp|response)\.(\w+)", sources.replace(own, "")))
    assert {"json", "status_code", "aiter_lines"} <= read
    # those of kr8s' own errors, which hold an answer of httpx where kr8s asked for itself
    assert read - set(dir(Answer)) - {"headers", "status_code"} == set()


async def test_addresses_are_built_as_kr8s_builds_them() -> None:
    def build(version: str, base: str, namespace: str | None, url: str) -> str:
        theirs = kr8s.asyncio.Api(bypass_factory=True, url="http://127.0.0.1:1")._construct_url
        assert path_of(version, base, namespace, url) == theirs(version, base, namespace, url)
        return path_of(version, base, namespace, url)

    assert build("v1", "", "shop", "pods/a") == "/api/v1/namespaces/shop/pods/a"
    assert build("apps/v1", "", None, "deployments") == "/apis/apps/v1/deployments"
    assert build("", "/apis", None, "apps/v1") == "/apis/apps/v1"


async def test_kr8s_keeps_its_credentials_where_we_read_them() -> None:
    auth = KubeAuth(url="http://127.0.0.1:1", serviceaccount="")
    for attribute in ("server", "token", "tls_server_name", "proxy", "_serviceaccount"):
        assert hasattr(auth, attribute)
    for attribute in ("client_key_file", "client_cert_file", "server_ca_file"):
        assert getattr(auth, attribute) is None
    assert auth._user == {}
    assert auth._cluster == {}


async def test_no_kubeconfig_is_read_if_the_flag_is_false(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = tmp_path / "config"
    stray.write_text("this is not: [yaml")
    monkeypatch.setenv("KUBECONFIG", str(stray))
    api = ControllerApi(Source(url="http://127.0.0.1:1"), user_agent="tests")
    await api.open()
    theirs = Kr8sApi(api)
    await theirs.auth.reauthenticate()
    assert theirs.auth.server == "http://127.0.0.1:1"
    await api.aclose()


async def test_objects_of_kr8s_reach_the_server_through_call_api() -> None:
    source = inspect.getsource(APIObject)
    assert "self.api.call_api(" in source


async def test_an_api_that_is_opened_often_has_one_pool() -> None:
    api = ControllerApi(Source(url="http://127.0.0.1:1"), user_agent="tests")
    await asyncio.gather(*(api.open() for _ in range(10)))
    pool = api._requests
    await api.open()
    assert api._requests is pool
    await api.aclose()


@pytest.mark.parametrize("program", ["controller.__main__", "controller.cli.commands.approve"])
def test_neither_the_controller_nor_a_command_loads_kr8s(program: str) -> None:
    code = f"import sys, {program}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "controller.kube.api" in loaded
    assert {"kr8s", "httpx", "anyio"}.isdisjoint(loaded)


def test_asyncio_takes_the_size_of_its_tls_buffer_from_the_class() -> None:
    assert SSLProtocol.max_size > TLS_BUFFER
    assert "bytearray(self.max_size)" in inspect.getsource(SSLProtocol.__init__)
