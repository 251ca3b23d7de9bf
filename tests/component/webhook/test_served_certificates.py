"""The certificates with which reviews are served, and the certificates that API servers present."""

import asyncio
import socket
import ssl
import threading
from datetime import datetime, timedelta
from pathlib import Path

import aiohttp
import pytest

from controller.certificates.authority import Pair, issue, new_authority
from controller.certificates.directory import write_files
from controller.webhook.admission import Admission
from controller.webhook.server import serving, webhook_app
from controller.webhook.tls import ServingTls
from tests.component.certificates.versions import of_version
from tests.component.webhook.asking import (
    DEPLOYMENTS,
    REAL_NOW,
    FixedClock,
    Reads,
    review,
)
from tests.component.webhook.no_metrics import NoMetrics


def keep(directory: Path, pair: Pair) -> None:
    """Write a serving pair."""
    write_files(directory, {"tls.crt": pair.certificate, "tls.key": pair.key})


async def get(port: int, authority: Pair) -> int:
    """Call as one who trusts `authority`."""
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    connector = aiohttp.TCPConnector(ssl=context)
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.get(f"https://127.0.0.1:{port}/readyz") as response,
    ):
        return response.status


async def test_a_new_certificate_is_served_without_a_restart(tmp_path: Path) -> None:
    old, new = new_authority(REAL_NOW), new_authority(REAL_NOW)
    keep(tmp_path, issue(old, ["127.0.0.1"], REAL_NOW))
    tls = ServingTls(tmp_path)
    async with serving(webhook_app({}, NoMetrics()), "127.0.0.1", 0, tls.context) as port:
        assert await get(port, old) == 200
        assert tls.reload() is False
        keep(tmp_path, issue(new, ["127.0.0.1"], REAL_NOW))
        assert tls.reload() is True
        assert await get(port, new) == 200
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await get(port, old)


async def test_reviews_are_taken_on_addresses_of_both_families() -> None:
    assert socket.has_dualstack_ipv6()
    async with (
        serving(webhook_app({}, NoMetrics()), "", 0, None) as port,
        aiohttp.ClientSession() as session,
    ):
        for host in ("127.0.0.1", "[::1]"):
            async with session.post(f"http://{host}:{port}/nothing-is-here") as answer:
                assert answer.status == 404


async def test_the_end_of_each_certificate_that_is_loaded_is_reported(tmp_path: Path) -> None:
    ends: list[datetime] = []
    authority = new_authority(REAL_NOW)
    keep(tmp_path, issue(authority, ["127.0.0.1"], REAL_NOW))
    tls = ServingTls(tmp_path, loaded=ends.append)
    keep(tmp_path, issue(authority, ["127.0.0.1"], REAL_NOW + timedelta(days=1)))
    assert tls.reload() is True
    first, second = ends
    assert second - first == timedelta(days=1)


async def test_a_broken_pair_leaves_the_one_in_use_alone(tmp_path: Path) -> None:
    authority = new_authority(REAL_NOW)
    keep(tmp_path, issue(authority, ["127.0.0.1"], REAL_NOW))
    tls = ServingTls(tmp_path)
    async with serving(webhook_app({}, NoMetrics()), "127.0.0.1", 0, tls.context) as port:
        write_files(tmp_path, {"tls.crt": issue(authority, ["x"], REAL_NOW).certificate})
        assert tls.reload() is False
        assert await get(port, authority) == 200
        (tmp_path / "tls.key").unlink()
        assert tls.reload() is False
        assert await get(port, authority) == 200


async def test_a_certificate_of_an_unknown_version_leaves_the_one_in_use_alone(
    tmp_path: Path,
) -> None:
    authority = new_authority(REAL_NOW)
    pair = issue(authority, ["127.0.0.1"], REAL_NOW)
    keep(tmp_path, pair)
    tls = ServingTls(tmp_path)
    async with serving(webhook_app({}, NoMetrics()), "127.0.0.1", 0, tls.context) as port:
        write_files(tmp_path, {"tls.crt": of_version(7, pair.certificate)})
        assert tls.reload() is False
        assert await get(port, authority) == 200


async def test_two_threads_load_a_new_pair_one_after_the_other(tmp_path: Path) -> None:
    authority = new_authority(REAL_NOW)
    inside, most = [0], [0]

    def loaded(ends: datetime) -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        second.wait(0.2)
        inside[0] -= 1

    second = threading.Event()
    keep(tmp_path, issue(authority, ["127.0.0.1"], REAL_NOW))
    tls = ServingTls(tmp_path, loaded=loaded)
    keep(tmp_path, issue(authority, ["127.0.0.1"], REAL_NOW + timedelta(days=1)))
    done = await asyncio.gather(*(asyncio.to_thread(tls.reload) for _ in range(2)))
    assert sorted(done) == [False, True], "the second one finds nothing new"
    assert most == [1]


