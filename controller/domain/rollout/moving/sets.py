"""The common part of all mechanisms for sets of pods: the owner's strategy, the first move, the restore.

A set is held by its update strategy alone. So the admission pause is only a mark here: no pod was moved since
admission. Invariant: the strategy that we write is always the owner's own with our part in it.
"""

import msgspec

from controller.api.jsontree import JsonObject, same
from controller.api.names import ADMISSION_PAUSE
from controller.api.podsets import UpdateStrategy
from controller.api.quantity import scaled_down
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Pod
from controller.domain import reasons
from controller.domain.decision import (
    POD,
    Action,
    DeleteObject,
    FieldOfSpec,
    MoveWorkload,
    Refusal,
    ReleaseWorkload,
    deletion,
    field_of_spec,
)
from controller.domain.pods.partition import kept_old, with_pause_field
from controller.domain.pods.readiness import Readiness
from controller.domain.pods.running import name_on_pods
from controller.domain.rollout.moving.deployments import marks_to_remove
from controller.domain.rollout.moving.mechanism import Mechanism
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop

UPDATE_STRATEGY = "updateStrategy"


def owners_strategy(release: Release) -> JsonObject:
    """The owner's own update strategy; empty when there is none."""
    saved = release.owners_values.strategy
    return msgspec.json.decode(saved, type=JsonObject | None) or {} if saved is not None else {}


def owners_limits(release: Release) -> UpdateStrategy:
    """The owner's own update strategy, decoded."""
    return msgspec.convert(owners_strategy(release), UpdateStrategy)


def live_strategy(release: Release) -> JsonObject:
    """The update strategy in force."""
    found: JsonObject | None = msgspec.json.decode(release.pod_set.spec.update_strategy)
    return found or {}


def set_strategy(
    release: Release, strategy: JsonObject, fields: tuple[FieldOfSpec, ...] = ()
) -> tuple[Action, ...]:
    """Write an update strategy and these fields, and end the admission pause; no action if all is so already."""
    if not release.admission_paused and not fields and same(strategy, live_strategy(release)):
        return ()
    return (
        MoveWorkload(
            kind=release.kind_name,
            workload=release.workload_key,
            generation=release.meta.generation,
            fields=(field_of_spec(UPDATE_STRATEGY, strategy), *fields),
            admission_pause=release.meta.annotations.get(ADMISSION_PAUSE, ""),
        ),
    )


def blocked_set(release: Release) -> Stop | None:
    """The set cannot be moved now: its owner paused it, or its controller has not caught up."""
    own = owners_limits(release)
    rolling = own.rolling_update
    if own.paused or (rolling is not None and rolling.paused):
        problem = Refusal(
            reason=reasons.PAUSED_BY_OWNER,
            message=f"{release.workload_name} is paused in spec.updateStrategy by its owner: set paused to false to go "
            "on",
            object=release.workload_name,
        )
        return release.stop(problem=problem)
    return None if release.observed else release.stop()


def _restored_strategy(release: Release) -> tuple[FieldOfSpec, ...]:
    """The owner's own strategy, where it is not restored yet."""
    record = release.values_to_restore
    if record is None:
        return ()
    strategy = owners_strategy(release)
    adapted = with_pause_field(release.workload.kind, strategy)
    if same(adapted, strategy):
        return (FieldOfSpec(UPDATE_STRATEGY, record.values.strategy),)
    return (field_of_spec(UPDATE_STRATEGY, adapted),)


class Sets(Mechanism):
    """Answers that are the same for all kinds."""

    def release(self, release: Release, *, keep_mark: bool, drop_label: bool = False) -> Action:
        """Restore the owner's update strategy, with the pause field that clients of the original read."""
        annotations, labels = marks_to_remove(release, keep_mark=keep_mark, drop_label=drop_label)
        return ReleaseWorkload(
            kind=release.kind_name,
            workload=release.workload_key,
            generation=release.meta.generation,
            annotations=annotations,
            labels=labels,
            fields=(*_restored_strategy(release), *self.owners_fields(release)),
        )

    def promoted(self, release: Release) -> Stop | None:
        """All pods that the owner wants updated have the template, and as many are ready as the owner asks for."""
        counted = release.ready(release.promoted_pods)
        if release.observed and _whole(release, counted):
            return None
        blocked = blocked_set(release)
        problem = blocked.problem if blocked is not None else None
        return release.stop(problem=problem, wake_at=counted.next_at)


def _whole(release: Release, counted: Readiness) -> bool:
    own = owners_limits(release)
    if own.type == "OnDelete":
        # Its owner deletes the pods later.
        return True
    rolling = own.rolling_update
    partition = own.partition or (rolling.partition if rolling is not None else None) or 0
    wanted = release.replicas - kept_old(partition, release.replicas)
    return counted.pods >= wanted and counted.ready >= wanted - most_unavailable_pods(release)


def most_unavailable_pods(release: Release) -> int:
    """The owner's maxUnavailable in pods; 0 where there is none."""
    own = owners_limits(release)
    rolling = own.rolling_update
    limit = own.max_unavailable or (rolling.max_unavailable if rolling is not None else None)
    return scaled_down(limit, release.replicas)


def make_way(release: Release) -> Stop | None:
    """Delete pods of an abandoned revision that block another one, and wait until they are gone.

    A StatefulSet replaces ready pods first, in its own order; unready ones would block it for ever, so they are
    deleted. A CloneSet chooses freely, so all of them are deleted; else a step could replace every stable pod instead.
    But pods of the revision that a CloneSet calls its current one stay: the CloneSet would replace a deleted pod by
    one of the same revision, for ever.
    """
    blocked = blocked_set(release)
    if blocked is not None:
        return blocked
    keep = frozenset((release.ours.stable_revision, release.new_revision))
    everything = release.workload.kind is WorkloadKind.CLONE_SET
    if everything:
        keep |= {name_on_pods(WorkloadKind.CLONE_SET, release.pod_set.status.current_revision)}
    if not everything and release.workload.kind is not WorkloadKind.STATEFUL_SET:
        return None
    actions = delete_pods(release, keep, unready_only=not everything)
    leaving = any(
        pod.revision not in keep and pod.metadata.deleting for pod in release.workload.pods
    )
    return release.stop(*actions) if actions or leaving else None


def delete_pods(
    release: Release, revisions: frozenset[str], *, unready_only: bool
) -> tuple[Action, ...]:
    """Delete the pods that are of none of these revisions.

    A pod that is unready because it is updated in place is on its way to another revision already.
    """
    return tuple(
        deletion_of(pod)
        for pod in alive_pods(release)
        if pod.revision not in revisions
        and not (unready_only and (pod.ready_since is not None or pod.updated_in_place))
    )


def unstable_pods_to_delete(release: Release, stable: str) -> tuple[DeleteObject, ...]:
    """Pods that did not return from zero replicas as stable ones: unready ones at once, the others one after another.

    One after another means: the next ready pod is deleted when all wanted pods exist and are ready again.
    """
    alive = alive_pods(release)
    wrong = [pod for pod in alive if pod.revision != stable]
    unready = [pod for pod in wrong if pod.ready_since is None]
    whole = len(alive) >= release.replicas and all(pod.ready_since is not None for pod in alive)
    return tuple(map(deletion_of, unready or (wrong[-1:] if whole else ())))


def alive_pods(release: Release) -> list[Pod]:
    """The workload's pods without those that are being deleted."""
    return [pod for pod in release.workload.pods if not pod.metadata.deleting]


def deletion_of(pod: Pod) -> DeleteObject:
    """Delete exactly this pod, not another one that has its name later."""
    return deletion(POD, pod.metadata)
