"""The authority is published in every configuration of ours, and in no entry that is not ours."""

import logging

import pytest

from controller.api.jsontree import child, items
from controller.api.names import MUTATING_CONFIGURATION, VALIDATING_CONFIGURATION
from controller.certificates.publish import (
    CRD,
    MUTATING,
    VALIDATING,
    Address,
    Publisher,
    Wanted,
    configured,
)
from tests.component.certificates.doubles import (
    SERVED,
    START,
    US,
    Configurations,
    configuration,
    crd,
    entry,
)


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


async def test_each_object_that_is_published_again_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "controller.certificates")
    store = Configurations()
    publisher = Publisher(store, Address(namespace="ms"), SERVED, US)
    await publisher.publish(b"ca", START)
    caplog.clear()
    at = (MUTATING, MUTATING_CONFIGURATION)
    store.kept[at] = configuration(*at, next(iter(SERVED)))
    await publisher.publish(b"ca", START)
    (told,) = caplog.records
    assert (told.message, told.__dict__["object"]) == ("published", " ".join(at))


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


async def test_missing_configurations_are_named() -> None:
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
