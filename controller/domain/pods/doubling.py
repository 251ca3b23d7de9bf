"""The fields under which a CloneSet's own controller runs two complete revisions and keeps all old pods.

`maxSurge` alone is not enough: surge ends when as many pods are of the new revision as the partition allows, so from
half of the pods on no further one is created, and a lost old pod returns as a new one. But pods named in
`scaleStrategy.podsToDelete` are replaced by surge before they are deleted, and with `maxUnavailable: 0` and a
minReadySeconds that no pod reaches they are never deleted. So the number of named pods is the number of pods wanted in
addition to the old ones. While new pods are missing, old ones are named; new ones are named once they are ready, under
a partition that keeps every old pod.

Seen on OpenKruise 1.8: a lost pod returns with its own revision. A named pod that its controller sees unready is
deleted at once. So an old pod is named only while it is being replaced, the oldest first, and a new pod only when the
CloneSet's own status counts it as ready. Invariant: never more names than replicas; else its controller would delete
the rest.
"""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime

import msgspec

from controller.api.quantity import IntOrPercent
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Pod
from controller.domain.pods.partition import MOVES_NO_POD, counted_partition

_EPOCH = datetime.fromtimestamp(0, tz=UTC)


class Doubling(msgspec.Struct, frozen=True):
    """Partition, surge and named pods."""

    partition: IntOrPercent = MOVES_NO_POD[WorkloadKind.CLONE_SET]
    surge: int = 1
    named: tuple[str, ...] = ()


class Present(msgspec.Struct, frozen=True):
    """A CloneSet's pods by revision, the named pods, and the number of new pods that its own status counts as ready."""

    old: tuple[Pod, ...]
    new: tuple[Pod, ...]
    named: Collection[str] = ()
    known_ready: int = 0


def doubled(replicas: int, wanted: int, present: Present) -> Doubling:
    """The fields that keep `replicas` old pods and `wanted` new ones in addition; without old pods nothing is doubled.

    Existing pods of the new revision stay: their number never falls.
    """
    old, new = _by_readiness(present.old), _by_readiness(present.new)
    if not old:
        return Doubling()
    wanted = min(replicas, max(wanted, len(new)))
    named_new = _known_ready(new, present)[:wanted]
    named_old = old[: wanted - len(named_new)]
    named = sorted(pod.metadata.name for pod in (*named_new, *named_old))
    partition = counted_partition(replicas, len(named_old), percent=True)
    return Doubling(partition, max(1, wanted), tuple(named))


def beyond(replicas: int, pods: Iterable[Pod]) -> list[Pod]:
    """The pods beyond so many of one revision: ready ones stay before unready ones, then the oldest."""
    return _by_readiness(pods)[replicas:]


def _known_ready(new: list[Pod], present: Present) -> list[Pod]:
    """New pods that the CloneSet's own status counts as ready, too; a pod that is named already stays named.

    The status gives only a number. While it counts fewer pods than we see, we do not know which of them it misses.
    """
    ready = [pod for pod in new if pod.ready_since is not None]
    if len(ready) <= present.known_ready:
        return ready
    return [pod for pod in ready if pod.metadata.name in present.named]


def _by_readiness(pods: Iterable[Pod]) -> list[Pod]:
    alive = (pod for pod in pods if not pod.metadata.deleting)
    return sorted(alive, key=_kept_first)


def _kept_first(pod: Pod) -> tuple[bool, datetime, str]:
    """Sort key: ready pods first, then the oldest."""
    meta = pod.metadata
    return pod.ready_since is None, meta.creation_timestamp or _EPOCH, meta.name
