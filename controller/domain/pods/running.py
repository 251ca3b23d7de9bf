"""The size of a workload of any kind, its running revisions, and the present one of them.

Why: a Deployment keeps its revisions in ReplicaSets, a set of pods in ControllerRevisions and in its status; the
decisions of a release must not depend on that difference. Invariant: revisions are named as the pods' label names them,
so that a Service can be pinned by the name; a template that is not known has an empty hash, never a wrong one.
"""

from collections import Counter

import msgspec

from controller.api.meta import ObjectMeta
from controller.api.names import CONTROLLER_REVISION_HASH as HASH
from controller.api.podsets import PodSet, UpdateStrategy
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Deployment
from controller.domain.observation import WorkloadSeen
from controller.domain.pods.marks import OwnersRecord


class Running(msgspec.Struct, frozen=True):
    """A revision with pods: its name, the hash of its template (empty if it is not known), and the number of pods that
    it wants."""

    name: str
    template_hash: str
    size: int


def size_of(seen: WorkloadSeen) -> int:
    """The number of pods that the workload wants in all."""
    if isinstance(seen.object, Deployment):
        return seen.object.spec.replicas
    if not seen.kind.has_replicas:
        return seen.object.status.desired_number_scheduled
    replicas = seen.object.spec.replicas
    return 1 if replicas is None else replicas


def min_ready_seconds(pod_set: PodSet) -> int:
    """The seconds for which a pod must be ready before it counts; an Advanced StatefulSet has them in its strategy."""
    if pod_set.spec.min_ready_seconds is not None:
        return pod_set.spec.min_ready_seconds
    rolling = update_strategy(pod_set).rolling_update
    return (rolling.min_ready_seconds or 0) if rolling is not None else 0


def update_strategy(pod_set: PodSet) -> UpdateStrategy:
    """The update strategy, decoded."""
    found = msgspec.json.decode(pod_set.spec.update_strategy, type=UpdateStrategy | None)
    return found or UpdateStrategy()


def revision_name(kind: WorkloadKind, meta: ObjectMeta) -> str:
    """The label value of a ControllerRevision's pods."""
    return name_on_pods(kind, meta.name) if kind.has_replicas else meta.labels.get(HASH, "")


def name_on_pods(kind: WorkloadKind, name: str) -> str:
    """A revision's name in a status, as the pods' label spells it."""
    if kind in (WorkloadKind.CLONE_SET, WorkloadKind.ADVANCED_DAEMON_SET):
        return name.rpartition("-")[2]
    return name


def present_revision(seen: WorkloadSeen) -> str:
    """The revision of the workload's present template; empty before there is one."""
    if isinstance(seen.object, Deployment):
        made = [rs for rs, hashed in seen.replica_sets if hashed == seen.template_hash]
        return made[-1].revision if made else ""
    name = seen.object.status.daemon_set_hash or seen.object.status.update_revision
    if name and seen.object.observed:
        return name_on_pods(seen.kind, name)
    known = [r.name for r in seen.revisions if r.template_hash == seen.template_hash]
    return known[-1] if known else ""


def running_revisions(seen: WorkloadSeen) -> tuple[Running, ...]:
    """All revisions that have pods or want some, oldest first where their order is known."""
    if isinstance(seen.object, Deployment):
        return tuple(
            Running(rs.revision, hashed, rs.spec.replicas)
            for rs, hashed in seen.replica_sets
            if rs.active
        )
    sizes = Counter(pod.revision for pod in seen.pods if not pod.metadata.deleting)
    order = {revision.name: at for at, revision in enumerate(seen.revisions)}
    names = sorted(sizes, key=lambda name: (order.get(name, len(order)), name))
    return tuple(Running(name, template_of(seen, name), sizes[name]) for name in names)


def template_of(seen: WorkloadSeen, revision: str) -> str:
    """Hash of a revision's template; empty when it is not known."""
    if revision and revision == present_revision(seen):
        return seen.template_hash
    of_sets = {rs.revision: hashed for rs, hashed in seen.replica_sets}
    return of_sets.get(revision) or next(
        (r.template_hash for r in seen.revisions if r.name == revision), ""
    )


def stable_of_set(seen: WorkloadSeen, record: OwnersRecord | None) -> tuple[str, str]:
    """Revision and template hash of the pods that ran when a release of a set of pods was admitted.

    A set in the middle of another update has two revisions. Its own controller creates the one that it calls current
    whenever it replaces a held pod, so that one is stable.
    """
    kept = (record.stable_template or "") if record is not None else ""
    named = (record.stable_revision if record is not None else "") or next(
        (r.name for r in reversed(seen.revisions) if kept and r.template_hash == kept), ""
    )
    current = name_on_pods(seen.kind, seen.pod_set.status.current_revision)
    revision = named or current or _largest_other_revision(seen)
    return revision, template_of(seen, revision) or kept


def returns_by_itself(seen: WorkloadSeen, revision: str) -> bool:
    """The set's own controller creates pods of this revision again: it is its current one."""
    if isinstance(seen.object, Deployment):
        return False
    current = name_on_pods(seen.kind, seen.pod_set.status.current_revision)
    return bool(revision) and revision == current


def _largest_other_revision(seen: WorkloadSeen) -> str:
    """The revision with the most pods beside the present one; empty if no other revision has pods."""
    present = present_revision(seen)
    others = [running for running in running_revisions(seen) if running.name != present]
    return max(others, key=lambda running: running.size).name if others else ""
