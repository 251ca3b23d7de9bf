"""The settings of a kubeconfig reach the server, over real connections, or are refused with a reason."""

import base64
import contextlib
import ipaddress
import json
import re
import ssl
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from controller.errors import BadConfiguration, Unreachable
from controller.kube.access import access_of
from controller.kube.credentials import Impersonation, Source
from controller.kube.resources import PODS
from tests.component.kube.faulty_server import (
    FaultyServer,
    answering,
    connected,
    streaming,
    write_kubeconfig,
)
from tests.component.kube.proxy import Proxy
from tests.component.kube.test_credentials import self_signed

V1 = "client.authentication.k8s.io/v1"


def replying() -> FaultyServer:
    return FaultyServer(others=[answering(200, b"{}")])


async def headers_of(
    directory: Path, user: Mapping[str, object], asked: Impersonation | None = None
) -> dict[str, str]:
    """The request headers that tell the server the identity of the client."""
    server = replying()
    async with server.running():
        source = Source(
            kubeconfig=write_kubeconfig(directory, server, user),
            impersonation=asked or Impersonation(),
        )
        async with connected(server, source=source) as client:
            await client.get(PODS, "shop", "a")
    headers = server.requests[0].headers
    return {k: v for k, v in headers.items() if k == "authorization" or k.startswith("imp")}


async def refusal(
    directory: Path, user: Mapping[str, object], cluster: Mapping[str, object] | None = None
) -> str:
    """Why no client is made; no request is sent."""
    server = replying()
    async with server.running():
        config = write_kubeconfig(directory, server, user, cluster)
        with pytest.raises(BadConfiguration) as refused:
            async with connected(server, source=Source(kubeconfig=config)):
                pass
    assert not server.requests
    return str(refused.value)


# --- whose place is taken -----------------------------------------------------------------------


async def test_an_impersonated_viewer_asks_and_not_the_administrator_behind(tmp_path: Path) -> None:
    user = {
        "token": "t",
        "as": "jane",
        "as-uid": "u-1",
        "as-groups": ["viewers", "all staff"],
        "as-user-extra": {"acme.com/Scopes": ["a", "b"], "why": ["c"]},
    }
    assert await headers_of(tmp_path, user) == {
        "authorization": "Bearer t",
        "impersonate-user": "jane",
        "impersonate-uid": "u-1",
        "impersonate-group": "viewers,all staff",
        "impersonate-extra-acme.com%2fscopes": "a,b",
        "impersonate-extra-why": "c",
    }


async def test_a_watch_is_made_in_the_same_place(tmp_path: Path) -> None:
    server = FaultyServer(watches=[streaming()])
    async with server.running():
        config = write_kubeconfig(tmp_path, server, {"as": "jane", "as-groups": ["a", "b"]})
        async with (
            connected(server, source=Source(kubeconfig=config)) as client,
            client.watch(PODS, "shop", "1") as lines,
        ):
            assert [line async for line in lines] == []
    assert server.requests[0].headers["impersonate-user"] == "jane"
    assert server.requests[0].headers["impersonate-group"] == "a,b"


async def test_the_command_line_outranks_the_file_value_by_value(tmp_path: Path) -> None:
    user = {"as": "jane", "as-groups": ["viewers"], "as-uid": "u-1"}
    asked = Impersonation("joe", groups=("editors", "more"), extra=(("k", ("v",)),))
    assert await headers_of(tmp_path, user, asked) == {
        "impersonate-user": "joe",
        "impersonate-uid": "u-1",
        "impersonate-group": "editors,more",
        "impersonate-extra-k": "v",
    }


@pytest.mark.parametrize(
    "user", [{"as-groups": ["a"]}, {"as-uid": "1"}, {"as-user-extra": {"a": ["b"]}}]
)
async def test_groups_without_a_user_are_refused(tmp_path: Path, user: dict[str, Any]) -> None:
    assert "but no user: give --as" in await refusal(tmp_path, user)


