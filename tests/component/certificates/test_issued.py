"""A certificate that somebody else issues is served while it can be used, and published before and after."""

import base64
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from controller.api.jsontree import child, items
from controller.certificates.authority import (
    AUTHORITY_LIFETIME,
    Pair,
    facts,
    issue,
    issued_by,
    new_authority,
)
from controller.certificates.directory import read_files
from controller.certificates.for_worker import WORKER_SECRET
from controller.certificates.former_authority import NOBODY, SETTLE, IssuingAuthorities, updated
from controller.certificates.issued import EARLIER, Issued, Unusable, read_issued
from controller.certificates.keeper import CertificateKeeper, Places
from controller.certificates.publish import MUTATING, Address, Publisher
from controller.certificates.secret import bundle_of
from controller.errors import Forbidden
from tests.component.certificates.doubles import SERVED, START, US, Configurations, Secrets
from tests.component.certificates.unfit import renewed
from tests.component.certificates.versions import of_version

CALLED = "moonshift.ms.svc"
OURS, THEIRS = "own", "theirs"
FIRST, SECOND = new_authority(START), new_authority(START + timedelta(minutes=1))
ADDRESS = Address("ms", "moonshift")


def secret_of(authority: Pair, *names: str, beside: bytes | None = None) -> dict[str, bytes]:
    """Data as cert-manager writes them; `beside` is another `ca.crt`."""
    pair = issue(authority, names or (CALLED,), START)
    root = authority.certificate if beside is None else beside
    return {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": root}


GOOD = secret_of(FIRST)
SIGNED_BY_NO_AUTHORITY = issue(FIRST, (CALLED,), START)
CLIENT = issue(FIRST, (CALLED,), START, client=True)
FOR_CLIENTS = {"tls.crt": CLIENT.certificate, "tls.key": CLIENT.key, "ca.crt": FIRST.certificate}
OLD_ROOT = new_authority(START + timedelta(days=10) - AUTHORITY_LIFETIME)
"""An authority that ends after ten days."""
SELF_SIGNED = {"tls.crt": FIRST.certificate, "tls.key": FIRST.key, "ca.crt": FIRST.certificate}


@pytest.mark.parametrize("name", [CALLED, "*.ms.svc"])
def test_a_certificate_for_our_name_can_be_served(name: str) -> None:
    data = secret_of(FIRST, name)
    found = read_issued(data, CALLED, START)
    assert isinstance(found, Issued)
    assert found.serving == Pair(data["tls.crt"], data["tls.key"])
    assert found.authority == FIRST.certificate


def test_a_chain_may_lead_over_certificates_in_between() -> None:
    data = secret_of(SECOND)
    whole = {**data, "tls.crt": data["tls.crt"] + SECOND.certificate}
    assert isinstance(read_issued(whole, CALLED, START), Issued)
    unrelated = {**whole, "tls.crt": data["tls.crt"] + FIRST.certificate, "ca.crt": GOOD["tls.crt"]}
    assert isinstance(read_issued(unrelated, CALLED, START), Unusable)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, "does not exist"),
        ({}, "no tls.crt and no tls.key and no ca.crt"),
        ({**GOOD, "ca.crt": b""}, "no ca.crt (choose an issuer that knows its authority"),
        ({**GOOD, "tls.crt": b"nonsense"}, "cannot be read"),
        ({**GOOD, "tls.crt": of_version(7, GOOD["tls.crt"])}, "cannot be read"),
        ({**GOOD, "ca.crt": of_version(7, GOOD["ca.crt"])}, "not the authority that signed"),
        ({**GOOD, "tls.key": secret_of(FIRST)["tls.key"]}, "do not belong together"),
        (secret_of(FIRST, "another.ms.svc"), f"not for {CALLED}"),
        (secret_of(FIRST, "*.svc"), f"not for {CALLED}"),
        (secret_of(FIRST, beside=SECOND.certificate), "not the authority that signed"),
        ({**GOOD, "ca.crt": b"nonsense"}, "not the authority that signed"),
        (secret_of(SIGNED_BY_NO_AUTHORITY), "not the authority that signed"),
        (FOR_CLIENTS, "not for servers"),
        (SELF_SIGNED, f"not for {CALLED}"),
    ],
)
def test_an_issued_certificate_that_cannot_be_served_is_reported(
    data: dict[str, bytes] | None, expected: str
) -> None:
    found = read_issued(data, CALLED, START)
    assert isinstance(found, Unusable)
    assert expected in found.message


