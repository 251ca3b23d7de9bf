"""Chooses the pods of a native DaemonSet to delete now, so that its controller creates new ones in their place.

A DaemonSet under release is of type OnDelete: a deleted pod returns with the new revision. Invariants: deletions never
leave more nodes without a ready pod than the owner's maxUnavailable allows; a node whose pod is being deleted, or that
has none, counts as changing to the new revision (the original deletes terminating pods again and exceeds a batch, D40).
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from controller.api.quantity import IntOrPercent, parse_count, scaled_down
from controller.api.workloads import DELETION_COST, Pod

_EPOCH = datetime.fromtimestamp(0, tz=UTC)


class Nodes(msgspec.Struct, frozen=True):
    """The pods of a DaemonSet, sorted by the state of their nodes."""

    size: int
    """Nodes that should have a pod."""
    new: tuple[Pod, ...]
    old: tuple[Pod, ...]
    """Pods of other revisions, without those being deleted."""
    leaving: int
    """Pods being deleted."""

    @property
    def bare(self) -> int:
        """Nodes whose pod is being deleted, is gone, or is not created yet."""
        return max(self.leaving, self.size - len(self.new) - len(self.old))


def most_unavailable(limit: IntOrPercent | None, size: int) -> int:
    """The owner's maxUnavailable in nodes, percentages rounded down; at least one, or nothing would ever move."""
    return max(1, scaled_down(1 if limit is None else limit, size))


def may_go(nodes: Nodes, wanted: int, limit: int, stable_revision: str) -> tuple[Pod, ...]:
    """Old pods to delete now for `wanted` new ones, with at most `limit` nodes unavailable.

    The order: pods of an abandoned release, then unready pods, then by deletion cost, then the youngest.
    """
    # Old pods that are unready go first and take no room: their nodes are unavailable already.
    unready = sum(1 for pod in (*nodes.new, *nodes.old) if pod.ready_since is None)
    room = limit - unready - nodes.bare
    need = wanted - len(nodes.new) - nodes.bare
    going: list[Pod] = []
    for pod in sorted(nodes.old, key=lambda pod: _deleted_first(pod, stable_revision)):
        if len(going) >= need:
            break
        if pod.ready_since is not None:
            if room <= 0:
                continue
            room -= 1
        going.append(pod)
    return tuple(going)


def _cost(pod: Pod) -> int:
    text = pod.metadata.annotations.get(DELETION_COST, "0")
    cost = parse_count(text.removeprefix("-")) or 0
    return -cost if text.startswith("-") else cost


def _deleted_first(pod: Pod, stable_revision: str) -> tuple[bool, bool, bool, int, float, str]:
    """Sort key: the pods to delete first come first."""
    made = pod.metadata.creation_timestamp or _EPOCH
    return (
        pod.revision == stable_revision,
        pod.status.phase != "Pending",
        pod.ready_since is not None,
        _cost(pod),
        -made.timestamp(),
        pod.metadata.name,
    )


def nodes_of(size: int, pods: Sequence[Pod], new_revision: str) -> Nodes:
    """Sort the pods of a DaemonSet."""
    alive = [pod for pod in pods if not pod.metadata.deleting]
    return Nodes(
        size=size,
        new=tuple(pod for pod in alive if new_revision and pod.revision == new_revision),
        old=tuple(pod for pod in alive if not new_revision or pod.revision != new_revision),
        leaving=sum(1 for pod in pods if pod.metadata.deleting),
    )