# --- tokens and programs ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("user", "sent"),
    [
        ({"token": "t"}, "Bearer t"),
        ({"tokenFile": "token.txt"}, "Bearer of-file"),
        ({"token": "t", "tokenFile": "token.txt"}, "Bearer of-file"),
        ({"token": "t", "tokenFile": "none.txt"}, "Bearer t"),
        ({"username": "jane", "password": "p"}, "Basic amFuZTpw"),
        ({"auth-provider": {"name": "oidc", "config": {"id-token": "id"}}}, "Bearer id"),
    ],
)
async def test_the_credentials_are_sent(tmp_path: Path, user: dict[str, Any], sent: str) -> None:
    (tmp_path / "token.txt").write_text("of-file\n")
    assert await headers_of(tmp_path, user) == {"authorization": sent}


PROGRAM = """#!{python}
import json, os, sys
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
told = info["spec"].get("cluster", {{}})
print(json.dumps({{
    "apiVersion": info["apiVersion"], "kind": "ExecCredential",
    "status": {{"token": "-".join([
        sys.argv[1], os.environ["MORE"], str(info["spec"]["interactive"]),
        str(told.get("config", {{}}).get("audience")), str("server" in told)])}},
}}))
"""


@pytest.mark.parametrize("version", [V1, "client.authentication.k8s.io/v1beta1"])
async def test_a_login_program_beside_the_file_gets_the_input_of_client_go(
    tmp_path: Path, version: str
) -> None:
    (tmp_path / "login").write_text(PROGRAM.format(python=sys.executable))
    (tmp_path / "login").chmod(0o700)
    user = {
        "exec": {
            "apiVersion": version,
            "command": "./login",
            "args": ["arg"],
            "env": [{"name": "MORE", "value": "more"}],
            "interactiveMode": "Never",
            "provideClusterInfo": True,
        }
    }
    config = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "aud"}}
    server = replying()
    async with server.running():
        path = write_kubeconfig(tmp_path, server, user, {"extensions": [config]})
        async with connected(server, source=Source(kubeconfig=path)) as client:
            await client.get(PODS, "shop", "a")
    assert server.requests[0].headers["authorization"] == "Bearer arg-more-False-aud-True"


def printing(answer: object) -> dict[str, Any]:
    """A user whose log-in program prints this."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return {"exec": {"apiVersion": V1, "command": "printf", "args": ["%s", text]}}


@pytest.mark.parametrize(
    ("user", "text"),
    [
        ({"exec": {"apiVersion": V1, "command": "./none", "installHint": "get it"}}, "get it"),
        ({"exec": {"apiVersion": V1, "command": "./none"}}, r"cannot be started \(No such file"),
        ({"exec": {"apiVersion": V1, "command": "false"}}, "false .* ended with code 1"),
        ({"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1"}}, "asks for .*v1alpha1;"),
        ({"exec": {"command": "x"}}, "asks for no version"),
        ({"exec": {"apiVersion": V1, "interactiveMode": "Maybe"}}, "interactiveMode Maybe"),
        ({"exec": {"apiVersion": V1, "interactiveMode": "Always"}}, "no terminal"),
        (printing("what?"), "printed no ExecCredential"),
        (printing({"apiVersion": "v9", "status": {"token": "t"}}), "answered in v9"),
        (printing({"status": {}}), "neither a token nor a client certificate"),
        (printing({"status": {"clientKeyData": "k"}}), "without the other"),
        ({"auth-provider": {"name": "gcp"}}, "auth-provider gcp, which is not known"),
        ({"tokenFile": "none.txt"}, "tokenFile .*none.txt .*No such file"),
    ],
)
async def test_an_unusable_kubeconfig_is_refused_in_words(
    tmp_path: Path, user: dict[str, Any], text: str
) -> None:
    reason = await refusal(tmp_path, user)
    assert re.search(text, reason), reason


# --- TLS ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Secured:
    """A server with a certificate for one address only, and the kubeconfig's spelling of both."""

    server: FaultyServer
    directory: Path
    certificate: bytes
    key: bytes

    @property
    def ca(self) -> str:
        return base64.b64encode(self.certificate).decode()

    @property
    def private(self) -> str:
        return base64.b64encode(self.key).decode()

    def context(self, clients: bool) -> ssl.SSLContext:
        """The server's side; `clients`: they have to show this very certificate."""
        (self.directory / "cert.pem").write_bytes(self.certificate)
        (self.directory / "key.pem").write_bytes(self.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_verify_locations(self.directory / "cert.pem")
        context.load_cert_chain(self.directory / "cert.pem", self.directory / "key.pem")
        context.verify_mode = ssl.CERT_REQUIRED if clients else ssl.CERT_NONE
        return context

    async def ask(self, cluster: Mapping[str, object], user: Mapping[str, object]) -> None:
        """One request with this kubeconfig."""
        address = {"server": self.server.url.replace("http:", "https:")}
        config = write_kubeconfig(self.directory, self.server, user, {**address, **cluster})
        async with connected(self.server, source=Source(kubeconfig=config)) as client:
            assert await client.get(PODS, "shop", "a") == b"{}"


LOOPBACK = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))


