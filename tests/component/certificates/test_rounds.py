"""Whole rounds: both sides of the worker trust the same authority, and a failure ends nothing."""

import asyncio
from pathlib import Path

import pytest

from controller.api.jsontree import JsonObject, child, items
from controller.certificates.authority import Pair, facts, issued_by, matches
from controller.certificates.directory import read_files, write_files
from controller.certificates.for_worker import (
    CLIENT_NAME,
    CLIENT_SECRET,
    WORKER_SECRET,
    ensure_side,
    worker_names,
)
from controller.certificates.keeper import CertificateKeeper, Places
from controller.certificates.publish import (
    CRD,
    MUTATING,
    VALIDATING,
    Address,
    Publisher,
    Wanted,
    configured,
)
from controller.certificates.rotation import Step, rotated
from controller.errors import (
    BadConfiguration,
    Conflict,
    Forbidden,
    MoonshiftError,
    NotFound,
    Postponed,
    Unreachable,
)
from controller.webhook.stores import FolderSecrets
from localcluster.ports import free_ports
from tests.component.certificates.doubles import (
    NAMES,
    SERVED,
    START,
    US,
    Configurations,
    Secrets,
    configuration,
)
from tests.component.certificates.rounds import Calendar, rounds, without_waiting


async def test_both_sides_of_the_worker_trust_the_same_authority() -> None:
    secrets = Secrets()
    bundle = rotated(None, Step.START_OVER, NAMES, START)
    names = worker_names("lua", "ms")
    server, written = await ensure_side(secrets, "w", bundle, names, START, client=False)
    assert written
    again = await ensure_side(secrets, "w", bundle, names, START, client=False)
    assert again == (server, False)
    assert secrets.writes == 1
    assert issued_by(server["tls.crt"], bundle.authority.certificate)
    assert matches(Pair(server["tls.crt"], server["tls.key"]))
    seen = facts(server["tls.crt"])
    assert seen is not None
    assert {"lua.ms.svc", "lua", "*.lua.ms.svc"} <= seen.names
    following = rotated(bundle, Step.ADD_AUTHORITY, NAMES, START)
    wider, _ = await ensure_side(secrets, "w", following, names, START, client=False)
    assert wider["tls.crt"] == server["tls.crt"]
    assert wider["ca.crt"] == following.trusted
    secrets.always_busy = True
    with pytest.raises(Postponed):
        await ensure_side(secrets, "c", bundle, (CLIENT_NAME,), START, client=True)


async def test_one_round_puts_everything_in_place(tmp_path: Path) -> None:
    store, secrets = Configurations(), FolderSecrets(tmp_path / "secrets")
    places = Places("s", tmp_path / "serving", "lua", tmp_path / "client")
    address = Address(url="https://127.0.0.1:1")
    keeper = CertificateKeeper(
        secrets, Publisher(store, address, SERVED, US), address, places, Calendar()
    )
    assert await keeper.ensure() == ()
    assert await keeper.ensure() == ()
    assert len(store.writes) == 3
    serving, client = read_files(tmp_path / "serving"), read_files(tmp_path / "client")
    assert serving.keys() == {"tls.crt", "tls.key"}, "the authority's key is no file of the server"
    assert client.keys() == {"ca.crt", "tls.crt", "tls.key"}
    assert (tmp_path / "serving" / "tls.key").stat().st_mode & 0o777 == 0o600
    assert await secrets.read(WORKER_SECRET) is not None
    assert await secrets.read(CLIENT_SECRET) is not None


async def test_a_directory_holds_the_last_written_files(tmp_path: Path) -> None:
    store = FolderSecrets(tmp_path)
    assert await store.read("s") is None
    await store.create("s", {"a": b"1", "b": b"2"})
    await store.replace("s", {"a": b"3"}, "")
    seen = await store.read("s")
    assert seen is not None
    assert seen.data == {"a": b"3"}


class Reluctant(Secrets):
    """Busy for as many writes as one round tries."""

    def __init__(self) -> None:
        super().__init__()
        self.refusals = 5

    def _somebody_else(self, name: str) -> None:
        if self.refusals:
            self.refusals -= 1
            raise Conflict("busy", status=409)


