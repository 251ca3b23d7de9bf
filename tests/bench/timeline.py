"""The times of events during releases, from the audit log.

Why it exists: all times are from one clock, the API server's, for the arrival of a request and the end of its answer.
Invariant: no time is guessed: a step whose times cannot be distinguished has no sample. It must not wait.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from localcluster.api import JsonObject
from localcluster.audit import AuditLog, AuditRecord
from tests.bench.ground import USER
from tests.bench.objects import SHARE, STEPS, Style, canary_service

APPROVER = "approver"
SERVICE_OF = "kubernetes.io/service-name"


@dataclass(frozen=True, slots=True)
class Approved:
    """From an approval to the weight of the step after it, in seconds."""

    whole: float
    pods: float
    """From our patch of the workload to the new pod's ready endpoint: the cluster's share."""

    @property
    def ours(self) -> float:
        """The time that is left for the controller."""
        return self.whole - self.pods


@dataclass(frozen=True, slots=True)
class Span:
    """One release: from the change of the template to the status that says it is done."""

    begun: datetime
    ended: datetime

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.ended - self.begun).total_seconds()


class Timeline:
    """The writes of one namespace."""

    def __init__(self, log: AuditLog, cursor: int, namespace: str) -> None:
        def here(record: AuditRecord) -> bool:
            return record.namespace == namespace and record.is_write and record.code < 300

        self._records = log.since(cursor, where=here)

    def span(self, name: str) -> Span:
        """The release of a Rollout that is done."""
        changes = self._of("deployments", name, "", "developer")
        statuses = self._of("rollouts", name, "status", USER)
        begun = min(record.received_at for record in changes)
        ended = next(
            record.at for record in reversed(list(statuses)) if _phase(record) == "Healthy"
        )
        return Span(begun, ended)

    def approved(self, name: str, style: Style) -> Iterator[Approved]:
        """The steps of a release that began with an approval."""
        approvals = [r.received_at for r in self._of("rollouts", name, "status", APPROVER)]
        for step, approval in zip(range(2, STEPS + 1), approvals, strict=False):
            weight = SHARE[style] * step
            routed = self._routed(name, weight, approval)
            pods = self._pods(name, step, approval)
            if routed is not None and pods is not None:
                yield Approved((routed - approval).total_seconds(), pods)

    def _of(self, resource: str, name: str, subresource: str, user: str) -> Iterator[AuditRecord]:
        return (
            record
            for record in self._records
            if record.resource == resource
            and record.name == name
            and record.subresource == subresource
            and record.user == user
        )

    def _routed(self, name: str, weight: int, after: datetime) -> datetime | None:
        """The time of the write of that weight into the VirtualService."""
        return next(
            (
                record.at
                for record in self._of("virtualservices", name, "", USER)
                if record.at > after and _canary_weight(record.response(), name) == weight
            ),
            None,
        )

    def _pods(self, name: str, ready: int, after: datetime) -> float | None:
        """Seconds from our patch of the workload to so many ready endpoints of the canary Service."""
        patched = next(
            (
                record.received_at
                for record in self._records
                if record.resource == "deployments"
                and record.name.startswith(name)
                and record.user == USER
                and record.received_at > after
            ),
            None,
        )
        if patched is None:
            return None
        seen = (
            record.at
            for record in self._records
            if record.resource == "endpointslices"
            and record.at > patched
            and _ready_endpoints(record.response(), canary_service(name)) >= ready
        )
        return next(((at - patched).total_seconds() for at in seen), None)


def spans(timeline: Timeline, names: Iterable[str]) -> list[Span]:
    """The releases of several Rollouts."""
    return [timeline.span(name) for name in names]


def makespan(releases: Iterable[Span]) -> float:
    """Seconds from the first change to the last end."""
    known = list(releases)
    first, last = min(span.begun for span in known), max(span.ended for span in known)
    return (last - first).total_seconds()


def _phase(record: AuditRecord) -> str:
    return str(record.response()["status"].get("phase", ""))


def _canary_weight(stored: JsonObject, name: str) -> int | None:
    for rule in stored["spec"]["http"]:
        for route in rule["route"]:
            if route["destination"]["host"] == canary_service(name):
                return int(route.get("weight", 100))
    return None


def _ready_endpoints(stored: JsonObject, service: str) -> int:
    if stored["metadata"].get("labels", {}).get(SERVICE_OF) != service:
        return 0
    return sum(
        bool(endpoint.get("conditions", {}).get("ready"))
        for endpoint in stored.get("endpoints") or ()
    )
