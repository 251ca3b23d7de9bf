"""The values a recording consists of, and the order among them.

Why it exists: recorded changes are judged later, by other code than the recorder. Invariant: resourceVersions of one
etcd are one total order; the newest change of a key is its state. It must do no I/O.
"""

from collections.abc import Iterable
from typing import NamedTuple

from localcluster.api import JsonObject
from localcluster.audit import AuditRecord


class Kind(NamedTuple):
    """A resource of the API; the group is empty for the core."""

    group: str
    version: str
    plural: str

    @property
    def path(self) -> str:
        """The path of the collection over all namespaces."""
        root = f"/apis/{self.group}" if self.group else "/api"
        return f"{root}/{self.version}/{self.plural}"


class Key(NamedTuple):
    """The kind, namespace and name of an object."""

    kind: Kind
    namespace: str
    name: str


class Change(NamedTuple):
    """One change: ADDED, MODIFIED or DELETED, or EXISTED for an object that was there at the start."""

    resource_version: int
    type: str
    key: Key
    object: JsonObject


class Gap(NamedTuple):
    """A range of revisions that could only be read as a whole, with the changes in it."""

    kind: Kind
    after: int
    until: int
    changes: int


def make_change(kind: Kind, change_type: str, body: JsonObject) -> Change:
    """Return the change that an object of a list or a watch stands for."""
    metadata = body["metadata"]
    key = Key(kind, metadata.get("namespace", ""), metadata["name"])
    return Change(int(metadata["resourceVersion"]), change_type, key, body)


def changes_between(
    known: dict[Key, Change], listed: Iterable[Change], kind: Kind, revision: int
) -> list[Change]:
    """Return the changes that lead from the known state of a kind to a list of it at `revision`."""
    now = {change.key: change for change in listed}
    found: list[Change] = []
    for key, change in now.items():
        before = known.get(key)
        if before is None or before.type == "DELETED":
            found.append(change._replace(type="ADDED"))
        elif before.resource_version < change.resource_version:
            found.append(change._replace(type="MODIFIED"))
    found += [
        Change(revision, "DELETED", key, before.object)
        for key, before in known.items()
        if key.kind == kind and key not in now and before.type != "DELETED"
    ]
    return sorted(found, key=lambda change: change.resource_version)


def unseen_writes(
    records: Iterable[AuditRecord], known: set[int], since: dict[tuple[str, str], int]
) -> tuple[AuditRecord, ...]:
    """Return successful writes whose revision is not among the known ones.

    `since` says from which revision a kind (group, plural) was recorded. Only writes whose answer was logged whole can
    be judged; a write that changed nothing answers with the revision the object had, which is known too. A collection's
    deletion answers with the revision of a list, which no object has.
    """

    def unseen(record: AuditRecord) -> bool:
        begun = since.get((record.api_group, record.resource))
        version = record.resource_version
        if begun is None or version is None or version <= begun or version in known:
            return False
        single = record.is_write and record.verb != "deletecollection"
        return single and record.code < 300

    return tuple(filter(unseen, records))
