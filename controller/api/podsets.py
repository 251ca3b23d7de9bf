"""StatefulSets, DaemonSets, CloneSets and their like: workloads whose pods belong to them directly.

Why one wire type: they differ in the place of the partition and in their counters, not in the other fields that are
read. Invariant: the update strategy is kept as the bytes the API server sent, because it belongs to the owner and is
restored unchanged; a field that a kind does not have is its default here.
"""

import msgspec

from controller.api.meta import ObjectMeta
from controller.api.names import KEPT_FOR
from controller.api.quantity import IntOrPercent
from controller.api.workloads import StatusCondition, template_hash


class RollingUpdateOfSet(msgspec.Struct, frozen=True, rename="camel"):
    """`updateStrategy.rollingUpdate` of all kinds but CloneSet."""

    partition: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None
    paused: bool | None = None
    min_ready_seconds: int | None = None
    unordered_update: dict[str, msgspec.Raw] | None = None


class UpdateStrategy(msgspec.Struct, frozen=True, rename="camel"):
    """`spec.updateStrategy`; CloneSet has the rolling update limits here, the other kinds one level deeper."""

    type: str = ""
    partition: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None
    max_surge: IntOrPercent | None = None
    paused: bool | None = None
    rolling_update: RollingUpdateOfSet | None = None


class ScaleStrategy(msgspec.Struct, frozen=True, rename="camel"):
    """`spec.scaleStrategy` of a CloneSet: pods it should delete first, and how many may be missing while it grows."""

    pods_to_delete: tuple[str, ...] = ()
    max_unavailable: IntOrPercent | None = None


class Ordinals(msgspec.Struct, frozen=True):
    """Where a StatefulSet begins to count its pods."""

    start: int = 0


class PodSetSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The spec of a set of pods; `selector`, `template` and the two strategies are raw JSON."""

    replicas: int | None = None
    selector: msgspec.Raw = msgspec.Raw(b"{}")
    template: msgspec.Raw = msgspec.Raw(b"{}")
    update_strategy: msgspec.Raw = msgspec.Raw(b"{}")
    scale_strategy: msgspec.Raw = msgspec.Raw(b"{}")
    """A CloneSet's alone."""
    min_ready_seconds: int | None = None
    ordinals: Ordinals | None = None
    revision_history_limit: int | None = None


class PodSetStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The status that the set's own controller wrote; it has revisions where the kind names them."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    updated_ready_replicas: int = 0
    ready_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    desired_number_scheduled: int = 0
    daemon_set_hash: str = ""
    conditions: tuple[StatusCondition, ...] = ()


class PodSet(msgspec.Struct, frozen=True, rename="camel"):
    """A StatefulSet, DaemonSet, CloneSet, or a kind like them."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSetSpec = PodSetSpec()
    status: PodSetStatus = PodSetStatus()

    @property
    def observed(self) -> bool:
        """Its controller has acted on the present spec."""
        return self.status.observed_generation >= self.metadata.generation


class _RevisedSpec(msgspec.Struct, frozen=True):
    template: msgspec.Raw = msgspec.Raw(b"{}")


class KeptFacts(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The facts that a ControllerRevision of ours keeps beside the template: the workload, its stable revision, and its
    owner's own values (JSON text, as in the workload's annotation)."""

    workload_uid: str = ""
    stable_revision: str = ""
    stable_template: str = ""
    """Hash of the stable template; the template itself is kept for a Deployment only."""
    owners: str = ""
    template: str = ""
    """Hash of the template that is released; of a DaemonSet only, whose templates are exchanged for a time."""


class _Revised(msgspec.Struct, frozen=True):
    spec: _RevisedSpec = _RevisedSpec()
    kept: msgspec.Raw = msgspec.Raw(b"null")
    """Ours alone; somebody else's revision may hold anything at this place."""


class ControllerRevision(msgspec.Struct, frozen=True):
    """One revision of a set of pods; of its template only the identity is kept (`slimmed`)."""

    metadata: ObjectMeta = ObjectMeta()
    revision: int = 0
    data: _Revised = _Revised()
    template_hash: str = ""
    kept: KeptFacts | None = None
    """Of a ControllerRevision of ours (`slimmed`)."""


def slimmed(found: ControllerRevision) -> ControllerRevision:
    """The revision without the fields that would fill a cache: its template, and annotations copied from its set."""
    return ControllerRevision(
        metadata=msgspec.structs.replace(found.metadata, annotations={}),
        revision=found.revision,
        template_hash=template_hash(bytes(found.data.spec.template)),
        kept=kept_facts(found),
    )


def kept_facts(found: ControllerRevision) -> KeptFacts | None:
    """The facts in a ControllerRevision of ours; None for one without our label, or of another workload."""
    workload = found.metadata.labels.get(KEPT_FOR)
    if not workload:
        return None
    try:
        facts = msgspec.json.decode(found.data.kept, type=KeptFacts)
    except msgspec.MsgspecError:
        return None
    return facts if facts.workload_uid == workload else None
