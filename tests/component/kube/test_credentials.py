"""The sources of credentials, and the parts of them that are kept."""

import asyncio
import base64
import datetime
import os
import ssl
import stat
import sys
import tempfile
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from controller.errors import BadConfiguration
from controller.kube.api import ControllerApi
from controller.kube.client import KubeClient
from controller.kube.credentials import Source, choose_source
from controller.kube.resources import PODS
from tests.component.kube.faulty_server import (
    FaultyServer,
    Reply,
    Request,
    answering,
    connected,
    status,
    write_kubeconfig,
)
from tests.component.runtime.virtual_time import virtual_time


def self_signed(*names: x509.GeneralName) -> tuple[bytes, bytes]:
    """A certificate of these names, else of moon.test, and its key, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start.replace(year=2120))
        .add_extension(
            x509.SubjectAlternativeName(names or [x509.DNSName("moon.test")]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    return certificate.public_bytes(pem), private


async def test_inline_keys_leave_no_file_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = self_signed()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    user = {
        "client-certificate-data": base64.b64encode(certificate).decode(),
        "client-key-data": base64.b64encode(key).decode(),
    }
    server = FaultyServer(others=[answering(200, b"{}")])
    async with server.running():
        config = write_kubeconfig(tmp_path, server, user)
        async with connected(server, source=Source(kubeconfig=config)) as client:
            assert list(scratch.iterdir()) == []
            assert await client.get(PODS, "shop", "a") == b"{}"


async def test_client_certificates_and_another_server_name_are_used(tmp_path: Path) -> None:
    certificate, key = self_signed()
    (tmp_path / "cert.pem").write_bytes(certificate)
    (tmp_path / "key.pem").write_bytes(key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(tmp_path / "cert.pem"))
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    encoded = base64.b64encode(certificate).decode()
    user = {
        "client-certificate-data": encoded,
        "client-key-data": base64.b64encode(key).decode(),
    }
    server = FaultyServer(others=[answering(200, b"{}")])
    async with server.running(context):
        cluster = {
            "server": server.url.replace("http:", "https:"),
            "certificate-authority-data": encoded,
            "tls-server-name": "moon.test",
        }
        config = write_kubeconfig(tmp_path, server, user, cluster)
        async with connected(server, source=Source(kubeconfig=config)) as client:
            assert await client.get(PODS, "shop", "a") == b"{}"


async def test_a_login_program_runs_once_for_a_storm_of_refusals(tmp_path: Path) -> None:
    counter = tmp_path / "runs"
    program = tmp_path / "login"
    program.write_text(
        f"#!{sys.executable}\n"
        "import json, pathlib\n"
        f"path = pathlib.Path({str(counter)!r})\n"
        "runs = int(path.read_text()) + 1 if path.exists() else 1\n"
        "path.write_text(str(runs))\n"
        "print(json.dumps({'status': {'token': f'token-{runs}'}}))\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)

    async def second_only(request: Request, reply: Reply) -> None:
        fine = request.headers.get("authorization") == "Bearer token-2"
        await reply.answer(200 if fine else 401, b"{}" if fine else status(401, "Unauthorized"))

    server = FaultyServer(others=[second_only])
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program)}}
    async with server.running():
        config = write_kubeconfig(tmp_path, server, {**user})
        async with connected(server, source=Source(kubeconfig=config)) as client:
            await asyncio.gather(*(client.get(PODS, "shop", f"p{n}") for n in range(20)))
    assert counter.read_text() == "2"


async def test_connect_names_the_mistake_in_a_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match="absent does not exist"):
        await KubeClient.connect(kubeconfig=str(tmp_path / "absent"), user_agent="tests")
    server = FaultyServer()
    config = write_kubeconfig(tmp_path, server, {})
    with pytest.raises(BadConfiguration, match="elsewhere"):
        await KubeClient.connect(kubeconfig=config, context="elsewhere", user_agent="tests")


async def test_the_service_account_of_a_pod_is_used_with_its_token_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, _ = self_signed()
    (tmp_path / "token").write_text("pod-token\n")
    (tmp_path / "ca.crt").write_bytes(certificate)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    api = ControllerApi(Source(service_account=str(tmp_path)), user_agent="tests")
    await api.open()
    assert api.server == "https://10.0.0.1:443"
    await api.aclose()


def test_a_named_file_wins_over_the_environment_and_that_over_the_home_directory(
    tmp_path: Path,
) -> None:
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text("{}")
    home = {"HOME": str(tmp_path)}
    assert choose_source("f", "c", home | {"KUBECONFIG": "e"}) == Source(
        kubeconfig="f", context="c"
    )
    assert choose_source(None, None, home | {"KUBECONFIG": "e"}).kubeconfig == "e"
    assert choose_source(None, None, home).kubeconfig == str(tmp_path / ".kube" / "config")


def test_a_stray_kubeconfig_in_the_image_does_not_win_over_the_pods_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text("{}")
    (tmp_path / "token").write_text("t")
    monkeypatch.setattr("controller.kube.credentials.SERVICE_ACCOUNT", str(tmp_path))
    environ = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    assert choose_source(None, None, environ) == Source(service_account=str(tmp_path))


def test_no_credentials_at_all_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match="give --kubeconfig"):
        choose_source(None, None, {"HOME": str(tmp_path)})


def test_a_context_without_a_kubeconfig_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match=r"--context nowhere .*config does not exist"):
        choose_source(None, "nowhere", {"HOME": str(tmp_path)})


@virtual_time
async def test_a_proxy_in_the_environment_is_ignored() -> None:
    os.environ["HTTP_PROXY"] = "http://127.0.0.1:1"
    try:
        server = FaultyServer(others=[answering(200, b"{}")])
        async with server.running(), connected(server) as client:
            assert await client.get(PODS, "shop", "a") == b"{}"
    finally:
        del os.environ["HTTP_PROXY"]
