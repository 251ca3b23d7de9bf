"""Behaviour of kr8s and asyncio beyond their manuals, on which `controller.kube` relies.

New versions must pass here first.
"""

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
import msgspec
import pytest
from kr8s.asyncio.objects import APIObject

from controller.errors import BadConfiguration, MoonshiftError
from controller.kube.api import ControllerApi
from controller.kube.credentials import Source
from controller.kube.sending import path_of
from controller.kube.transport import TLS_BUFFER, Answer
from tests.component.kube.test_credentials import self_signed


def test_the_version_is_one_these_tests_were_written_for() -> None:
    assert kr8s.__version__.startswith("0.20.")


def test_the_methods_we_replace_still_exist_with_their_parameters() -> None:
    theirs = inspect.signature(kr8s.asyncio.Api.call_api).parameters
    ours = inspect.signature(ControllerApi.call_api).parameters
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


def in_the_home_directory(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kubeconfig that kr8s would read on its own."""
    stray = directory / "config"
    stray.write_text("this is not: [yaml")
    monkeypatch.setenv("KUBECONFIG", str(stray))


async def test_no_kubeconfig_is_read_but_the_one_that_was_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_home_directory(tmp_path, monkeypatch)
    api = ControllerApi(Source(url="http://127.0.0.1:1"), user_agent="tests")
    await api.open()
    assert (api.server, api.auth.server) == ("http://127.0.0.1:1", "http://127.0.0.1:1")
    await api.aclose()


async def test_kr8s_knows_the_way_and_the_namespace_and_no_secret(tmp_path: Path) -> None:
    cluster = {
        "server": "https://there:6443",
        "tls-server-name": "moon.test",
        "proxy-url": "http://proxy:3128",
        "insecure-skip-tls-verify": True,
    }
    context = {"cluster": "c", "user": "u", "namespace": "shop"}
    tree = {
        "current-context": "other",
        "contexts": [{"name": "there", "context": context}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    (tmp_path / "config").write_bytes(msgspec.json.encode(tree))
    source = Source(kubeconfig=str(tmp_path / "config"), context="there")
    api = ControllerApi(source, user_agent="tests")
    await api.open()
    auth = api.auth
    assert (auth.server, auth.tls_server_name, auth.proxy) == (
        "https://there:6443",
        "moon.test",
        "http://proxy:3128",
    )
    assert api.namespace == "shop"
    assert (auth.token, auth.client_key_file, auth.server_ca_file) == (None, None, None)
    await api.aclose()


async def test_a_pods_account_wins_over_a_kubeconfig_of_the_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_home_directory(tmp_path, monkeypatch)
    (tmp_path / "token").write_text("pod-token")
    (tmp_path / "ca.crt").write_bytes(self_signed()[0])
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    api = ControllerApi(Source(service_account=str(tmp_path)), user_agent="tests")
    await api.open()
    assert api.server == "https://[fd00::1]:443"
    assert api.auth.server_ca_file == str(tmp_path / "ca.crt")
    await api.aclose()


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("KUBERNETES_SERVICE_PORT", "the variable KUBERNETES_SERVICE_PORT is not set"),
        ("token", "token: No such file"),
        ("ca.crt", "certificate-authority .*ca.crt .* No such file"),
    ],
)
async def test_an_incomplete_account_is_refused_with_the_missing_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, said: str
) -> None:
    for file in {"token", "ca.crt"} - {missing}:
        (tmp_path / file).write_bytes(self_signed()[0])
    for variable in ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.setenv(variable, "443")
    monkeypatch.delenv(missing, raising=False)
    api = ControllerApi(Source(service_account=str(tmp_path)), user_agent="tests")
    with pytest.raises(BadConfiguration, match=said):
        await api.open()


async def test_no_connection_is_made_past_ours() -> None:
    api = ControllerApi(Source(url="http://127.0.0.1:1"), user_agent="tests")
    await api.open()
    with pytest.raises(MoonshiftError, match="WebSockets"):
        api.open_websocket(url="pods/a/exec")
    await api.aclose()


async def test_objects_of_kr8s_reach_the_server_through_call_api() -> None:
    source = inspect.getsource(APIObject)
    assert "self.api.call_api(" in source


async def test_an_api_that_is_opened_often_has_one_pool() -> None:
    api = ControllerApi(Source(url="http://127.0.0.1:1"), user_agent="tests")
    await asyncio.gather(*(api.open() for _ in range(10)))
    pool = api._sending._requests
    await api.open()
    assert api._sending._requests is pool
    await api.aclose()


def loaded_by(code: str) -> set[str]:
    """The modules that a process has loaded after this code."""
    program = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_the_controller_stands_on_kr8s_without_the_command_of_its_http_library() -> None:
    loaded = loaded_by("import controller.__main__")
    assert {"kr8s", "controller.kube.objects"} <= loaded
    assert {"httpx._main", "pygments", "wsproto", "jsonpath"}.isdisjoint(loaded)


def test_what_kr8s_was_not_given_at_first_is_there_when_it_is_used() -> None:
    parts = (
        ("kr8s._objects", "jsonpath.findall"),
        ("kr8s._api", "x509.oid"),
        ("kr8s._api", "httpx_ws.connect_ws"),
    )
    used = "; ".join(f"sys.modules['{module}'].{part}" for module, part in parts)
    assert {"jsonpath.path", "cryptography.x509", "wsproto"} <= loaded_by(
        f"import controller.kube.objects; {used}; import jsonpath.patch; from cryptography import x509"
    )


def test_a_command_loads_kr8s_when_it_connects_and_not_before() -> None:
    command = "import controller.cli.commands.approve"
    assert {"kr8s", "httpx", "anyio"}.isdisjoint(loaded_by(command))
    connecting = (
        f"{command}, asyncio\n"
        "from controller.kube.client import KubeClient\n"
        "from controller.kube.credentials import Source\n"
        "asyncio.run(KubeClient.connect_by(Source(url='http://127.0.0.1:1'), user_agent='tests'))"
    )
    loaded = loaded_by(connecting)
    assert "kr8s" in loaded
    assert {"wsproto", "jsonpath", "cryptography.x509"}.isdisjoint(loaded)


def test_asyncio_takes_the_size_of_its_tls_buffer_from_the_class() -> None:
    assert SSLProtocol.max_size > TLS_BUFFER
    assert "bytearray(self.max_size)" in inspect.getsource(SSLProtocol.__init__)
