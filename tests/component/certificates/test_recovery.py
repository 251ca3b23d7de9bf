"""A Secret that is deleted, damaged or replaced: the memory of replicas, and the time when they look by themselves."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from controller.api.jsontree import JsonObject, child, items
from controller.api.names import MUTATING_CONFIGURATION
from controller.certificates.authority import AUTHORITY_LIFETIME, Pair, issue, new_authority
from controller.certificates.former_authority import SETTLE
from controller.certificates.publish import MUTATING
from controller.certificates.rotation import (
    Bundle,
    Step,
    due_within,
    plan_rotation,
    recovered,
    rotated,
)
from controller.certificates.secret import bundle_of, ensure_bundle
from controller.webhook import endpoint as endpoint_module
from tests.component.certificates.doubles import (
    NAMES,
    START,
    Configurations,
    Secrets,
    configuration,
)
from tests.component.certificates.rounds import rounds, without_waiting

DAY = timedelta(days=1)


def fresh(now: datetime = START) -> Bundle:
    return rotated(None, Step.START_OVER, NAMES, now)


def test_a_deleted_secret_is_created_from_memory_and_a_rotation_begins() -> None:
    remembered = fresh()
    made = recovered(None, remembered, NAMES, START + DAY)
    assert made is not None
    assert made.authority == remembered.authority
    assert made.serving == remembered.serving
    assert made.next_authority is not None
    again = recovered(None, made, NAMES, START + 2 * DAY)
    assert again == made, "a second deletion begins no second rotation"


def test_an_authority_that_is_over_or_has_no_key_is_replaced_by_the_remembered_one() -> None:
    remembered, now = fresh(), START + DAY
    over = fresh(START - AUTHORITY_LIFETIME)
    keyless = msgspec.structs.replace(fresh(), authority=Pair(fresh().authority.certificate, b""))
    for damaged in (over, keyless):
        made = recovered(damaged, remembered, NAMES, now)
        assert made is not None
        assert made.authority == remembered.authority


def test_a_replica_that_remembers_nothing_usable_recovers_nothing() -> None:
    over = fresh(START - AUTHORITY_LIFETIME - DAY)
    assert recovered(None, None, NAMES, START) is None
    assert recovered(None, over, NAMES, START) is None
    assert plan_rotation(None, NAMES, True, START) is Step.START_OVER


def test_an_authority_of_somebody_elses_leaves_the_one_in_use_trusted() -> None:
    remembered, theirs = fresh(), fresh(START + DAY)
    made = recovered(theirs, remembered, NAMES, START + DAY)
    assert made is not None
    assert made.authority == theirs.authority
    assert made.old_authority == remembered.authority.certificate
    assert recovered(made, remembered, NAMES, START + DAY) is None
    assert recovered(remembered, remembered, NAMES, START + DAY) is None


async def test_the_second_replica_finds_the_secret_that_the_first_created_again() -> None:
    secrets = Secrets()
    remembered = await ensure_bundle(secrets, "s", NAMES, True, START)
    del secrets.kept["s"]
    first = await ensure_bundle(secrets, "s", NAMES, True, START, remembered)
    writes = secrets.writes
    second = await ensure_bundle(secrets, "s", NAMES, True, START, remembered)
    assert first == second == bundle_of(secrets.kept["s"].data)
    assert first.authority == remembered.authority
    assert secrets.writes == writes


async def test_a_lost_secret_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    secrets = Secrets()
    remembered = await ensure_bundle(secrets, "s", NAMES, True, START)
    assert not caplog.records
    del secrets.kept["s"]
    for _ in range(2):
        await ensure_bundle(secrets, "s", NAMES, True, START, remembered)
    (told,) = caplog.records
    assert told.message == "the Secret of the certificates was lost or changed"


def ending(left: timedelta) -> Bundle:
    """A bundle whose authority ends after that time."""
    authority = new_authority(START + left - AUTHORITY_LIFETIME)
    return Bundle(authority, issue(authority, NAMES, START), changed_at=START)


def test_an_authority_that_ends_in_an_hour_is_followed_by_the_next_one_before() -> None:
    added = rotated(ending(timedelta(hours=1)), Step.ADD_AUTHORITY, NAMES, START)
    assert plan_rotation(added, NAMES, True, START + timedelta(minutes=14)) is Step.WAIT
    assert plan_rotation(added, NAMES, True, START + timedelta(minutes=16)) is Step.SWITCH_AUTHORITY
    assert due_within(added, START) == timedelta(minutes=15)


def test_a_long_lived_authority_takes_its_day_to_settle() -> None:
    added = rotated(fresh(), Step.ADD_AUTHORITY, NAMES, START)
    assert due_within(added, START) == SETTLE
    assert due_within(added, START + 2 * DAY) < timedelta(0)


def test_at_rest_nothing_is_due_before_a_certificate_ends() -> None:
    assert due_within(fresh(), START) > timedelta(days=300)
    assert due_within(ending(timedelta(minutes=1)), START) == timedelta(minutes=1)


# --- what others write --------------------------------------------------------------------------


async def told_of_a_blanked_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, healings: int
) -> Configurations:
    """The configurations after a replica hears that somebody wrote to a webhook configuration."""
    without_waiting(monkeypatch, "RETRY", "HEARD")
    monkeypatch.setattr(endpoint_module, "HEALINGS", healings)
    store = Configurations()
    async with rounds(store, tmp_path) as endpoint:
        await endpoint.certified.wait()
        blank: JsonObject = configuration(
            MUTATING, MUTATING_CONFIGURATION, "/mutate-apps-v1-deployment"
        )
        store.kept[MUTATING, MUTATING_CONFIGURATION] = blank
        store.writes.clear()
        endpoint.look_again()
        while MUTATING not in store.writes:  # noqa: ASYNC110 - bounded
            await asyncio.sleep(0.01)
    return store


async def test_an_authority_that_somebody_blanked_is_published_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await told_of_a_blanked_authority(tmp_path, monkeypatch, healings=1)
    (entry,) = items(store.kept[MUTATING, MUTATING_CONFIGURATION], "webhooks")
    assert child(entry, "clientConfig").get("caBundle")


async def test_the_last_change_of_a_rival_that_stopped_is_corrected_without_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting(monkeypatch, "RETRY", "HEARD")
    monkeypatch.setattr(endpoint_module, "HEALINGS", 1)
    monkeypatch.setattr(endpoint_module, "HEALING_TIME", timedelta(seconds=1))
    store = Configurations()
    key = (MUTATING, MUTATING_CONFIGURATION)
    async with asyncio.timeout(30), rounds(store, tmp_path) as endpoint:
        await endpoint.certified.wait()
        for _ in range(3):
            blank: JsonObject = configuration(*key, "/mutate-apps-v1-deployment")
            store.kept[key] = blank
            store.writes.clear()
            endpoint.look_again()
            while MUTATING not in store.writes:  # noqa: ASYNC110 - bounded
                await asyncio.sleep(0.01)
        while not published(store):  # noqa: ASYNC110 - bounded
            await asyncio.sleep(0.01)
    assert published(store)


class Watched(Configurations):
    """Configurations whose writes are heard of by the endpoint, as its watches hear of them."""

    heard: Callable[[], None] = staticmethod(lambda: None)
    unread = False
    """The webhooks were written, and no round has looked at them since."""

    async def read(self, kind: str, name: str) -> JsonObject:
        if kind == MUTATING:
            self.unread = False
        return await super().read(kind, name)

    async def replace(self, kind: str, name: str, obj: JsonObject) -> None:
        await super().replace(kind, name, obj)
        self.unread = kind == MUTATING or self.unread
        self.heard()


async def test_hearing_of_our_own_corrections_costs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting(monkeypatch, "RETRY", "HEARD", "AGAIN")
    monkeypatch.setattr(endpoint_module, "HEALINGS", 5)
    monkeypatch.setattr(endpoint_module, "HEALING_TIME", timedelta(hours=1))
    store, key = Watched(), (MUTATING, MUTATING_CONFIGURATION)
    async with rounds(store, tmp_path) as endpoint:
        store.heard = endpoint.look_again
        await endpoint.listening.wait()
        for _ in range(4):
            blank: JsonObject = configuration(*key, "/mutate-apps-v1-deployment")
            store.kept[key] = blank
            endpoint.look_again()
            while not published(store) or store.unread:
                assert endpoint.note() is None
                await asyncio.sleep(0.01)


def published(store: Configurations) -> bool:
    """The webhooks have an authority."""
    (entry,) = items(store.kept[MUTATING, MUTATING_CONFIGURATION], "webhooks")
    return bool(child(entry, "clientConfig").get("caBundle"))


async def test_a_rival_that_keeps_writing_gets_back_only_our_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = await told_of_a_blanked_authority(tmp_path, monkeypatch, healings=0)
    (entry,) = items(store.kept[MUTATING, MUTATING_CONFIGURATION], "webhooks")
    assert not child(entry, "clientConfig").get("caBundle")
    assert child(entry)["matchConditions"]
    (warned,) = [one for one in caplog.records if one.message == "not published again"]
    assert "second installation" in str(vars(warned)["error"])