class Late(Configurations):
    """One object is installed only after it was missed once; `done` when it was written."""

    def __init__(self) -> None:
        super().__init__()
        self.missed = False
        self.done = asyncio.Event()

    async def read(self, kind: str, name: str) -> JsonObject:
        if kind == VALIDATING and not self.missed:
            self.missed = True
            raise NotFound("no", status=404)
        return await super().read(kind, name)

    async def replace(self, kind: str, name: str, obj: JsonObject) -> None:
        await super().replace(kind, name, obj)
        if kind == VALIDATING:
            self.done.set()


async def test_rounds_go_on_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    without_waiting(monkeypatch, "RETRY", "HEARD", "LOOK_FOR_MISSING")
    store = Late()
    async with rounds(store, tmp_path, Reluctant()) as endpoint:
        await store.done.wait()
    assert endpoint.certified.is_set()
    text = " ".join(str(getattr(record, "error", "")) for record in caplog.records)
    assert "being written by others" in text
    assert "not installed" in text


class Counting(Configurations):
    """Configurations that fail in the given rounds; `rounds` counts."""

    def __init__(self, *failures: MoonshiftError | None) -> None:
        super().__init__()
        self.failures = [*failures]
        self.passed = asyncio.Event()

    async def read(self, kind: str, name: str) -> JsonObject:
        if kind == CRD:
            failure = self.failures.pop(0) if self.failures else None
            if failure is not None:
                raise failure
            if not self.failures:
                self.passed.set()
        return await super().read(kind, name)


async def problem_after(
    store: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str | None:
    """The problem that readiness shows after all failures."""
    without_waiting(monkeypatch, "RETRY", "HEARD", "LOOK_AGAIN", "LOOK_FOR_MISSING")
    async with rounds(store, tmp_path) as endpoint:
        await store.passed.wait()
        await endpoint.listening.wait()
        return endpoint.problem


async def test_an_endpoint_is_ready_only_when_its_port_takes_connections(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    async with rounds(Configurations(), tmp_path, port=port) as endpoint:
        while endpoint.problem is not None:  # noqa: ASYNC110 - each turn of the loop is looked at
            await asyncio.sleep(0)
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()


async def test_a_missing_crd_keeps_no_webhook_without_endpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Counting(NotFound("no CRD", status=404), NotFound("no CRD", status=404), None)
    assert await problem_after(store, tmp_path, monkeypatch) is None


async def test_a_ready_replica_stays_ready_without_the_api_server_but_not_without_the_right_to_publish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = Counting(None, Unreachable("away"), Unreachable("away"), None)
    assert await problem_after(away, tmp_path / "away", monkeypatch) is None

    class Ending(Counting):
        async def read(self, kind: str, name: str) -> JsonObject:
            if not self.failures:
                self.passed.set()
                raise Forbidden("you cannot update webhooks", status=403)
            return await super().read(kind, name)

    forbidden = Ending(None, None)
    reported = await problem_after(forbidden, tmp_path / "forbidden", monkeypatch)
    assert reported == "certificates: you cannot update webhooks"


def test_our_own_namespace_is_left_out_under_any_name() -> None:
    out = {"key": "kubernetes.io/metadata.name", "operator": "NotIn"}
    entry = child(items(configuration(MUTATING, "m", *SERVED), "webhooks")[0])
    selector = {"matchExpressions": [{**out, "values": ["kube-system", "kruise-rollout"]}]}
    obj: JsonObject = {"kind": MUTATING, "webhooks": [{**entry, "namespaceSelector": selector}]}
    made = configured(obj, Wanted(Address(namespace="releases"), b"ca", SERVED, "us"))
    seen = child(items(made, "webhooks")[0], "namespaceSelector")
    assert seen == {"matchExpressions": [{**out, "values": ["kube-system", "releases"]}]}


class Unwritable(Configurations):
    """Nothing can be published."""

    async def replace(self, kind: str, name: str, obj: JsonObject) -> None:
        raise Conflict("changed", status=409)


async def test_nothing_is_served_before_its_authority_was_published(tmp_path: Path) -> None:
    places, address = Places("s", tmp_path / "serving"), Address(url="https://127.0.0.1:1")
    publisher = Publisher(Unwritable(), address, SERVED, US)
    keeper = CertificateKeeper(Secrets(), publisher, address, places, Calendar())
    with pytest.raises(Conflict):
        await keeper.ensure()
    assert not (tmp_path / "serving").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadConfiguration, match=f"folder {tmp_path}/file/below: Not a directory"):
        write_files(tmp_path / "file" / "below", {"tls.crt": b""})
