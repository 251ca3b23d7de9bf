"""Facts about ReplicaSets."""

import msgspec

from controller.api.meta import Key, OwnerReference
from controller.domain.decision.value import Value


class ScaleReplicaSet(Value, frozen=True, tag=True):
    """A ReplicaSet wants this number of pods; an abandoned one none.

    `sized_for`: the ReplicaSet's marks of the Deployment's size and of that size with maxSurge, if they are written.
    """

    replica_set: Key
    uid: str
    replicas: int
    sized_for: tuple[int, int] | None = None


class DeleteReplicaSet(Value, frozen=True, tag=True):
    """A ReplicaSet is gone, with its pods if it has any: else a workload scaled from zero would begin with it."""

    replica_set: Key
    uid: str


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
