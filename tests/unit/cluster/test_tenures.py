"""The checker of tenures flags each write that its writer had no right to, and no other."""

from datetime import UTC, datetime, timedelta
from itertools import count

import msgspec

from controller.api.names import LEASE
from controller.domain.shards import shard_of
from demo.stage import NAMESPACE
from localcluster.audit import AuditRecord
from tests.cluster.tenures import intrusions, writers

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
SHARDS = {"a": 2, "b": 2, "c": 3}
SHOPS = "shops"
OF_SHOPS = f"{LEASE}-{shard_of(SHOPS, 2)}"
_versions = count(1)


def at(second: float) -> datetime:
    return EPOCH + timedelta(seconds=second)


def record(second: float, by: str, **differs: object) -> AuditRecord:
    """One answered request, of a tenth of a second."""
    plain = AuditRecord(
        audit_id="", stage="ResponseComplete", at=at(second + 0.1), received_at=at(second), user="controller",
        user_agent=f"moonshift-controller ({by})", verb="patch", uri="", api_group="apps", resource="deployments",
        subresource="", namespace=SHOPS, name="shop", code=200, is_forbidden=False, is_watch=False,
        resource_version=None, request_object=None, response_object=None,
    )  # fmt: skip
    return msgspec.structs.replace(plain, **differs)


def lease(second: float, name: str, holder: str, **differs: object) -> AuditRecord:
    """A write of a Lease that succeeded."""
    body = msgspec.json.encode({"spec": {"holderIdentity": holder}})
    return record(
        second, "whoever", resource="leases", namespace=NAMESPACE, name=name, verb="update",
        resource_version=next(_versions), response_object=body, **differs,
    )  # fmt: skip


def held_by_a() -> list[AuditRecord]:
    return [lease(0, LEASE, "shards-2"), lease(1, OF_SHOPS, "a")]


def test_the_holder_of_a_namespace_may_write_about_it() -> None:
    assert (
        intrusions([*held_by_a(), record(2, "a"), lease(3, OF_SHOPS, "a"), record(4, "a")], SHARDS)
        == []
    )


def test_a_write_of_a_process_that_does_not_hold_the_namespace_is_flagged() -> None:
    assert len(intrusions([*held_by_a(), record(2, "b")], SHARDS)) == 1


def test_a_write_after_another_process_took_the_namespace_is_flagged() -> None:
    handed = [*held_by_a(), lease(5, OF_SHOPS, ""), lease(6, OF_SHOPS, "b")]
    assert intrusions([*handed, record(7, "b")], SHARDS) == []
    assert len(intrusions([*handed, record(5.5, "a")], SHARDS)) == 1
    assert len(intrusions([*handed, record(7, "a")], SHARDS)) == 1


def test_a_write_before_its_writer_took_the_namespace_is_flagged() -> None:
    assert len(intrusions([*held_by_a(), record(0.5, "a")], SHARDS)) == 1


def test_a_write_that_arrived_before_the_lease_was_taken_over_is_not_flagged() -> None:
    assert intrusions([*held_by_a(), lease(5, OF_SHOPS, "b"), record(5.05, "a")], SHARDS) == []


def test_a_write_of_a_process_that_counts_other_shards_is_flagged() -> None:
    of_three = f"{LEASE}-{shard_of(SHOPS, 3)}"
    assert len(intrusions([*held_by_a(), lease(2, of_three, "c"), record(3, "c")], SHARDS)) >= 1
    turned = [*held_by_a(), lease(2, LEASE, "shards-3"), lease(3, of_three, "c")]
    assert intrusions([*turned, record(4, "c")], SHARDS) == []
    assert "a: patch deployments" in intrusions([*turned, record(4, "a")], SHARDS)[0]


def test_refused_writes_reads_and_the_controllers_own_namespace_are_no_intrusions() -> None:
    harmless = [
        record(2, "b", code=409),
        record(2, "b", verb="get"),
        record(2, "b", namespace=NAMESPACE),
        record(2, "b", namespace=""),
        record(2, "kubectl"),
    ]
    assert intrusions([*held_by_a(), *harmless], SHARDS) == []
    assert writers(harmless, SHARDS) == {}


def test_a_lease_that_could_not_be_written_makes_no_tenure() -> None:
    refused = lease(2, OF_SHOPS, "b", code=409)
    assert len(intrusions([*held_by_a(), refused, record(3, "b")], SHARDS)) == 1
    assert intrusions([*held_by_a(), refused, record(3, "a")], SHARDS) == []


def test_writers_are_listed_by_namespace() -> None:
    assert writers([record(1, "a"), record(2, "b"), record(3, "b", namespace="x")], SHARDS) == {
        SHOPS: {"a", "b"},
        "x": {"b"},
    }
