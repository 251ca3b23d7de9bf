"""Puts leader election or shards together, by the flags, with the Leases of the controller's own namespace.

Invariant: nothing here decides; `check_shards` of the settings has refused settings that cannot be divided.
"""

from random import Random

from controller.api.names import LEASE
from controller.kube.client import KubeClient
from controller.kube.lease import KubeLeaseStore
from controller.runtime.clock import Clock
from controller.runtime.fence import Fence
from controller.runtime.leader import Leader
from controller.runtime.leadership import Leadership, OneLeader, Unelected
from controller.runtime.shards import Shards
from controller.settings import Settings
from controller.telemetry.metrics import Metrics


def leadership_of(
    settings: Settings, client: KubeClient, identity: str, clock: Clock, metrics: Metrics
) -> Leadership:
    """Without election all work is done here; else by the leader, or by the holders of the shards."""
    if not settings.leader_elect:
        return Unelected()
    metrics.shards(settings.shards)
    stores = {
        name: KubeLeaseStore(client, settings.namespace, name)
        for name in (LEASE, *(f"{LEASE}-{shard}" for shard in range(settings.shards)))
    }
    common = stores.pop(LEASE)
    if settings.shards > 1:
        return Shards(
            tuple(stores.values()), common, identity,
            name=LEASE, clock=clock, random=Random(), metrics=metrics,
        )  # fmt: skip
    fence = Fence()
    leader = Leader(
        common, identity, name=LEASE, clock=clock, random=Random(), metrics=metrics, fence=fence
    )
    return OneLeader(leader, fence)
