"""The lease as an object on the wire."""

from datetime import UTC, datetime

import pytest

from controller.errors import Conflict
from controller.kube.lease import KubeLeaseStore
from controller.runtime.leader import LeaseRecord
from tests.component.kube.faulty_server import FaultyServer, answering, connected, status
from tests.component.runtime.virtual_time import virtual_time

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HELD = {
    "metadata": {"name": "l", "namespace": "ns", "resourceVersion": "7", "labels": {"app": "x"}},
    "spec": {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "renewTime": "2026-01-01T12:00:00.000000Z",
        "acquireTime": "2026-01-01T12:00:00.000000Z",
        "leaseTransitions": 3,
    },
}


@virtual_time
async def test_a_lease_is_read_unchanged_and_a_missing_lease_is_none() -> None:
    server = FaultyServer(others=[answering(200, HELD), answering(404, status(404, "NotFound"))])
    async with server.running(), connected(server) as client:
        store = KubeLeaseStore(client, "ns", "l")
        assert await store.read() == LeaseRecord("a", 15.0, NOON, NOON, 3, "7")
        assert await store.read() is None


@virtual_time
async def test_an_update_carries_the_version_and_keeps_fields_of_others() -> None:
    server = FaultyServer(others=[answering(200, HELD)])
    async with server.running(), connected(server) as client:
        store = KubeLeaseStore(client, "ns", "l")
        await store.read()
        await store.update(LeaseRecord("b", 15.0, NOON, NOON, 4, "7"))
    sent = server.requests[1].json()
    assert server.requests[1].method == "PUT"
    assert sent["metadata"]["resourceVersion"] == "7"
    assert sent["metadata"]["labels"] == {"app": "x"}
    assert sent["spec"]["holderIdentity"] == "b"
    assert sent["spec"]["renewTime"] == "2026-01-01T12:00:00.000000Z"


@virtual_time
async def test_an_empty_lease_has_no_holder() -> None:
    empty = {"metadata": {"name": "l", "namespace": "ns", "resourceVersion": "1"}, "spec": {}}
    server = FaultyServer(others=[answering(200, empty)])
    async with server.running(), connected(server) as client:
        record = await KubeLeaseStore(client, "ns", "l").read()
    assert record == LeaseRecord("", 0.0, None, None, 0, "1")


@virtual_time
async def test_a_lost_race_is_a_conflict() -> None:
    server = FaultyServer(others=[answering(409, status(409, "Conflict", "modified"))])
    async with server.running(), connected(server) as client:
        with pytest.raises(Conflict):
            await KubeLeaseStore(client, "ns", "l").update(LeaseRecord("b", version="7"))


@virtual_time
async def test_a_first_lease_is_created_with_its_name() -> None:
    server = FaultyServer(others=[answering(201, HELD)])
    async with server.running(), connected(server) as client:
        made = await KubeLeaseStore(client, "ns", "l").create(LeaseRecord("a", 15.0, NOON, NOON))
    assert made.version == "7"
    assert server.requests[0].method == "POST"
    assert server.requests[0].json()["metadata"] == {"name": "l", "namespace": "ns"}


@virtual_time
async def test_an_update_names_the_version_that_was_judged_and_not_one_that_was_read_later() -> (
    None
):
    later = {**HELD, "metadata": {"name": "l", "namespace": "ns", "resourceVersion": "8"}}
    server = FaultyServer(
        others=[
            answering(200, HELD),
            answering(200, later),
            answering(409, status(409, "Conflict")),
        ]
    )
    async with server.running(), connected(server) as client:
        store = KubeLeaseStore(client, "ns", "l")
        judged = await store.read()
        assert judged is not None
        await store.read()
        with pytest.raises(Conflict):
            await store.update(judged)
    assert server.requests[2].json()["metadata"]["resourceVersion"] == "7"
