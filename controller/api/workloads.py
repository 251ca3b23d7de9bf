"""Deployments, ReplicaSets and pods, in the part Moonshift reads; other workloads are in `podsets`.

Invariant: a template is kept as the bytes the API server sent and compared by `template_hash`, which ignores the
additions of the workloads' own controllers (the pod-template-hash label, a patch directive), nulls and empty maps, and
nothing else.
"""

import hashlib
import re
from datetime import datetime

import msgspec

from controller.api.jsontree import JsonObject
from controller.api.meta import ObjectMeta
from controller.api.names import CONTROLLER_REVISION_HASH, IN_PROGRESSING, POD_TEMPLATE_HASH
from controller.api.quantity import IntOrPercent

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
"""Kubernetes' annotation on pods: of two pods that may go, the cheaper one goes."""
_SAFE = "bcdfghjklmnpqrstvwxz2456789"
"""The alphabet of Kubernetes' safe-encoded names: no vowels, no look-alikes."""


def safe_hash(data: bytes, length: int = 10) -> str:
    """SHA-256 of `data` as `length` characters that are valid in labels and names."""
    digest = hashlib.sha256(data).digest()
    return "".join(_SAFE[byte % len(_SAFE)] for byte in digest[:length])


MAX_NAME = 253
"""Characters of an object's name."""
MAX_LABEL = 63
"""Characters of a label's value."""
_LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?", re.ASCII)


def label_value(name: str) -> str:
    """An object's name as the value of a label: the name itself, or its beginning and a hash if it is too long."""
    if len(name) <= MAX_LABEL:
        return name
    return f"{name[: MAX_LABEL - 11].rstrip('.-')}-{safe_hash(name.encode())}"


def is_label_value(text: str) -> bool:
    """The API server accepts this text as the value of a label."""
    return len(text) <= MAX_LABEL and _LABEL.fullmatch(text) is not None


