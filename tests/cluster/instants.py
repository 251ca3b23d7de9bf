"""The times of the changes in a history, from the audit log.

Invariant: a time that is not in the log is None, and no rule uses it. It must do no I/O.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from localcluster.audit import AuditRecord
from localcluster.history import Change, Key
from tests.cluster.margins import Times

NODES = "kwok"
"""The user that writes for the simulated nodes."""


def instants(records: Sequence[AuditRecord], history: Iterable[Change], since: int = 0) -> Times:
    """When the changes after a revision were made; `records` are the successful writes to their namespace."""
    made = {r.resource_version: r.at for r in records if r.resource_version is not None}
    ended = _deletions(records)
    deleted = defaultdict[Key, list[int]](list)
    for change in history:
        if change.type == "DELETED" and change.resource_version > since:
            deleted[change.key].append(change.resource_version)

    def when(change: Change) -> datetime | None:
        if change.type != "DELETED":
            return made.get(change.resource_version)
        found = ended.get((change.key.kind.plural, change.key.name), [])
        nth = sum(1 for earlier in deleted[change.key] if earlier < change.resource_version)
        return found[nth] if nth < len(found) else None

    return when


def _deletions(records: Sequence[AuditRecord]) -> dict[tuple[str, str], list[datetime]]:
    found: dict[tuple[str, str], list[datetime]] = defaultdict(list)
    for record in records:
        # The node sends a second deletion after a pod has ended; the first deletion counts.
        if record.verb == "delete" and record.user != NODES:
            found[record.resource, record.name].append(record.at)
    return found
