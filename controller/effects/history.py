"""Records of releases: created, completed, and the oldest deleted.

Invariant: a record never delays a release: a record that the API server refuses is logged and left out. When the server
is unreachable the pass is repeated, and creating the same record again is harmless. Pods are read once, by their
labels, for fields that the caches do not keep (address, node).
"""

import contextlib
import logging
from collections.abc import AsyncIterable, Mapping
from typing import Protocol

import msgspec
from msgspec import structs

from controller.api.history import HISTORY_ROLLOUT_NAME, HistoryPod, HistoryStep, RolloutHistory
from controller.api.meta import ObjectMeta
from controller.api.names import GROUP, ROLLOUT_ID
from controller.domain.decision import Done, RecordRelease
from controller.errors import WRITE_REFUSED, AlreadyExists, NotFound
from controller.kube.resources import PODS, ROLLOUT_HISTORIES, Resource
from controller.kube.verbs import Creates

API_VERSION = f"{GROUP}/v1alpha1"

_log = logging.getLogger(__name__)


class HistoryWrites(Creates, Protocol):
    """The API calls that records need."""

    def list_pages(
        self, resource: Resource, namespace: str | None = None, label_selector: str = ""
    ) -> AsyncIterable[bytes]: ...

    async def merge_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Mapping[str, object],
        subresource: str = "",
    ) -> bytes: ...

    async def delete(self, resource: Resource, namespace: str, name: str) -> bytes: ...


class _PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _PodStatus(msgspec.Struct, frozen=True, rename="camel"):
    pod_ip: str = msgspec.field(name="podIP", default="")


class _Pod(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()


class _Pods(msgspec.Struct, frozen=True):
    items: tuple[_Pod, ...] = ()


class _Records(msgspec.Struct, frozen=True):
    items: tuple[RolloutHistory, ...] = ()


class Histories:
    """Records of releases in the cluster."""

    def __init__(self, api: HistoryWrites) -> None:
        self._api = api

    async def record(self, action: RecordRelease) -> Done:
        """Write the record of one release, then delete the oldest beyond the number kept."""
        history = action.history
        try:
            await self._write(history)
            await self._prune(history, action.keep)
        except WRITE_REFUSED as refused:
            _log.warning(
                "release not written down",
                extra={"history": str(history.metadata.key), "problem": refused.message},
            )
            return Done()
        return Done(wrote=True)

    async def _write(self, history: RolloutHistory) -> None:
        meta = history.metadata
        head = {"name": meta.name, "namespace": meta.namespace, "labels": meta.labels}
        body = {"apiVersion": API_VERSION, "kind": "RolloutHistory", "metadata": head}
        encoded = msgspec.json.encode({**body, "spec": history.spec})
        with contextlib.suppress(AlreadyExists):
            await self._api.create(ROLLOUT_HISTORIES, meta.namespace, encoded)
        status = await self._with_places(history)
        await self._api.merge_patch(
            ROLLOUT_HISTORIES, meta.namespace, meta.name, {"status": status}, "status"
        )

    async def _with_places(self, history: RolloutHistory) -> object:
        """The status, its pods with their addresses and nodes."""
        steps = history.status.canary_steps
        if not any(step.pods for step in steps):
            return history.status
        places = await self._places(history)
        return structs.replace(
            history.status, canary_steps=tuple(_placed(step, places) for step in steps)
        )

    async def _places(self, history: RolloutHistory) -> dict[str, HistoryPod]:
        meta = history.metadata
        selector = f"{ROLLOUT_ID}={meta.labels[ROLLOUT_ID]}"
        found: dict[str, HistoryPod] = {}
        async for page in self._api.list_pages(PODS, meta.namespace, selector):
            for pod in msgspec.json.decode(page, type=_Pods).items:
                name = pod.metadata.name
                found[name] = HistoryPod(name, pod.status.pod_ip, pod.spec.node_name)
        return found

    async def _prune(self, history: RolloutHistory, keep: int) -> None:
        meta = history.metadata
        selector = f"{HISTORY_ROLLOUT_NAME}={meta.labels[HISTORY_ROLLOUT_NAME]}"
        records: list[RolloutHistory] = []
        async for page in self._api.list_pages(ROLLOUT_HISTORIES, meta.namespace, selector):
            records += msgspec.json.decode(page, type=_Records).items
        records.sort(key=_age, reverse=True)
        for old in records[keep:]:
            with contextlib.suppress(NotFound):
                await self._api.delete(ROLLOUT_HISTORIES, meta.namespace, old.metadata.name)


def _placed(step: HistoryStep, places: dict[str, HistoryPod]) -> HistoryStep:
    return structs.replace(step, pods=tuple(places.get(pod.name, pod) for pod in step.pods))


def _age(record: RolloutHistory) -> tuple[str, str]:
    created = record.metadata.creation_timestamp
    return (created.isoformat() if created is not None else "", record.metadata.name)
