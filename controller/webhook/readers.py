"""What admission reads: Rollouts and ReplicaSets, from caches once they are filled, from the API server until then.

Invariant: an unfilled cache is never taken for an empty cluster.
"""

from collections.abc import Callable, Sequence

import msgspec

from controller.api.rollout import Rollout
from controller.api.workloads import ReplicaSet
from controller.kube.client import KubeClient
from controller.kube.resources import REPLICA_SETS, ROLLOUTS
from controller.kube.store import Store

OWNER = "owner"
"""Index of the ReplicaSet cache: UID of the controller."""


class _Rollouts(msgspec.Struct, frozen=True):
    items: tuple[Rollout, ...] = ()


class _ReplicaSets(msgspec.Struct, frozen=True):
    items: tuple[ReplicaSet, ...] = ()


class CachedReader:
    """Reads for admission; `filled` says whether the caches may be relied on."""

    def __init__(
        self,
        client: KubeClient,
        rollouts: Store[Rollout],
        replica_sets: Store[ReplicaSet],
        filled: Callable[[], bool],
    ) -> None:
        self._client = client
        self._rollouts = rollouts
        self._replica_sets = replica_sets
        self._filled = filled

    async def rollouts(self, namespace: str) -> Sequence[Rollout]:
        """All Rollouts of a namespace."""
        if self._filled():
            return [r for r in self._rollouts.values() if r.metadata.namespace == namespace]
        return await self.latest(namespace)

    async def latest(self, namespace: str) -> Sequence[Rollout]:
        """All Rollouts of a namespace as they are now, those included that no watch has told of yet."""
        found: list[Rollout] = []
        async for page in self._client.list_pages(ROLLOUTS, namespace):
            found += msgspec.json.decode(page, type=_Rollouts).items
        return found

    async def of(self, deployment_uid: str, namespace: str) -> Sequence[ReplicaSet]:
        """The ReplicaSets of a Deployment, of any size."""
        if self._filled():
            return self._replica_sets.index(OWNER, deployment_uid)
        found: list[ReplicaSet] = []
        async for page in self._client.list_pages(REPLICA_SETS, namespace):
            found += msgspec.json.decode(page, type=_ReplicaSets).items
        return [rs for rs in found if rs.metadata.controller_uid == deployment_uid]
