"""Reads the API server's audit log.

Why it exists: the requests of a controller, their users and their bodies are judged from the server's own record.
Invariant: every answered request is one record: a watch counts when it starts (its end is dropped), a refused watch
when it is refused. The log is written before the answer ends, so a count taken after an answer is exact. It must not
follow the file in the background.
"""

import datetime
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

FORBID = "forbid"
"""The annotation with the decision of the API server's authorizer. The code alone is not enough: admission refuses with
403, too.
"""
WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
QUESTIONS = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""Groups of reviews: their objects are created to ask a question (who am I, may I), and are never stored."""


class AuditRecord(msgspec.Struct, frozen=True):
    """One request; bodies only for kinds the policy records whole."""

    audit_id: str
    stage: str
    at: datetime.datetime
    received_at: datetime.datetime
    user: str
    user_agent: str
    verb: str
    uri: str
    api_group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    is_forbidden: bool
    is_watch: bool
    resource_version: int | None
    request_object: bytes | None
    response_object: bytes | None

    @property
    def is_write(self) -> bool:
        """Whether the request changes something: a review is created, and changes nothing; nor does a dry run."""
        asks = self.api_group in QUESTIONS or "dryRun=" in self.uri
        return self.verb in WRITES and not asks

    def request(self) -> Any:
        """Return the decoded body of the request, None if it was not recorded."""
        return None if self.request_object is None else msgspec.json.decode(self.request_object)

    def response(self) -> Any:
        """Return the decoded body of the answer, None if it was not recorded."""
        return None if self.response_object is None else msgspec.json.decode(self.response_object)


class AuditLog:
    """The log file with cursors into it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def mark(self) -> int:
        """Return a cursor behind everything answered so far."""
        return self._path.stat().st_size if self._path.exists() else 0

    def since(
        self,
        cursor: int = 0,
        *,
        user: str | None = None,
        where: Callable[[AuditRecord], bool] | None = None,
    ) -> list[AuditRecord]:
        """Return the requests answered after `cursor`, in the order they were written."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            # A mark may be set while a line is being written: that line was answered before it.
            file.seek(max(0, cursor - 1))
            *lines, _unfinished = file.read().split(b"\n")
        if cursor:
            del lines[:1]
        records = (_record(_DECODER.decode(line)) for line in lines if line)
        return [
            r
            for r in records
            if not _ends_a_watch(r)
            and (user is None or r.user == user)
            and (where is None or where(r))
        ]


def count(records: Iterable[AuditRecord]) -> Counter[tuple[str, str, str]]:
    """Count requests by user, verb and resource (`resource/subresource`; the path where there is none)."""
    return Counter((r.user, r.verb, resource_name(r)) for r in records)


def resource_name(record: AuditRecord) -> str:
    """Return `resource.group/subresource`, or the path of a request that is about no resource."""
    if not record.resource:
        return record.uri.partition("?")[0]
    group = f".{record.api_group}" if record.api_group else ""
    sub = f"/{record.subresource}" if record.subresource else ""
    return f"{record.resource}{group}{sub}"


class _Ref(msgspec.Struct, rename="camel", frozen=True):
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    api_group: str = ""


class _User(msgspec.Struct, frozen=True):
    username: str = ""


class _Status(msgspec.Struct, frozen=True):
    code: int = 0


class _Annotations(msgspec.Struct, frozen=True):
    decision: str = msgspec.field(name="authorization.k8s.io/decision", default="")


class _Event(msgspec.Struct, rename="camel"):
    stage: str
    verb: str
    stage_timestamp: datetime.datetime
    request_received_timestamp: datetime.datetime
    request_uri: str = msgspec.field(name="requestURI", default="")
    audit_id: str = msgspec.field(name="auditID", default="")
    user: _User = _User()
    user_agent: str = ""
    object_ref: _Ref = _Ref()
    response_status: _Status = _Status()
    annotations: _Annotations = _Annotations()
    request_object: msgspec.Raw = msgspec.Raw()
    response_object: msgspec.Raw = msgspec.Raw()


class _Metadata(msgspec.Struct, rename="camel", frozen=True):
    resource_version: str = ""


class _Versioned(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


_DECODER = msgspec.json.Decoder(_Event)
_VERSION = msgspec.json.Decoder(_Versioned)


def _record(event: _Event) -> AuditRecord:
    ref = event.object_ref
    answer = bytes(event.response_object) or None
    version = _VERSION.decode(answer).metadata.resource_version if answer else ""
    return AuditRecord(
        audit_id=event.audit_id,
        stage=event.stage,
        at=event.stage_timestamp,
        received_at=event.request_received_timestamp,
        user=event.user.username,
        user_agent=event.user_agent,
        verb=event.verb,
        uri=event.request_uri,
        api_group=ref.api_group,
        resource=ref.resource,
        subresource=ref.subresource,
        namespace=ref.namespace,
        name=ref.name,
        code=event.response_status.code,
        is_forbidden=event.annotations.decision == FORBID,
        is_watch=event.verb == "watch",
        resource_version=int(version) if version.isdigit() else None,
        request_object=bytes(event.request_object) or None,
        response_object=answer,
    )


def _ends_a_watch(record: AuditRecord) -> bool:
    return record.is_watch and record.stage == "ResponseComplete" and record.code < 300
