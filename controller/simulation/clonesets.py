"""A model of OpenKruise's CloneSet controller: the arithmetic of its surge, its partition, its limits.

After `calculateDiffsWithExpectation` of OpenKruise 1.8: the pods that it creates and deletes in one pass, which either
scales or updates. Must not know Moonshift.
"""

import sys
from collections.abc import Sequence
from datetime import datetime

import msgspec

from controller.api.duration import of_seconds
from controller.api.podsets import PodSet, ScaleStrategy, UpdateStrategy
from controller.api.quantity import scaled_down, scaled_up
from controller.api.workloads import Pod


class Moves(msgspec.Struct, frozen=True):
    """How many pods of each revision to make, and which to delete."""

    old: int = 0
    new: int = 0
    deleted: tuple[Pod, ...] = ()


class Clones:
    """One pass's view of a CloneSet and its pods that are not terminating."""

    def __init__(self, pod_set: PodSet, pods: Sequence[Pod], update: str, now: datetime) -> None:
        spec = pod_set.spec
        strategy = msgspec.json.decode(spec.update_strategy, type=UpdateStrategy)
        scale = msgspec.json.decode(spec.scale_strategy, type=ScaleStrategy)
        self._replicas = 1 if spec.replicas is None else spec.replicas
        self._partition = min(self._replicas, scaled_up(strategy.partition or 0, self._replicas))
        paused = strategy.paused or False
        self._paused = paused
        self._surge = 0 if paused else scaled_up(strategy.max_surge or 0, self._replicas)
        limit = "20%" if strategy.max_unavailable is None else strategy.max_unavailable
        scaled = scaled_down if self._surge else scaled_up
        self._limit = scaled(limit, self._replicas)
        growth = scale.max_unavailable
        self._growth = sys.maxsize if growth is None else scaled_up(growth, self._replicas)
        self._wait = of_seconds(spec.min_ready_seconds or 0)
        self._now = now
        self._pods = list(pods)
        self._old = [pod for pod in pods if pod.revision != update]
        self._new = [pod for pod in pods if pod.revision == update]
        self._named = [pod for pod in pods if pod.metadata.name in scale.pods_to_delete]

    def moves(self) -> Moves:
        """The moves of this pass."""
        surge, of_old = self._surge_in_use()
        total = self._replicas + surge
        missing = total - len(self._pods)
        if missing > 0:
            old = min(missing, max(0, self._partition + of_old - len(self._old)))
            made = min(missing, max(0, self._growth - self._all_unavailable))
            return Moves(old=min(old, made), new=max(0, made - old))
        going = self._may_go(self._named)
        if not going:
            beyond = len(self._pods) - len(self._named) - total
            going = self._may_go(self._scaled_in(beyond, self._partition + of_old))
        return Moves(deleted=tuple(going or self._replaced()))

    def _surge_in_use(self) -> tuple[int, int]:
        """How many pods there may be beyond replicas, and how many of them are of the old revision."""
        spare = max(0, self._unavailable + len(self._named) - self._limit)
        for_named = min(spare, len(self._named))
        for_update = min(self._to_leave, self._to_come)
        if for_named < for_update:
            return min(self._surge, for_update), 0
        used = min(self._surge, for_named)
        new_named = sum(pod in self._new for pod in self._named)
        return used, min(used, max(0, for_named - new_named))

    @property
    def _all_unavailable(self) -> int:
        return sum(not self._available(pod) for pod in self._pods)

    @property
    def _to_leave(self) -> int:
        return max(0, len(self._old) - self._partition)

    @property
    def _to_come(self) -> int:
        return max(0, self._replicas - self._partition - len(self._new))

    @property
    def _unavailable(self) -> int:
        return sum(not self._available(pod) for pod in self._pods if pod not in self._named)

    def _available(self, pod: Pod) -> bool:
        return pod.ready_since is not None and pod.ready_since + self._wait <= self._now

    def _scaled_in(self, beyond: int, old_kept: int) -> list[Pod]:
        if beyond <= 0:
            return []
        old = [pod for pod in self._old if pod not in self._named]
        from_old = min(beyond, max(0, len(old) - old_kept))
        new = [pod for pod in self._new if pod not in self._named]
        return [*_worst(old)[:from_old], *_worst(new)[: beyond - from_old]]

    def _may_go(self, pods: Sequence[Pod]) -> list[Pod]:
        """Unready ones at once, ready ones as far as enough others are available."""
        room = max(0, self._limit + len(self._pods) - self._replicas - self._unavailable)
        going = []
        for pod in pods:
            ready = pod.ready_since is not None
            if not ready or room > 0:
                going.append(pod)
                room -= ready
        return going

    def _replaced(self) -> list[Pod]:
        """Old pods that an update takes, unready ones first."""
        if self._paused:
            return []
        room = self._limit + len(self._pods) - self._replicas
        unavailable = sum(not self._available(pod) for pod in self._pods)
        taken = sum(not self._available(pod) for pod in self._new)
        going: list[Pod] = []
        for pod in _worst(self._old)[: min(self._to_leave, self._to_come)]:
            if taken + len(going) >= room:
                break
            if self._available(pod):
                if unavailable >= room:
                    break
                unavailable += 1
            going.append(pod)
        return going


def _worst(pods: Sequence[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: (pod.ready_since is not None, pod.metadata.name))
