"""The order of a rotation: nobody ever meets a certificate whose authority it does not know."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from controller.api.jsontree import JsonObject, child, items
from controller.api.names import MUTATING_CONFIGURATION, VALIDATING_CONFIGURATION
from controller.certificates.authority import Pair, facts, issued_by, matches
from controller.certificates.directory import read_files
from controller.certificates.identity import Identity
from controller.certificates.keeper import CertificateKeeper, Places
from controller.certificates.publish import (
    CRD,
    MUTATING,
    PUBLISHED,
    VALIDATING,
    Address,
    Publisher,
    Wanted,
    configured,
)
from controller.certificates.rotation import SETTLE, Step, plan_rotation, rotated
from controller.certificates.secret import (
    SecretSnapshot,
    bundle_of,
    data_of,
    ensure_bundle,
)
from controller.certificates.worker import (
    CLIENT_NAME,
    CLIENT_SECRET,
    WORKER_SECRET,
    ensure_side,
    worker_names,
)
from controller.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    MoonshiftError,
    NotFound,
    Postponed,
    Unreachable,
)
from controller.webhook import endpoint as endpoint_module
from controller.webhook.endpoint import Endpoint
from controller.webhook.server import NoMetrics, webhook_app
from controller.webhook.stores import FolderSecrets

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("a.b.svc", "127.0.0.1")
SERVED = frozenset({"/mutate-apps-v1-deployment", "/validate-rollouts-kruise-io-rollout"})


class Secrets:
    """Secrets in memory, with versions; `race` is called before the next write."""

    def __init__(self) -> None:
        self.kept: dict[str, SecretSnapshot] = {}
        self.writes = 0
        self.race: Mapping[str, bytes] | None = None
        self.always_busy = False

    async def read(self, name: str) -> SecretSnapshot | None:
        return self.kept.get(name)

    def _somebody_else(self, name: str) -> None:
        if self.race is not None:
            data, self.race = self.race, None
            self._put(name, data)
        if self.always_busy:
            raise Conflict("busy", status=409)

    def _put(self, name: str, data: Mapping[str, bytes]) -> None:
        self.writes += 1
        self.kept[name] = SecretSnapshot(dict(data), str(self.writes))

    async def create(self, name: str, data: Mapping[str, bytes]) -> None:
        self._somebody_else(name)
        if name in self.kept:
            raise AlreadyExists("there", status=409)
        self._put(name, data)

    async def replace(self, name: str, data: Mapping[str, bytes], resource_version: str) -> None:
        self._somebody_else(name)
        if self.kept[name].resource_version != resource_version:
            raise Conflict("changed", status=409)
        self._put(name, data)


async def ensured(secrets: Secrets, now: datetime, *, published: bool = True) -> bytes:
    """One round; the serving certificate."""
    bundle = await ensure_bundle(secrets, "s", NAMES, published, now)
    assert matches(bundle.serving)
    return bundle.serving.certificate


async def test_the_first_replica_makes_and_the_second_reads() -> None:
    secrets = Secrets()
    first = await ensured(secrets, START)
    assert await ensured(secrets, START + timedelta(days=1)) == first
    assert secrets.writes == 1
    names = {"ca-cert.pem", "ca-key.pem", "cert.pem", "key.pem", "tls.crt", "tls.key"}
    assert names <= secrets.kept["s"].data.keys()
    seen = facts(first)
    assert seen is not None
    assert seen.names == set(NAMES)


async def test_whoever_writes_first_wins() -> None:
    secrets, other = Secrets(), Secrets()
    theirs = await ensured(other, START)
    secrets.race = other.kept["s"].data
    assert await ensured(secrets, START) == theirs


async def test_a_secret_that_is_never_free_is_given_up_for_now() -> None:
    secrets = Secrets()
    secrets.always_busy = True
    with pytest.raises(Postponed):
        await ensured(secrets, START)


async def test_a_serving_certificate_is_renewed_by_the_same_authority() -> None:
    secrets = Secrets()
    first = await ensured(secrets, START)
    authority = secrets.kept["s"].data["ca-cert.pem"]
    second = await ensured(secrets, START + timedelta(days=300))
    assert second != first
    assert issued_by(second, authority)


async def test_other_names_need_another_certificate() -> None:
    secrets = Secrets()
    await ensured(secrets, START)
    bundle = await ensure_bundle(secrets, "s", ("new.svc",), True, START)
    seen = facts(bundle.serving.certificate)
    assert seen is not None
    assert seen.names == {"new.svc"}


async def test_a_rotation_never_serves_what_is_not_trusted() -> None:
    secrets = Secrets()
    now = START + timedelta(days=3650 - 364)
    await ensured(secrets, START)
    await ensured(secrets, now - timedelta(days=2))
    trusted = bundle_trusted(secrets)
    steps = []
    for _ in range(60):
        before = bundle_of(secrets.kept["s"].data)
        assert before is not None
        step = plan_rotation(before, NAMES, True, now)
        steps.append(step)
        serving = await ensured(secrets, now)
        # What clients trusted before this round still works, and after it the new set does.
        after = bundle_trusted(secrets)
        for authorities in (trusted, after):
            assert any(issued_by(serving, authority) for authority in authorities)
        trusted = after
        now += SETTLE / 2
    order = [
        step for step in dict.fromkeys(steps) if step not in (Step.WAIT, Step.REST, Step.ISSUE)
    ]
    assert order == [Step.ADD_AUTHORITY, Step.SWITCH_AUTHORITY, Step.DROP_OLD_AUTHORITY]
    assert steps[-1] is Step.REST
    assert len(trusted) == 1


def bundle_trusted(secrets: Secrets) -> list[bytes]:
    """Every authority the bundle wants trusted."""
    bundle = bundle_of(secrets.kept["s"].data)
    assert bundle is not None
    marker = b"-----BEGIN CERTIFICATE-----"
    return [marker + part for part in bundle.trusted.split(marker) if part]


def test_nothing_is_switched_before_all_configurations_carry_both() -> None:
    bundle = rotated(None, Step.START_OVER, NAMES, START)
    bundle = rotated(bundle, Step.ADD_AUTHORITY, NAMES, START)
    later = START + SETTLE
    assert plan_rotation(bundle, NAMES, False, later) is Step.WAIT
    assert plan_rotation(bundle, NAMES, True, START) is Step.WAIT
    assert plan_rotation(bundle, NAMES, True, later) is Step.SWITCH_AUTHORITY


def test_an_unusable_authority_means_starting_over() -> None:
    bundle = rotated(None, Step.START_OVER, NAMES, START)
    assert plan_rotation(None, NAMES, True, START) is Step.START_OVER
    assert plan_rotation(bundle, NAMES, True, START + timedelta(days=4000)) is Step.START_OVER
    data = data_of(bundle) | {"ca-key.pem": b"nonsense"}
    assert plan_rotation(bundle_of(data), NAMES, True, START) is Step.START_OVER
    data = data_of(bundle) | {"tls.crt": b"nonsense"}
    assert plan_rotation(bundle_of(data), NAMES, True, START) is Step.ISSUE
    assert bundle_of({}) is None


def test_a_step_that_is_none_changes_nothing() -> None:
    bundle = rotated(None, Step.START_OVER, NAMES, START)
    assert rotated(bundle, Step.REST, NAMES, START) == bundle
    assert bundle_of(data_of(bundle)) == bundle


def test_an_authority_made_by_another_is_used_on() -> None:
    """RSA with a PKCS#1 key, as an older installation leaves it."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "webhook-cert-ca")])
    theirs = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(START)
        .not_valid_after(START + timedelta(days=3650))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    format_ = serialization.PrivateFormat.TraditionalOpenSSL
    data = {
        "ca-cert.pem": theirs.public_bytes(pem),
        "ca-key.pem": key.private_bytes(pem, format_, serialization.NoEncryption()),
    }
    bundle = bundle_of(data)
    assert plan_rotation(bundle, NAMES, True, START) is Step.ISSUE
    renewed = rotated(bundle, Step.ISSUE, NAMES, START)
    assert issued_by(renewed.serving.certificate, data["ca-cert.pem"])