@contextlib.asynccontextmanager
async def secured(
    directory: Path, *names: x509.GeneralName, clients: bool = False
) -> AsyncIterator[Secured]:
    certificate, key = self_signed(*names)
    made = Secured(replying(), directory, certificate, key)
    async with made.server.running(made.context(clients)):
        yield made


async def test_the_authority_beside_the_file_is_trusted_and_its_data_outranks_it(
    tmp_path: Path,
) -> None:
    async with secured(tmp_path, LOOPBACK) as there:
        await there.ask({"certificate-authority": "cert.pem"}, {})
        (tmp_path / "other.pem").write_bytes(self_signed()[0])
        both = {"certificate-authority": "other.pem", "certificate-authority-data": there.ca}
        await there.ask(both, {})
        with pytest.raises(Unreachable, match="certificate verify failed"):
            await there.ask({"certificate-authority": "other.pem"}, {})
        with pytest.raises(Unreachable, match="certificate verify failed"):
            await there.ask({}, {})  # the system's authorities do not know it


async def test_an_authority_that_is_replaced_in_its_file_is_trusted_without_a_restart(
    tmp_path: Path,
) -> None:
    async with secured(tmp_path, LOOPBACK) as there:
        (tmp_path / "ca.pem").write_bytes(self_signed()[0])
        address = there.server.url.replace("http:", "https:")
        cluster = {"server": address, "certificate-authority": "ca.pem"}
        config = write_kubeconfig(tmp_path, there.server, {}, cluster)
        async with connected(there.server, source=Source(kubeconfig=config)) as client:
            with pytest.raises(Unreachable, match="certificate verify failed"):
                await client.get(PODS, "shop", "a")
            (tmp_path / "ca.pem").write_bytes(there.certificate)
            with contextlib.suppress(Unreachable):
                await client.get(PODS, "shop", "a")
            assert await client.get(PODS, "shop", "a") == b"{}"


async def test_the_servers_name_is_checked_unless_that_is_switched_off(tmp_path: Path) -> None:
    async with secured(tmp_path, x509.DNSName("moon.test")) as there:
        trusted = {"certificate-authority-data": there.ca}
        with pytest.raises(Unreachable, match="certificate verify failed"):
            await there.ask(trusted, {})
        await there.ask({**trusted, "tls-server-name": "moon.test"}, {})
        await there.ask({"insecure-skip-tls-verify": True}, {})


@pytest.mark.parametrize("how", ["files", "data", "program"])
async def test_a_client_certificate_is_shown(tmp_path: Path, how: str) -> None:
    async with secured(tmp_path, LOOPBACK, clients=True) as there:
        status = {
            "clientCertificateData": there.certificate.decode(),
            "clientKeyData": there.key.decode(),
        }
        users: dict[str, dict[str, Any]] = {
            "files": {"client-certificate": "cert.pem", "client-key": "key.pem"},
            "data": {"client-certificate-data": there.ca, "client-key-data": there.private},
            "program": printing({"apiVersion": V1, "status": status}),
        }
        trusted = {"certificate-authority-data": there.ca}
        await there.ask(trusted, users[how])
        with pytest.raises(Unreachable):
            await there.ask(trusted, {})