def _meaningful(value: object) -> object:
    """`value` without nulls and empty containers, recursively: the API server treats both as absent."""
    if isinstance(value, dict):
        kept = {key: _meaningful(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in (None, {}, [])}
    if isinstance(value, list):
        return [_meaningful(item) for item in value]
    return value


def template_hash(template: bytes) -> str:
    """Identity of a pod template (raw JSON), the same for a workload and the revisions made from it."""
    found = msgspec.json.decode(template or b"{}")
    # a ControllerRevision of somebody else's controller holds anything at that place
    decoded: JsonObject = found if isinstance(found, dict) else {}
    decoded.pop("$patch", None)  # in ControllerRevisions, which are patches
    metadata = decoded.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    if isinstance(labels, dict):
        labels.pop(POD_TEMPLATE_HASH, None)
    return safe_hash(msgspec.json.encode(_meaningful(decoded), order="sorted"))


class RollingUpdate(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The two rolling update limits of a Deployment."""

    max_surge: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None


class DeploymentStrategy(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`spec.strategy` of a Deployment."""

    type: str = ""
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The spec of a Deployment; `selector` and `template` are raw JSON."""

    replicas: int = 1
    selector: msgspec.Raw = msgspec.Raw(b"{}")
    template: msgspec.Raw = msgspec.Raw(b"{}")
    strategy: DeploymentStrategy = DeploymentStrategy()
    min_ready_seconds: int = 0
    progress_deadline_seconds: int | None = None
    revision_history_limit: int | None = None
    paused: bool = False


class StatusCondition(msgspec.Struct, frozen=True, rename="camel"):
    """A condition of a workload or a pod."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class DeploymentStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The status that the Deployment controller wrote; `observed_generation` is the generation of the spec it saw."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    conditions: tuple[StatusCondition, ...] = ()


class FieldsEntry(msgspec.Struct, frozen=True):
    """A field manager: the owner of some fields of an object."""

    manager: str = ""


class DeploymentMeta(ObjectMeta, frozen=True, rename="camel"):
    """Metadata, with who owns fields while a release marks the Deployment (`slimmed_deployment`)."""

    managed_fields: tuple[FieldsEntry, ...] = ()


class Deployment(msgspec.Struct, frozen=True, rename="camel"):
    """A Deployment."""

    metadata: DeploymentMeta = DeploymentMeta()
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def observed(self) -> bool:
        """The Deployment controller has acted on the present spec."""
        return self.status.observed_generation >= self.metadata.generation


class ReplicaSetSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The spec of a ReplicaSet; `template` is raw JSON."""

    replicas: int = 1
    template: msgspec.Raw = msgspec.Raw(b"{}")
    min_ready_seconds: int = 0


class ReplicaSetStatus(msgspec.Struct, frozen=True, rename="camel"):
    """Counters of a ReplicaSet."""

    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    conditions: tuple[StatusCondition, ...] = ()


class ReplicaSet(msgspec.Struct, frozen=True, rename="camel"):
    """A ReplicaSet: one revision of a Deployment."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()

    @property
    def revision(self) -> str:
        """Its pod-template-hash, which its pods carry too."""
        return self.metadata.labels.get(POD_TEMPLATE_HASH, "")

    @property
    def active(self) -> bool:
        """Wants pods and is not being deleted."""
        return self.spec.replicas > 0 and not self.metadata.deleting


class Waiting(msgspec.Struct, frozen=True):
    """Why a container does not run yet, or does not run again."""

    reason: str = ""
    message: str = ""


class Terminated(msgspec.Struct, frozen=True, rename="camel"):
    """How a container ended."""

    reason: str = ""
    message: str = ""
    exit_code: int = 0


class ContainerState(msgspec.Struct, frozen=True):
    """Where a container is; at most one is given."""

    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(msgspec.Struct, frozen=True, rename="camel"):
    """A container of a pod that is not ready."""

    name: str = ""
    image: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


IN_PLACE_UPDATE_READY = "InPlaceUpdateReady"
"""Readiness gate of OpenKruise's pods: closed before a container's image is changed, opened after it."""


class PodStatus(msgspec.Struct, frozen=True, rename="camel"):
    """Phase and conditions of a pod; while it is not ready, also the reasons its containers wait (`slimmed_pod`)."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[StatusCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(msgspec.Struct, frozen=True, rename="camel"):
    """A pod: which revision it is of, and since when it is ready."""

    metadata: ObjectMeta = ObjectMeta()
    status: PodStatus = PodStatus()

    @property
    def revision(self) -> str:
        """The revision it was made of, in the words of the controller that made it.

        The pod-template-hash comes first: pods of a Deployment that the original released carry both.
        """
        labels = self.metadata.labels
        return labels.get(POD_TEMPLATE_HASH) or labels.get(CONTROLLER_REVISION_HASH, "")

    @property
    def ready_since(self) -> datetime | None:
        """When it became ready, or None while it is not ready, is terminating, or is being updated in place.

        OpenKruise closes its gate and then changes the containers. A kubelet that has not seen the gate yet can still
        write `Ready`: then the pod has the new revision's label, and its containers are the old ones.
        """
        if self.metadata.deleting or self._gate_is_closed:
            return None
        ready = self._condition("Ready")
        if ready is None or ready.status != "True":
            return None
        return ready.last_transition_time or self.metadata.creation_timestamp

    @property
    def ended(self) -> bool:
        """It will never run again, and its controller counts it no more: it was evicted, say, or its node shut down.

        The object stays for a long time: neither a ReplicaSet nor a CloneSet deletes it.
        """
        return self.status.phase in ("Failed", "Succeeded")

    @property
    def updated_in_place(self) -> bool:
        """Whether its controller is about to change its containers: they run, and only OpenKruise's gate is closed."""
        containers = self.status.container_statuses
        running = bool(containers) and all(container.ready for container in containers)
        return self._gate_is_closed and running

    @property
    def _gate_is_closed(self) -> bool:
        gate = self._condition(IN_PLACE_UPDATE_READY)
        return gate is not None and gate.status == "False"

    def _condition(self, name: str) -> StatusCondition | None:
        for condition in self.status.conditions:
            if condition.type == name:
                return condition
        return None


def slimmed_deployment(found: Deployment) -> Deployment:
    """The Deployment with bytes of its own: a view's raw fields keep the whole message that they were read from.

    The owners of its fields are read at the end of a release only.
    """
    selector, template = found.spec.selector.copy(), found.spec.template.copy()
    spec = msgspec.structs.replace(found.spec, selector=selector, template=template)
    metadata = found.metadata
    if IN_PROGRESSING not in metadata.annotations:
        metadata = msgspec.structs.replace(metadata, managed_fields=())
    return msgspec.structs.replace(found, metadata=metadata, spec=spec)


def slimmed_replica_set(found: ReplicaSet) -> ReplicaSet:
    """The ReplicaSet with bytes of its own, as of a Deployment."""
    spec = msgspec.structs.replace(found.spec, template=found.spec.template.copy())
    return msgspec.structs.replace(found, spec=spec)


def slimmed_pod(found: Pod) -> Pod:
    """The pod without the fields that nobody reads of a ready pod: a cache holds thousands of ready pods."""
    if found.ready_since is None:
        return found
    status = found.status
    ready = tuple(c for c in status.conditions if c.type == "Ready")
    annotations = {n: v for n, v in found.metadata.annotations.items() if n == DELETION_COST}
    return Pod(
        metadata=msgspec.structs.replace(found.metadata, annotations=annotations),
        status=PodStatus(phase=status.phase, conditions=ready),
    )