# --- publishing ---------------------------------------------------------------------------------


def entry(path: str) -> JsonObject:
    """A webhook that asks for `path`."""
    service: JsonObject = {"namespace": "old", "name": "old", "path": path}
    return {"name": f"w{path}", "clientConfig": {"service": service}, "failurePolicy": "Fail"}


async def our_name() -> str:
    return "us"


US = Identity(our_name)


def configuration(kind: str, name: str, *paths: str) -> JsonObject:
    """A webhook configuration."""
    return {
        "kind": kind,
        "metadata": {"name": name, "annotations": {"template": "[stale]", "theirs": "x"}},
        "webhooks": [entry(path) for path in paths],
    }


def crd(strategy: str = "Webhook") -> JsonObject:
    """The CRD's part that matters."""
    return {
        "kind": CRD,
        "metadata": {"name": PUBLISHED[0][1]},
        "spec": {"conversion": {"strategy": strategy}},
    }


class Configurations:
    """Cluster-scoped objects in memory."""

    def __init__(self) -> None:
        deploy = configuration(
            MUTATING, MUTATING_CONFIGURATION, "/mutate-apps-v1-deployment", "/gone"
        )
        check = configuration(
            VALIDATING, VALIDATING_CONFIGURATION, "/validate-rollouts-kruise-io-rollout"
        )
        self.kept = {
            (MUTATING, MUTATING_CONFIGURATION): deploy,
            (VALIDATING, VALIDATING_CONFIGURATION): check,
            PUBLISHED[0]: crd(),
        }
        self.writes: list[str] = []

    async def read(self, kind: str, name: str) -> JsonObject:
        if (kind, name) not in self.kept:
            raise NotFound("no", status=404)
        return self.kept[kind, name]

    async def replace(self, kind: str, name: str, obj: JsonObject) -> None:
        self.writes.append(kind)
        self.kept[kind, name] = obj


