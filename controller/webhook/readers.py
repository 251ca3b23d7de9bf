"""The objects that admission reads: Rollouts, ReplicaSets and what releases keep, from filled caches, until then from
the API server.

Invariant: an unfilled cache is never taken for an empty cluster. Live reads are bounded, because a forged review makes
us read: beyond the bound a filled cache answers, which is milliseconds behind. It also answers if the API server takes
long: the list of a namespace of a thousand Rollouts took 5 s under load, and their admission failed.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

import msgspec

from controller.api.decoding import reader_of
from controller.api.meta import Key, ObjectMeta
from controller.api.names import KEPT_FOR
from controller.api.podsets import ControllerRevision, slimmed
from controller.api.rollout import Rollout
from controller.api.salvage import read_rollout
from controller.api.workloads import ReplicaSet
from controller.kube.client import KubeClient
from controller.kube.nesting import outlined, read_around
from controller.kube.resources import CONTROLLER_REVISIONS, REPLICA_SETS, ROLLOUTS
from controller.kube.store import Store
from controller.kube.watch import page_of, read_identity, read_page

LIVE_BURST = 40
LIVE_AT_ONCE = 8
LIVE_PER_SECOND = 20
"""Lists a second for admission; the controller's own requests may be 200."""
LIVE_SECONDS = 2.0
"""How long a live read may take if a filled cache can answer instead; a review has to be answered within 8 s."""
OWNER = "owner"
"""Index of the ReplicaSet cache: UID of the controller."""


log = logging.getLogger(__name__)
_read_replica_set = reader_of(ReplicaSet)
_read_revision = reader_of(ControllerRevision)


class Allowance:
    """Live reads: a burst, refilled every second."""

    def __init__(self) -> None:
        self._left = float(LIVE_BURST)
        self._at = 0.0

    def take(self) -> bool:
        """Whether one more may be made now."""
        now = asyncio.get_running_loop().time()
        self._left = min(LIVE_BURST, self._left + (now - self._at) * LIVE_PER_SECOND)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class CachedReader:
    """Reads for admission; `filled` says whether the caches may be relied on."""

    def __init__(
        self,
        client: KubeClient,
        rollouts: Store[Rollout],
        replica_sets: Store[ReplicaSet],
        revisions: Store[ControllerRevision],
        filled: Callable[[], bool],
    ) -> None:
        self._client = client
        self._rollouts = rollouts
        self._replica_sets = replica_sets
        self._revisions = revisions
        self._filled = filled
        self._live = Allowance()
        self._turn = asyncio.Semaphore(LIVE_AT_ONCE)

    async def rollouts(self, namespace: str) -> Sequence[Rollout]:
        """All Rollouts of a namespace."""
        if self._filled():
            return self._cached(namespace)
        return await self.latest(namespace)

    def _cached(self, namespace: str) -> Sequence[Rollout]:
        return [r for r in self._rollouts.values() if r.metadata.namespace == namespace]

    async def latest(self, namespace: str) -> Sequence[Rollout]:
        """All present Rollouts of a namespace, also Rollouts that no watch has delivered yet."""
        if not self._live.take() and self._filled():
            return self._cached(namespace)
        try:
            async with asyncio.timeout(LIVE_SECONDS if self._filled() else None):
                return await self._listed(namespace)
        except TimeoutError:
            return self._cached(namespace)

    async def _listed(self, namespace: str) -> Sequence[Rollout]:
        found: list[Rollout] = []
        async with self._turn:
            async for body in self._client.list_pages(ROLLOUTS, namespace):
                page, _ = await read_around(page_of, body)
                known = map(self._readable, page.items or ())
                found += (rollout for rollout in known if rollout is not None)
        return found

    def _readable(self, item: msgspec.Raw) -> Rollout | None:
        """A Rollout, as the cache has it if it cannot be read: one such object must not refuse all others."""
        try:
            return read_rollout(item)
        except msgspec.MsgspecError as failure:
            named = read_identity(outlined(bytes(item))).metadata
            log.warning("a Rollout cannot be read: %s/%s: %s", named.namespace, named.name, failure)
            return self._rollouts.get(Key(named.namespace, named.name))

    async def of(self, deployment_uid: str, namespace: str) -> Sequence[ReplicaSet]:
        """The ReplicaSets of a Deployment, of any size."""
        if self._filled():
            known = self._replica_sets.index(OWNER, deployment_uid)
            return [rs for rs in known if rs.metadata.namespace == namespace]
        found: list[ReplicaSet] = []
        async with self._turn:
            async for page in self._client.list_pages(REPLICA_SETS, namespace):
                found += map(_read_replica_set, read_page(page).items or ())
        return [rs for rs in found if rs.metadata.controller_uid == deployment_uid]

    async def kept_owners(self, rollout: ObjectMeta, workload_uid: str) -> str:
        """The owner's own values of a workload as its release keeps them; empty if it keeps none."""
        found = [
            revision
            for revision in await self._kept(rollout, workload_uid)
            if revision.kept is not None and revision.kept.workload_uid == workload_uid
        ]
        newest = max(found, key=lambda revision: revision.revision, default=None)
        return newest.kept.owners if newest is not None and newest.kept is not None else ""

    async def _kept(self, rollout: ObjectMeta, workload_uid: str) -> Sequence[ControllerRevision]:
        if self._filled():
            known = self._revisions.index(OWNER, rollout.uid)
            return [r for r in known if r.metadata.namespace == rollout.namespace]
        found: list[ControllerRevision] = []
        chosen = f"{KEPT_FOR}={workload_uid}"
        async with self._turn:
            async for page in self._client.list_pages(
                CONTROLLER_REVISIONS, rollout.namespace, chosen
            ):
                found += (slimmed(_read_revision(item)) for item in read_page(page).items or ())
        return [r for r in found if r.metadata.controller_uid == rollout.uid]
