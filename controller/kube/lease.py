"""The leader's lease as a Kubernetes object.

Implements `controller.runtime.leader.LeaseStore`. Invariants: an update carries the resource version it was
judged by, so two candidates cannot both succeed; labels and annotations that
others wrote are kept. Use a client of its own for it: renewals must not queue behind other writes.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from controller.api.names import WANTED_BY
from controller.errors import NotFound
from controller.kube.answers import LeaseSpec
from controller.kube.client import KubeClient
from controller.runtime.leader import LeaseRecord

if TYPE_CHECKING:
    from controller.kube.objects import Lease


class KubeLeaseStore:
    """One Lease object."""

    def __init__(self, client: KubeClient, namespace: str, name: str) -> None:
        # Not at the top: commands import this file, and load kr8s when they connect.
        from controller.kube.objects import Lease

        self._api = client.api
        self._kind = Lease
        self._namespace = namespace
        self._name = name
        self._metadata: Mapping[str, Any] = {}

    async def read(self) -> LeaseRecord | None:
        """The lease as it is, or None."""
        try:
            found = await self._kind.get(self._name, namespace=self._namespace, api=self._api)
        except NotFound:
            return None
        return self._taken_in(found)

    async def create(self, record: LeaseRecord) -> LeaseRecord:
        """Write a lease that did not exist; AlreadyExists if it does."""
        made = self._with({}, record)
        await made.create()
        return self._taken_in(made)

    async def update(self, record: LeaseRecord) -> LeaseRecord:
        """Replace the lease of version `record.version`; Conflict if it has another version."""
        metadata = dict(self._metadata) | {"resourceVersion": record.version}
        annotations = dict(metadata.get("annotations", {}))
        annotations.pop(WANTED_BY, None)
        if record.wanted_by:
            annotations[WANTED_BY] = record.wanted_by
        if annotations or "annotations" in metadata:
            metadata["annotations"] = annotations
        ours = self._with(metadata, record)
        await ours.replace()
        return self._taken_in(ours)

    def _with(self, metadata: Mapping[str, Any], record: LeaseRecord) -> "Lease":
        named = {**metadata, "name": self._name, "namespace": self._namespace}
        return self._kind({"metadata": named, "spec": _spec_of(record)}, api=self._api)

    def _taken_in(self, found: "Lease") -> LeaseRecord:
        self._metadata = found.to_dict()["metadata"]
        lease = found.record
        spec = lease.spec or LeaseSpec()
        return LeaseRecord(
            holder=spec.holder_identity or "",
            duration=float(spec.lease_duration_seconds or 0),
            acquired_at=spec.acquire_time,
            renewed_at=spec.renew_time,
            transitions=spec.lease_transitions or 0,
            version=lease.metadata.resource_version,
            wanted_by=lease.metadata.annotations.get(WANTED_BY, ""),
        )


def _spec_of(record: LeaseRecord) -> dict[str, Any]:
    spec = {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": max(1, round(record.duration)),
        "acquireTime": micro_time(record.acquired_at),
        "renewTime": micro_time(record.renewed_at),
        "leaseTransitions": record.transitions,
    }
    return {key: value for key, value in spec.items() if value is not None}


def micro_time(instant: datetime | None) -> str | None:
    """As Kubernetes' MicroTime: exactly six digits, always UTC."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if instant else None
