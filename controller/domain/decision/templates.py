"""Facts about the pod template of the workload."""

import msgspec

from controller.api.meta import Key, OwnerReference
from controller.api.podsets import KeptFacts
from controller.api.workload_kinds import KindName
from controller.api.workloads import ReplicaSet
from controller.domain.decision.value import Value


class RevertTemplate(Value, frozen=True, tag=True):
    """The workload has the template that a ReplicaSet, or a ControllerRevision, keeps; held as admission would.

    `template` is the hash that the template has to have (empty: not known). `kept`: the source is a ControllerRevision
    of ours.
    """

    kind: KindName
    workload: Key
    generation: int
    source: Key
    replica_sets: tuple[ReplicaSet, ...] = ()
    template: str = ""
    kept: bool = False


class KeepRelease(Value, frozen=True, tag=True):
    """A ControllerRevision of ours keeps these facts, and the stable template of a Deployment.

    `template` is that template (JSON); empty: `source`, an earlier ControllerRevision of ours, has it, or none is kept.
    """

    revision: Key
    rollout: OwnerReference
    number: int
    facts: KeptFacts
    template: msgspec.Raw = msgspec.Raw(b"")
    source: Key | None = None


class DropKept(Value, frozen=True, tag=True):
    """A ControllerRevision of ours that no release needs is gone."""

    revision: Key
    uid: str


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
