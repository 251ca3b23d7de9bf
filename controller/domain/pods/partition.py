"""Partitions: how many pods of a set its own controller keeps at the old revision, and where each kind says so.

A StatefulSet counts from its lowest ordinal, a CloneSet and an Advanced DaemonSet count pods. A set under release
always carries its owner's own update strategy with our partition in it, so the owner's other limits stay in force, and
so does a change of them in mid-release. Invariant: pure arithmetic over what the objects say; never fewer old pods than
the step leaves, except where they are gone already.
"""

from collections.abc import Collection, Iterable

from controller.api.jsontree import JsonObject, changed, child
from controller.api.quantity import IntOrPercent, scaled_up
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Pod

HOLD: dict[WorkloadKind, IntOrPercent] = {
    WorkloadKind.STATEFUL_SET: 32767,
    WorkloadKind.ADVANCED_DAEMON_SET: 32767,
    WorkloadKind.CLONE_SET: "100%",
}
"""Partitions under which nothing moves, whatever the size: the original's values."""


COMPLETES_NOTHING: JsonObject = {"type": "OnDelete"}
"""The strategy of a StatefulSet of no pods under release. The API refuses any other part beside this type."""


def _place(kind: WorkloadKind) -> tuple[str, ...]:
    return ("partition",) if kind is WorkloadKind.CLONE_SET else ("rollingUpdate", "partition")


def held(kind: WorkloadKind, strategy: JsonObject) -> JsonObject:
    """The owner's update strategy with nothing allowed to move.

    A native DaemonSet has no partition: it is held by deletion alone making new pods.
    """
    if kind is WorkloadKind.DAEMON_SET:
        return {**strategy, "type": "OnDelete"}
    return partitioned(kind, strategy, HOLD[kind])


def partitioned(kind: WorkloadKind, strategy: JsonObject, partition: IntOrPercent) -> JsonObject:
    """The owner's update strategy with this partition in it."""
    moved = changed(strategy, _place(kind), partition)
    if kind is not WorkloadKind.CLONE_SET and not moved.get("type"):
        moved = {"type": "RollingUpdate", **moved}
    return moved


def surging(strategy: JsonObject, partition: IntOrPercent, surge: int) -> JsonObject:
    """A CloneSet's update strategy under which `surge` pods more than replicas are made, and none is taken away."""
    moved = partitioned(WorkloadKind.CLONE_SET, strategy, partition)
    return {**moved, "maxSurge": surge, "maxUnavailable": 0}


def partition_of(kind: WorkloadKind, strategy: JsonObject) -> IntOrPercent:
    """The partition an update strategy has; 0 where it says nothing."""
    *way, last = _place(kind)
    value = child(strategy, *way).get(last)
    return value if isinstance(value, int | str) and not isinstance(value, bool) else 0


def kept_old(partition: IntOrPercent, replicas: int) -> int:
    """How many pods a partition keeps at the old revision."""
    return max(0, min(replicas, scaled_up(partition, replicas)))


def counted_partition(replicas: int, new: int, *, percent: bool) -> IntOrPercent:
    """A partition that allows `new` of `replicas` pods of the new revision.

    With `percent`, as a percentage that keeps its sense when the set is scaled: under a count every pod that is added
    comes out new, also where the step names a count (there the original writes one). But as a count where no whole
    percentage says exactly this: above 100 pods the original waits for a pod that its own partition forbids.
    """
    old = max(0, replicas - new)
    share = 100 * old // replicas if replicas else 0
    if percent and kept_old(f"{share}%", replicas) == old:
        return f"{share}%"
    return old


def ordered_partition(replicas: int, wanted: int, new: Collection[int]) -> int:
    """The partition of a StatefulSet that makes `wanted` pods new ones; `new` are the ordinals that are already.

    Pods are taken from the top. New ones below the partition count too: they are there after the set was scaled up, and
    without looking at them every pod that was added would come out new, unapproved.
    """
    partition, there = replicas, sum(1 for ordinal in new if ordinal < replicas)
    while there < wanted and partition > 0:
        partition -= 1
        there += partition not in new
    while partition - 1 in new:
        partition -= 1
    return partition


def ordinals(pods: Iterable[Pod], start: int = 0) -> frozenset[int]:
    """Ordinals of pods of a StatefulSet that counts from `start`."""
    found = (pod.metadata.name.rpartition("-")[2] for pod in pods)
    return frozenset(int(text) - start for text in found if text.isdecimal())