def outliving() -> dict[str, bytes]:
    """A certificate that holds for longer than its authority, as the Secret's data."""
    longer = msgspec.structs.replace(
        OLD_ROOT, certificate=renewed(OLD_ROOT, START + AUTHORITY_LIFETIME)
    )
    return secret_of(longer, beside=OLD_ROOT.certificate)


def test_a_certificate_whose_authority_has_ended_is_not_served() -> None:
    """API servers check the time of every certificate up to the authority."""
    data = outliving()
    found = read_issued(data, CALLED, START)
    assert isinstance(found, Issued)
    assert found.until <= START + timedelta(days=10)
    ended = read_issued(data, CALLED, START + timedelta(days=11))
    assert isinstance(ended, Unusable)
    assert "with its chain and its ca.crt" in ended.message


def test_one_valid_authority_of_several_is_enough() -> None:
    data = outliving()
    both = data["ca.crt"] + renewed(OLD_ROOT, START + AUTHORITY_LIFETIME)
    now = START + timedelta(days=11)
    assert isinstance(read_issued({**data, "ca.crt": both}, CALLED, now), Issued)


def test_a_certificate_is_given_up_before_its_end() -> None:
    """A clock of an API server may be ahead, and a change takes seconds."""
    seen = facts(GOOD["tls.crt"])
    assert seen is not None
    assert isinstance(read_issued(GOOD, CALLED, seen.not_after - 2 * EARLIER), Issued)
    assert isinstance(read_issued(GOOD, CALLED, seen.not_after - EARLIER / 2), Unusable)


@pytest.mark.parametrize("days", [-2, 400])
def test_a_certificate_is_served_only_in_its_time(days: int) -> None:
    found = read_issued(GOOD, CALLED, START + timedelta(days=days))
    assert isinstance(found, Unusable)
    assert "holds from" in found.message


def test_an_authority_stays_published_for_a_day_after_another_one() -> None:
    first = updated(NOBODY, b"a", START)
    assert first == IssuingAuthorities(b"a", b"", START)
    second = updated(first, b"b", START)
    assert (second.authority, second.before) == (b"b", b"a")
    assert updated(second, b"b", START + SETTLE / 2) == second
    assert updated(second, b"b", START + SETTLE) == IssuingAuthorities(b"b")


def test_replicas_with_and_without_the_issuers_flag_publish_both_authorities() -> None:
    """While one replica is started with the flag and one without, neither's authority is missing."""
    reported = updated(NOBODY, b"a", START)
    untold = updated(reported, b"", START)
    assert untold.before == b"a"
    again = updated(untold, b"a", START)
    assert (again.authority, again.before) == (b"a", b"")
    assert updated(untold, b"", START + SETTLE) == NOBODY


class Calendar:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return 0.0


class Replica:
    """One keeper over Secrets and configurations that replicas share."""

    def __init__(self, folder: Path, secrets: Secrets, store: Configurations) -> None:
        self.calendar = Calendar()
        self.folder, self.store, self.secrets = folder, store, secrets
        places = Places(OURS, folder / "serving", "lua", folder / "client", THEIRS)
        publisher = Publisher(store, ADDRESS, SERVED, US)
        self.keeper = CertificateKeeper(secrets, publisher, ADDRESS, places, self.calendar)

    def served(self) -> bytes:
        return read_files(self.folder / "serving")["tls.crt"]

    def own_authority(self) -> bytes:
        bundle = bundle_of(self.secrets.kept[OURS].data)
        assert bundle is not None
        return bundle.authority.certificate

    def serves_ours(self) -> bool:
        return issued_by(self.served(), self.own_authority())

    async def published(self) -> set[bytes]:
        """Authorities in the first webhook configuration."""
        kept = next(v for (kind, _), v in self.store.kept.items() if kind == MUTATING)
        return set_of(child(items(kept, "webhooks")[0], "clientConfig")["caBundle"])


def set_of(bundle: object) -> set[bytes]:
    """The certificates of a `caBundle`."""
    end = b"-----END CERTIFICATE-----\n"
    return {part + end for part in base64.b64decode(str(bundle)).split(end) if part.strip()}