async def test_the_authority_is_published_once_everywhere() -> None:
    store = Configurations()
    publisher = Publisher(store, Address(namespace="ms"), SERVED, US)
    assert await publisher.publish(b"ca", START) == ()
    assert store.writes == [CRD, MUTATING, VALIDATING]
    assert await publisher.publish(b"ca", START) == ()
    assert len(store.writes) == 3
    mutating = store.kept[MUTATING, MUTATING_CONFIGURATION]
    entries = items(mutating, "webhooks")
    assert len(entries) == 2
    theirs = entry("/gone")
    assert entries[1] == theirs, "what another version added is left alone"
    client = child(entries[0], "clientConfig")
    assert client == {
        "caBundle": "Y2E=",
        "service": {
            "namespace": "ms",
            "name": "kruise-rollout-webhook-service",
            "path": "/mutate-apps-v1-deployment",
            "port": 443,
        },
    }
    assert child(mutating, "metadata", "annotations") == {"theirs": "x"}
    assert child(entries[0])["failurePolicy"] == "Fail"


async def test_an_old_replica_leaves_webhook_entries_it_does_not_know_alone() -> None:
    store, newer = Configurations(), SERVED | {"/gone"}
    at = (MUTATING, MUTATING_CONFIGURATION)
    await Publisher(store, Address(namespace="ms"), newer, US).publish(b"ca", START)
    known, unknown = items(store.kept[at], "webhooks")
    assert child(unknown, "clientConfig")["caBundle"] == "Y2E="
    old = Publisher(store, Address(namespace="ms", url="https://old"), SERVED, US)
    await old.publish(b"another", START)
    await old.let_pass()
    rewritten, left = items(store.kept[at], "webhooks")
    assert left == unknown
    assert rewritten != known
    assert child(rewritten, "clientConfig")["url"] == "https://old/mutate-apps-v1-deployment"


async def test_what_is_not_installed_is_named() -> None:
    store = Configurations()
    del store.kept[VALIDATING, VALIDATING_CONFIGURATION]
    missing = await Publisher(store, Address(), SERVED, US).publish(b"ca", START)
    assert missing == (f"{VALIDATING} {VALIDATING_CONFIGURATION}",)