async def test_new_files_are_looked_for_from_time_to_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = new_authority(REAL_NOW)
    keep(tmp_path, issue(authority, ["127.0.0.1"], REAL_NOW))
    tls = ServingTls(tmp_path)
    looked = asyncio.Event()

    def reload() -> bool:
        loop.call_soon_threadsafe(looked.set)
        return False

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(tls, "reload", reload)
    task = asyncio.create_task(tls.run(0.0))
    async with asyncio.timeout(60):
        await looked.wait()
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


# --- clients with a certificate -----------------------------------------------------------------


async def status_of(port: int, trusted: Pair, path: str, folder: Path, own: Pair | None) -> int:
    """Post a review as a client with a certificate, or without one."""
    context = ssl.create_default_context(cadata=trusted.certificate.decode())
    if own is not None:
        keep(folder, own)
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    connector = aiohttp.TCPConnector(ssl=context)
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.post(f"https://127.0.0.1:{port}{path}", json=review({}, {})) as response,
    ):
        return response.status


async def test_with_a_client_authority_reviews_are_taken_from_its_clients_only(
    tmp_path: Path,
) -> None:
    authority, clients, strangers = (new_authority(REAL_NOW) for _ in range(3))
    keep(tmp_path / "serving", issue(authority, ["127.0.0.1"], REAL_NOW))
    (tmp_path / "clients.crt").write_bytes(clients.certificate)
    tls = ServingTls(tmp_path / "serving", tmp_path / "clients.crt")
    admission = Admission(Reads(), Reads(), FixedClock(), is_own=lambda *who: False)
    app = webhook_app(admission.handlers(), NoMetrics(), authenticated=True)
    server_of_the_api = issue(clients, ["apiserver"], REAL_NOW, client=True)
    forger = issue(strangers, ["apiserver"], REAL_NOW, client=True)
    async with serving(app, "127.0.0.1", 0, tls.context) as port:

        async def asked(path: str, own: Pair | None) -> int:
            return await status_of(port, authority, path, tmp_path / "client", own)

        assert await asked(DEPLOYMENTS, server_of_the_api) == 200
        assert await asked(DEPLOYMENTS, None) == 403
        with pytest.raises(aiohttp.ClientError):
            await asked(DEPLOYMENTS, forger)
        # API servers present no certificate for conversions, whose answer depends only on the request.
        assert await asked("/convert", None) == 200


async def test_a_client_authority_that_is_replaced_is_trusted_without_a_restart(
    tmp_path: Path,
) -> None:
    """API servers get their certificates from another authority when the cluster's is rotated."""
    authority, before, after = (new_authority(REAL_NOW) for _ in range(3))
    keep(tmp_path / "serving", issue(authority, ["127.0.0.1"], REAL_NOW))
    clients = tmp_path / "clients.crt"
    clients.write_bytes(before.certificate)
    tls = ServingTls(tmp_path / "serving", clients)
    admission = Admission(Reads(), Reads(), FixedClock(), is_own=lambda *who: False)
    app = webhook_app(admission.handlers(), NoMetrics(), authenticated=True)
    async with serving(app, "127.0.0.1", 0, tls.context) as port:

        async def asked(by: Pair) -> int:
            own = issue(by, ["apiserver"], REAL_NOW, client=True)
            return await status_of(port, authority, DEPLOYMENTS, tmp_path / "client", own)

        assert await asked(before) == 200
        with pytest.raises(aiohttp.ClientError):
            await asked(after)
        clients.write_bytes(b"half written")
        assert tls.reload() is False
        assert await asked(before) == 200
        clients.write_bytes(after.certificate)
        assert tls.reload() is True
        assert await asked(after) == 200


async def test_a_certificate_of_which_the_end_cannot_be_read_is_not_taken(tmp_path: Path) -> None:
    authority = new_authority(REAL_NOW)
    keep(tmp_path, issue(authority, ["127.0.0.1"], REAL_NOW))
    tls = ServingTls(tmp_path, loaded=lambda end: None)
    # OpenSSL loads what `openssl x509 -trustout` writes; the library that reads the dates does not
    pair = issue(authority, ["127.0.0.1"], REAL_NOW)
    trusted = pair.certificate.replace(b"CERTIFICATE", b"TRUSTED CERTIFICATE")
    write_files(tmp_path, {"tls.crt": trusted, "tls.key": pair.key})
    assert tls.reload() is False