@pytest.fixture
def replica(tmp_path: Path) -> Replica:
    """Give a replica that is configured with the Secret; the Secret does not exist yet."""
    return Replica(tmp_path, Secrets(), Configurations())


async def test_our_certificate_is_served_until_the_other_issuers_exists(replica: Replica) -> None:
    await replica.keeper.ensure()
    assert replica.serves_ours()
    assert replica.keeper.note is not None
    assert "Secret theirs: it does not exist" in replica.keeper.note
    await replica.secrets.create(THEIRS, GOOD)
    await replica.keeper.ensure()
    assert replica.served() == GOOD["tls.crt"]
    assert replica.keeper.note is None
    assert await replica.published() == {replica.own_authority(), FIRST.certificate}


async def test_both_authorities_are_published_when_theirs_changes(replica: Replica) -> None:
    await replica.secrets.create(THEIRS, GOOD)
    await replica.keeper.ensure()
    await replica.secrets.replace(
        THEIRS, secret_of(SECOND), replica.secrets.kept[THEIRS].resource_version
    )
    await replica.keeper.ensure()
    both = {FIRST.certificate, SECOND.certificate}
    assert await replica.published() == {replica.own_authority(), *both}
    assert issued_by(replica.served(), SECOND.certificate)
    assert replica.keeper.due_within() <= SETTLE
    replica.calendar.at = START + SETTLE
    await replica.keeper.ensure()
    assert await replica.published() == {replica.own_authority(), SECOND.certificate}


async def test_an_unusable_certificate_is_replaced_by_ours_and_its_authority_stays_published(
    replica: Replica,
) -> None:
    await replica.secrets.create(THEIRS, GOOD)
    await replica.keeper.ensure()
    end = read_issued(GOOD, CALLED, START)
    assert isinstance(end, Issued)
    assert replica.keeper.due_within() <= end.until - START
    replica.calendar.at = end.until
    await replica.keeper.ensure()
    assert replica.serves_ours()
    assert "holds from" in (replica.keeper.note or "")
    assert FIRST.certificate in await replica.published()
    assert replica.keeper.due_within() > timedelta(0), "nothing is looked at again and again"


async def test_a_certificate_of_a_clock_that_is_ahead_is_served_when_its_time_begins(
    replica: Replica,
) -> None:
    replica.calendar.at = START - timedelta(days=1, seconds=2)
    await replica.secrets.create(THEIRS, GOOD)
    await replica.keeper.ensure()
    assert replica.serves_ours()
    assert replica.keeper.due_within() == timedelta(seconds=2)
    replica.calendar.at = START
    await replica.keeper.ensure()
    assert replica.served() == GOOD["tls.crt"]


async def test_a_missing_right_to_the_secret_is_reported_and_ours_is_served(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = replica.secrets.read

    async def forbidden(name: str) -> object:
        if name == THEIRS:
            raise Forbidden('secrets "theirs" is forbidden', status=403)
        return await read(name)

    monkeypatch.setattr(replica.secrets, "read", forbidden)
    await replica.keeper.ensure()
    assert replica.serves_ours()
    assert "it cannot be read" in (replica.keeper.note or "")


async def test_the_worker_trusts_our_authority_only(replica: Replica) -> None:
    await replica.secrets.create(THEIRS, GOOD)
    await replica.keeper.ensure()
    assert replica.secrets.kept[WORKER_SECRET].data["ca.crt"] == replica.own_authority()
    assert read_files(replica.folder / "client")["ca.crt"] == replica.own_authority()


async def test_a_round_that_changes_nothing_writes_nothing(replica: Replica) -> None:
    await replica.secrets.create(THEIRS, GOOD)
    await replica.keeper.ensure()
    before = (replica.secrets.writes, len(replica.store.writes))
    await replica.keeper.ensure()
    assert (replica.secrets.writes, len(replica.store.writes)) == before


async def test_the_issued_certificate_stays_in_use_when_our_own_secret_is_deleted(
    replica: Replica,
) -> None:
    await replica.secrets.create(THEIRS, GOOD)
    await replica.keeper.ensure()
    del replica.secrets.kept[OURS]
    await replica.keeper.ensure()
    assert replica.served() == GOOD["tls.crt"]
    assert FIRST.certificate in await replica.published()