def test_out_of_the_cluster_a_url_takes_the_place_of_the_service() -> None:
    address = Address(url="https://127.0.0.1:9876/")
    wanted = Wanted(address, b"ca", SERVED, "us")
    once = configured(configuration(MUTATING, "m", *SERVED), wanted)
    twice = configured(once, wanted)
    assert once == twice
    urls = {child(entry, "clientConfig")["url"] for entry in items(once, "webhooks")}
    assert urls == {f"https://127.0.0.1:9876{path}" for path in SERVED}
    assert "127.0.0.1" in address.names()
    assert Address(url="https://[::1]:9876").names()[-1] == "::1"
    converted = configured(crd(), wanted)
    webhook = child(converted, "spec", "conversion", "webhook")
    assert child(webhook, "clientConfig")["url"] == "https://127.0.0.1:9876/convert"
    assert webhook["conversionReviewVersions"] == ["v1", "v1beta1"]


def test_a_crd_without_conversion_is_left_alone() -> None:
    assert configured(crd("None"), Wanted(Address(), b"ca", SERVED, "us")) == crd("None")


# --- the worker's side, and all of it together ---------------------------------------------------


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


class Calendar:
    """A clock that stands."""

    def now(self) -> datetime:
        return START

    def monotonic(self) -> float:
        return 0.0


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


async def test_a_directory_holds_what_was_written_last(tmp_path: Path) -> None:
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
    for name in ("RETRY", "HEARD", "LOOK_FOR_MISSING"):
        monkeypatch.setattr(endpoint_module, name, timedelta(0))
    store, places = Late(), Places("s", tmp_path / "serving")
    publisher = Publisher(store, Address(), SERVED, US)
    keeper = CertificateKeeper(Reluctant(), publisher, Address(), places, Calendar())
    app = webhook_app({}, NoMetrics())
    endpoint = Endpoint(app, port=0, keeper=keeper, files=tmp_path / "serving")
    task = asyncio.create_task(endpoint.run())
    async with asyncio.timeout(10):
        await store.done.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert endpoint.certified.is_set()
    said = " ".join(str(getattr(record, "error", "")) for record in caplog.records)
    assert "being written by others" in said
    assert "not installed" in said


class Counting(Configurations):
    """Configurations that fail in the rounds one says; `rounds` counts."""

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
    """What readiness says once all failures were met."""
    for name in ("RETRY", "HEARD", "LOOK_AGAIN", "LOOK_FOR_MISSING"):
        monkeypatch.setattr(endpoint_module, name, timedelta(0))
    places = Places("s", tmp_path / "serving")
    keeper = CertificateKeeper(
        Secrets(), Publisher(store, Address(), SERVED, US), Address(), places, Calendar()
    )
    app = webhook_app({}, NoMetrics())
    endpoint = Endpoint(app, port=0, keeper=keeper, files=tmp_path / "serving")
    task = asyncio.create_task(endpoint.run())
    async with asyncio.timeout(10):
        await store.passed.wait()
        await endpoint.certified.wait()
    seen = endpoint.problem
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return seen


async def test_a_missing_crd_keeps_no_webhook_without_endpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Counting(NotFound("no CRD", status=404), NotFound("no CRD", status=404), None)
    assert await problem_after(store, tmp_path, monkeypatch) is None


async def test_who_was_ready_stays_so_while_the_api_server_is_away_and_not_when_it_may_not_publish(
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
    said = await problem_after(forbidden, tmp_path / "forbidden", monkeypatch)
    assert said == "certificates: you cannot update webhooks"


def test_our_own_namespace_is_left_out_whatever_it_is_called() -> None:
    out = {"key": "kubernetes.io/metadata.name", "operator": "NotIn"}
    entry = child(items(configuration(MUTATING, "m", *SERVED), "webhooks")[0])
    selector = {"matchExpressions": [{**out, "values": ["kube-system", "kruise-rollout"]}]}
    obj: JsonObject = {"kind": MUTATING, "webhooks": [{**entry, "namespaceSelector": selector}]}
    made = configured(obj, Wanted(Address(namespace="releases"), b"ca", SERVED, "us"))
    seen = child(items(made, "webhooks")[0], "namespaceSelector")
    assert seen == {"matchExpressions": [{**out, "values": ["kube-system", "releases"]}]}
