"""Facts about ReplicaSets."""

from controller.api.meta import Key
from controller.domain.decision.value import Value


class ScaleReplicaSet(Value, frozen=True, tag=True):
    """A ReplicaSet wants this number of pods; an abandoned one none.

    `marks` are the Deployment controller's annotations about the size: it writes them whenever it sizes a ReplicaSet.
    """

    replica_set: Key
    uid: str
    replicas: int
    marks: dict[str, str] = {}


class DeleteReplicaSet(Value, frozen=True, tag=True):
    """A ReplicaSet is gone, with its pods if it has any: else a workload scaled from zero would begin with it."""

    replica_set: Key
    uid: str


class FreezeReplicaSet(Value, frozen=True, tag=True):
    """No pod of a ReplicaSet counts as available."""

    replica_set: Key
    uid: str
