"""Facts about pod templates: of the workload, its ReplicaSets and the extra Deployment, and why no pod comes of one."""

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


class RebuildReplicaSet(Value, frozen=True, tag=True):
    """A Deployment has a ReplicaSet of its stable revision again, without pods, from the template that is kept.

    `selector` is the Deployment's (raw JSON), `number` the revision's number among the Deployment's revisions, `source`
    the ControllerRevision of ours.
    """

    replica_set: Key
    deployment: OwnerReference
    selector: msgspec.Raw
    revision: str
    number: int
    min_ready_seconds: int
    source: Key


class FreezeReplicaSet(Value, frozen=True, tag=True):
    """No pod of a ReplicaSet counts as available."""

    replica_set: Key
    uid: str


class EnsureCanaryDeployment(Value, frozen=True, tag=True):
    """An extra Deployment of the new template exists; `body` is its manifest."""

    deployment: Key
    body: msgspec.Raw


class RehearseObjects(Value, frozen=True, tag=True):
    """The API server accepts these manifests, of objects that the release makes later; nothing is written."""

    namespace: str
    deployments: tuple[msgspec.Raw, ...] = ()
    services: tuple[msgspec.Raw, ...] = ()


class FindCauseOfMissingPods(Value, frozen=True, tag=True):
    """Find out from Events why the pods of this set are not created; `counts` begins the sentence."""

    workload: Key
    uid: str
    counts: str
