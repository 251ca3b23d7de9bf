"""The controller's requests, from the audit log.

Why it exists: a sum shows that there are too many requests, the breakdown shows which. Invariant: Events and pods'
labels count, renewals of the Lease and watches do not. It must not wait or write.
"""

from collections import Counter
from collections.abc import Iterable

from localcluster.audit import AuditLog, AuditRecord, resource_name
from tests.bench.ground import USER

LEASES = "leases"


def ours_since(log: AuditLog, cursor: int) -> list[AuditRecord]:
    """The controller's own requests after `cursor`."""
    return log.since(cursor, user=USER, where=counts)


def counts(record: AuditRecord) -> bool:
    """Whether a request is counted."""
    return not record.is_watch and record.resource != LEASES


def breakdown(records: Iterable[AuditRecord], rollouts: int) -> dict[str, float]:
    """Requests per Rollout by verb and resource, the most frequent first; refused ones apart."""
    found = Counter(_label(record) for record in records)
    return {label: number / rollouts for label, number in found.most_common()}


def _label(record: AuditRecord) -> str:
    refused = f" -> {record.code}" if record.code >= 400 else ""
    return f"{record.verb} {resource_name(record)}{refused}"
