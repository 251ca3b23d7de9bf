"""Facts about one object of any kind: it is gone, it has a size, it carries a mark.

Invariant: each names its object by the UID, or by the version, that was observed; so another object of the same name,
or a change of somebody else, is never overwritten. Must not: know why the fact is wanted.
"""

from controller.api.meta import Key, ObjectMeta
from controller.api.names import V1ALPHA1
from controller.api.workload_kinds import KindName
from controller.domain.decision.value import Value

POD = KindName("v1", "Pod")
REPLICA_SET = KindName("apps/v1", "ReplicaSet")
SERVICE = KindName("v1", "Service")
CONTROLLER_REVISION = KindName("apps/v1", "ControllerRevision")
TRAFFIC_ROUTING = KindName(V1ALPHA1, "TrafficRouting")


class DeleteObject(Value, frozen=True, tag=True):
    """Exactly this object is gone; with `pods_first`, it stays until its pods are gone.

    `alone`: no other action waits for it.
    """

    kind: KindName
    object: Key
    uid: str
    pods_first: bool = False
    alone: bool = False


class SetSize(Value, frozen=True, tag=True):
    """A ReplicaSet, or the extra Deployment, wants this number of pods; an abandoned one none.

    `sized_for`: the ReplicaSet's marks of the Deployment's size and of that size with maxSurge, if they are written.
    """

    kind: KindName
    object: Key
    uid: str
    replicas: int
    sized_for: tuple[int, int] | None = None


class SetMetadata(Value, frozen=True, tag=True):
    """An object carries these labels and annotations; None removes one.

    It is named by its UID, and may be gone; or by its version, and then the pass is repeated. `finalizers` are all that
    it has then (None: they stay); with `disowned`, it has no owner.
    """

    kind: KindName
    object: Key
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str | None] = {}
    annotations: dict[str, str | None] = {}
    finalizers: tuple[str, ...] | None = None
    disowned: bool = False


def deletion(kind: KindName, found: ObjectMeta) -> DeleteObject:
    """Delete exactly this object, not another one that has its name later."""
    return DeleteObject(kind, found.key, found.uid)


def finalizers(kind: KindName, found: ObjectMeta, wanted: tuple[str, ...]) -> SetMetadata:
    """Give exactly this object these finalizers, over the version that was observed; it may be gone."""
    version = found.resource_version
    return SetMetadata(kind, found.key, found.uid, version, finalizers=wanted)


def size(kind: KindName, found: ObjectMeta, replicas: int) -> SetSize:
    """Give exactly this object a size."""
    return SetSize(kind, found.key, found.uid, replicas)
