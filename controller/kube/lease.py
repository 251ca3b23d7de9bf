"""The leader's lease as a Kubernetes object.

Implements `controller.runtime.leader.LeaseStore`. Invariants: an update carries the resource version it was
judged by, so two candidates cannot both succeed; labels and annotations that
others wrote are kept. Use a client of its own for it: renewals must not queue behind other writes.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from controller.api.meta import ObjectMeta
from controller.api.names import WANTED_BY
from controller.errors import NotFound
from controller.kube.client import KubeClient
from controller.kube.resources import LEASES
from controller.runtime.leader import LeaseRecord


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


class _Lease(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: _Spec | None = None


class KubeLeaseStore:
    """One Lease object."""

    def __init__(self, client: KubeClient, namespace: str, name: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._metadata: Mapping[str, Any] = {}

    async def read(self) -> LeaseRecord | None:
        """The lease as it is, or None."""
        try:
            body = await self._client.get(LEASES, self._namespace, self._name)
        except NotFound:
            return None
        return self._taken_in(body)

    async def create(self, record: LeaseRecord) -> LeaseRecord:
        """Write a lease that did not exist; AlreadyExists if it does."""
        metadata = {"name": self._name, "namespace": self._namespace}
        body = _encoded(metadata, record)
        return self._taken_in(await self._client.create(LEASES, self._namespace, body))

    async def update(self, record: LeaseRecord) -> LeaseRecord:
        """Replace the lease of version `record.version`; Conflict if it has another version."""
        metadata = dict(self._metadata) | {
            "name": self._name,
            "namespace": self._namespace,
            "resourceVersion": record.version,
        }
        annotations = dict(metadata.get("annotations", {}))
        annotations.pop(WANTED_BY, None)
        if record.wanted_by:
            annotations[WANTED_BY] = record.wanted_by
        if annotations or "annotations" in metadata:
            metadata["annotations"] = annotations
        body = _encoded(metadata, record)
        return self._taken_in(await self._client.replace(LEASES, self._namespace, self._name, body))

    def _taken_in(self, body: bytes) -> LeaseRecord:
        self._metadata = msgspec.json.decode(body)["metadata"]
        lease = msgspec.json.decode(body, type=_Lease)
        spec = lease.spec or _Spec()
        return LeaseRecord(
            holder=spec.holder_identity or "",
            duration=float(spec.lease_duration_seconds or 0),
            acquired_at=spec.acquire_time,
            renewed_at=spec.renew_time,
            transitions=spec.lease_transitions or 0,
            version=lease.metadata.resource_version,
            wanted_by=lease.metadata.annotations.get(WANTED_BY, ""),
        )


def _encoded(metadata: Mapping[str, Any], record: LeaseRecord) -> bytes:
    spec = {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": max(1, round(record.duration)),
        "acquireTime": micro_time(record.acquired_at),
        "renewTime": micro_time(record.renewed_at),
        "leaseTransitions": record.transitions,
    }
    return msgspec.json.encode(
        {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": metadata,
            "spec": {key: value for key, value in spec.items() if value is not None},
        }
    )


def micro_time(instant: datetime | None) -> str | None:
    """As Kubernetes' MicroTime: exactly six digits, always UTC."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if instant else None
