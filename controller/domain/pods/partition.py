"""Partitions: the number of pods of a set that its own controller keeps at the old revision, and its field in each
kind.

A StatefulSet counts from its lowest ordinal, a CloneSet and an Advanced DaemonSet count pods. A set under release
always has its owner's own update strategy with our partition in it, so the owner's other limits, and changes of them
during a release, take effect. Invariant: pure arithmetic over the objects; never fewer old pods than the step leaves,
except where they are gone already.
"""

from collections.abc import Collection, Iterable

from controller.api.jsontree import JsonObject, changed, child
from controller.api.quantity import IntOrPercent, scaled_up
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Pod

MOVES_NO_POD: dict[WorkloadKind, IntOrPercent] = {
    WorkloadKind.STATEFUL_SET: 32767,
    WorkloadKind.ADVANCED_DAEMON_SET: 32767,
    WorkloadKind.CLONE_SET: "100%",
}
"""Partitions under which no pod moves, whatever the size: the original's values."""


COMPLETES_NOTHING: JsonObject = {"type": "OnDelete"}
"""The strategy of a StatefulSet without replicas under release. The API refuses other fields beside this type."""


CLOSED = 0
"""`scaleStrategy.maxUnavailable` of a CloneSet without replicas that must not create a pod under release."""


def _place(kind: WorkloadKind) -> tuple[str, ...]:
    return ("partition",) if kind is WorkloadKind.CLONE_SET else ("rollingUpdate", "partition")


def moving_no_pod(kind: WorkloadKind, strategy: JsonObject) -> JsonObject:
    """The owner's update strategy under which no pod moves.

    A native DaemonSet has no partition: under OnDelete only a deletion creates a new pod.
    """
    if kind is WorkloadKind.DAEMON_SET:
        return {**strategy, "type": "OnDelete"}
    return partitioned(kind, strategy, MOVES_NO_POD[kind])


def partitioned(kind: WorkloadKind, strategy: JsonObject, partition: IntOrPercent) -> JsonObject:
    """The owner's update strategy with this partition in it.

    Only a rolling update has one. An owner who chooses OnDelete during a release gets it at the end.
    """
    moved = changed(strategy, _place(kind), partition)
    if kind is not WorkloadKind.CLONE_SET and moved.get("type") in (None, "", "OnDelete"):
        moved = {**moved, "type": "RollingUpdate"}
    return with_pause_field(kind, moved)


def with_pause_field(kind: WorkloadKind, strategy: JsonObject) -> JsonObject:
    """The update strategy; an Advanced DaemonSet's gets `rollingUpdate.paused: false` where it lacks the field.

    Clients of the original read the field, in a release and after it, without checking that it exists.
    """
    lacks_field = child(strategy, "rollingUpdate").get("paused") is None
    if kind is WorkloadKind.ADVANCED_DAEMON_SET and strategy and lacks_field:
        return changed(strategy, ("rollingUpdate", "paused"), False)
    return strategy


def surging(strategy: JsonObject, partition: IntOrPercent, surge: int) -> JsonObject:
    """A CloneSet's update strategy that adds `surge` pods to replicas and removes none."""
    moved = partitioned(WorkloadKind.CLONE_SET, strategy, partition)
    return {**moved, "maxSurge": surge, "maxUnavailable": 0}


def partition_of(kind: WorkloadKind, strategy: JsonObject) -> IntOrPercent:
    """The partition of an update strategy; 0 if it has none."""
    *way, last = _place(kind)
    value = child(strategy, *way).get(last)
    return value if isinstance(value, int | str) and not isinstance(value, bool) else 0


def kept_old(partition: IntOrPercent, replicas: int) -> int:
    """The number of pods that a partition keeps at the old revision."""
    return max(0, min(replicas, scaled_up(partition, replicas)))


def counted_partition(replicas: int, new: int, *, percent: bool) -> IntOrPercent:
    """A partition that allows `new` of `replicas` pods of the new revision.

    With `percent`, a percentage that stays right when the set is scaled: under a count every added pod is new, also
    where the step names a count (there the original writes one). It is a count where no whole percentage is exact:
    above 100 pods the original waits for a pod that its own partition forbids.
    """
    old = max(0, replicas - new)
    share = 100 * old // replicas if replicas else 0
    if percent and kept_old(f"{share}%", replicas) == old:
        return f"{share}%"
    return old


def ordered_partition(replicas: int, wanted: int, new: Collection[int]) -> int:
    """The partition of a StatefulSet under which `wanted` pods are new; `new` are the ordinals that are new already.

    Pods become new from the highest ordinal down. New pods below the partition count too: they exist after the set was
    scaled up, and if they did not count, every added pod would be new without approval.
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
