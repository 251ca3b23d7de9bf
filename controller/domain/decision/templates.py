"""Facts about the pod template of the workload."""

import msgspec

from controller.api.meta import Key
from controller.api.workload_kinds import KindName
from controller.api.workloads import ReplicaSet
from controller.domain.decision.value import Value


class RevertTemplate(Value, frozen=True, tag=True):
    """The workload has the template that a ReplicaSet, or a ControllerRevision, keeps; held as admission would.

    `template` is the template itself (JSON), where it is kept in the Rollout's status alone.
    """

    kind: KindName
    workload: Key
    generation: int
    source: Key
    replica_sets: tuple[ReplicaSet, ...] = ()
    template: str = ""


class WriteTemplate(Value, frozen=True, tag=True):
    """A set of pods has the template that a ControllerRevision keeps, and this update strategy (raw JSON); no release
    begins by it.
    """

    kind: KindName
    workload: Key
    generation: int
    source: Key
    strategy: msgspec.Raw


class StampTemplate(Value, frozen=True, tag=True):
    """The pod template says which content it is released for (empty: nothing); held as admission would hold it."""

    kind: KindName
    workload: Key
    generation: int
    stamp: str
    replica_sets: tuple[ReplicaSet, ...] = ()
