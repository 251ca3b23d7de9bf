"""Checks, with an audit log, which process wrote in a namespace while several controllers divided the work.

Invariant: a write is flagged only if it was certainly outside the tenure of its writer: it had arrived after another
process took the Lease, or was answered before its writer asked for it. Renewals and conflicts are no tenures. It must
not ask a controller what it holds.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from controller.api.names import LEASE
from controller.domain.shards import common_holder, shard_of
from demo.stage import NAMESPACE
from localcluster.audit import AuditRecord, resource_name


class Tenure(NamedTuple):
    """A period in which no other process held the Lease."""

    holder: str
    since: datetime
    """When the write that took the Lease arrived."""
    until: datetime | None
    """When the write that gave it up, or took it over, was answered."""


def tenures(records: Iterable[AuditRecord]) -> dict[str, list[Tenure]]:
    """The tenures of each Lease, in their order."""
    found = defaultdict[str, list[Tenure]](list)
    writes = [
        one for one in records if one.resource == "leases" and _succeeded(one) and one.response()
    ]
    for write in sorted(writes, key=lambda one: one.resource_version or 0):
        holder = str(write.response()["spec"].get("holderIdentity") or "")
        known = found[write.name]
        if known and known[-1].holder == holder:
            continue
        if known:
            known[-1] = known[-1]._replace(until=write.at)
        known.append(Tenure(holder, write.received_at, None))
    return found


def intrusions(records: list[AuditRecord], shards: Mapping[str, int]) -> list[str]:
    """The writes in namespaces that their writers did not hold; `shards` is each process' number of shards."""
    held = tenures(records)
    return [
        f"{one.received_at:%H:%M:%S.%f} {writer}: {one.verb} {resource_name(one)} {one.namespace}/{one.name}"
        for one in records
        if (writer := _writer(one, shards)) is not None
        for lease, holder in _needed(writer, one.namespace, shards[writer])
        if not any(_within(one, tenure) for tenure in held[lease] if tenure.holder == holder)
    ]


def writers(records: Iterable[AuditRecord], shards: Mapping[str, int]) -> dict[str, set[str]]:
    """Which processes wrote about each namespace."""
    found = defaultdict[str, set[str]](set)
    for one in records:
        if (writer := _writer(one, shards)) is not None:
            found[one.namespace].add(writer)
    return found


def _needed(writer: str, namespace: str, shards: int) -> tuple[tuple[str, str], ...]:
    """The Leases that a write needs, and under which name they are held."""
    if shards == 1:
        return ((LEASE, writer),)
    return (
        (LEASE, common_holder(shards)),
        (f"{LEASE}-{shard_of(namespace, shards)}", writer),
    )


def _within(write: AuditRecord, tenure: Tenure) -> bool:
    if write.at < tenure.since:
        return False
    return tenure.until is None or write.received_at <= tenure.until


def _writer(record: AuditRecord, shards: Mapping[str, int]) -> str | None:
    """The controller that sent a write about a namespace of users; None for all other requests."""
    if not (record.is_write and _succeeded(record)) or record.namespace in ("", NAMESPACE):
        return None
    return next((name for name in shards if f"({name})" in record.user_agent), None)


def _succeeded(record: AuditRecord) -> bool:
    return record.is_write and 200 <= record.code < 300