async def test_in_a_pod_a_users_place_can_be_taken_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with secured(tmp_path, LOOPBACK) as there:
        (tmp_path / "token").write_text("pod")
        (tmp_path / "ca.crt").write_bytes(there.certificate)
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(there.server.port))
        source = Source(service_account=str(tmp_path), impersonation=Impersonation("jane"))
        async with connected(there.server, source=source) as client:
            await client.get(PODS, "shop", "a")
    headers = there.server.requests[0].headers
    assert (headers["authorization"], headers["impersonate-user"]) == ("Bearer pod", "jane")


@pytest.mark.parametrize(
    ("user", "cluster", "text"),
    [
        ({}, {"insecure-skip-tls-verify": True, "certificate-authority-data": "AA=="}, "has both"),
        ({}, {"certificate-authority-data": "AA=="}, "no certificate in PEM"),
        ({}, {"certificate-authority-data": "A"}, "certificate-authority-data .* not base64"),
        ({}, {"certificate-authority": "none.crt"}, "certificate-authority .*none.crt .*No such"),
        ({"client-key-data": "AA=="}, {}, "without the other"),
        ({"client-key-data": "AA==", "client-certificate-data": "AA=="}, {}, "are not PEM"),
        ({}, {"proxy-url": "socks5://me:s3cret@127.0.0.1:1"}, "socks5://127.0.0.1:1: only http"),
        ({}, {"server": None}, "has no server"),
    ],
)
async def test_proxy_settings_that_cannot_be_honoured_are_refused_in_words(
    tmp_path: Path, user: dict[str, Any], cluster: dict[str, Any], text: str
) -> None:
    reason = await refusal(tmp_path, user, {"server": "https://127.0.0.1:1", **cluster})
    assert re.search(text, reason), reason


# --- proxies ------------------------------------------------------------------------------------


async def test_the_proxy_of_the_kubeconfig_is_used_with_its_password(tmp_path: Path) -> None:
    proxy = Proxy()
    async with secured(tmp_path, LOOPBACK) as there, proxy.running():
        address = f"http://me:pass@127.0.0.1:{proxy.port}"
        await there.ask({"certificate-authority-data": there.ca, "proxy-url": address}, {})
    (asked,) = proxy.asked
    assert asked.startswith(f"CONNECT 127.0.0.1:{there.server.port} ")
    assert asked.endswith("Basic bWU6cGFzcw==")


async def test_people_go_by_the_proxy_of_the_environment_controllers_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_kubeconfig(tmp_path, replying(), {}, {"server": "https://cluster.test:6443"})
    monkeypatch.setenv("https_proxy", "proxy.test:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    person = Source(kubeconfig=config, for_a_person=True)
    assert (await access_of(person)).proxy == "http://proxy.test:3128"
    assert (await access_of(Source(kubeconfig=config))).proxy == ""
    monkeypatch.setenv("no_proxy", "cluster.test")
    assert (await access_of(person)).proxy == ""
    local = write_kubeconfig(tmp_path, replying(), {}, {"server": "https://127.0.0.1:6443"})
    monkeypatch.setenv("no_proxy", "")
    assert (await access_of(Source(kubeconfig=local, for_a_person=True))).proxy == ""


@pytest.mark.parametrize(
    ("cluster", "server"),
    [
        ({"server": "here:8080"}, "http://here:8080"),
        ({"server": "here:8080", "insecure-skip-tls-verify": True}, "https://here:8080"),
    ],
)
async def test_an_address_without_a_scheme_is_read_as_client_go_reads_it(
    tmp_path: Path, cluster: dict[str, Any], server: str
) -> None:
    config = write_kubeconfig(tmp_path, replying(), {}, cluster)
    assert (await access_of(Source(kubeconfig=config))).server == server
