"""What all ways of moving a set of pods have in common: its owner's strategy, the first move, the way back.

A set is held by its update strategy alone, so the latch is a mark here and nothing more: it says that nothing was moved
since admission. Invariant: the strategy we write is always the owner's own with our part in it.
"""

import msgspec

from controller.api.jsontree import JsonObject, same
from controller.api.names import LATCH
from controller.api.podsets import UpdateStrategy
from controller.api.quantity import scaled_down
from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.decision import (
    Action,
    DeletePod,
    FieldOfSpec,
    MoveSet,
    Refusal,
    ReleaseSet,
)
from controller.domain.pods.partition import kept_old
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.moving.deployments import marks_to_remove
from controller.domain.rollout.situation import Situation, position
from controller.domain.rollout.turn import Stop


def owners_strategy(sit: Situation) -> JsonObject:
    """The owner's own update strategy; empty when they wrote none."""
    saved = sit.owners_values.strategy
    return msgspec.json.decode(saved, type=JsonObject | None) or {} if saved is not None else {}


def owners_limits(sit: Situation) -> UpdateStrategy:
    """The same, read."""
    return msgspec.convert(owners_strategy(sit), UpdateStrategy)


def live_strategy(sit: Situation) -> JsonObject:
    """The update strategy in force."""
    found: JsonObject | None = msgspec.json.decode(sit.pod_set.spec.update_strategy)
    return found or {}


def set_strategy(
    sit: Situation, strategy: JsonObject, fields: tuple[FieldOfSpec, ...] = ()
) -> tuple[Action, ...]:
    """Write an update strategy and these fields, and take the latch off; nothing when all is so already."""
    if not sit.latched and not fields and same(strategy, live_strategy(sit)):
        return ()
    return (
        MoveSet(
            kind=sit.kind_name,
            workload=sit.workload_key,
            generation=sit.meta.generation,
            strategy=msgspec.Raw(msgspec.json.encode(strategy)),
            latch=sit.meta.annotations.get(LATCH, ""),
            fields=fields,
        ),
    )


def blocked_set(sit: Situation, status: RolloutStatus) -> Stop | None:
    """The set cannot be moved now: its owner paused it, or its controller has not caught up."""
    own = owners_limits(sit)
    rolling = own.rolling_update
    if own.paused or (rolling is not None and rolling.paused):
        problem = Refusal(
            reason=reasons.PAUSED_BY_OWNER,
            message=f"{sit.workload_name} is paused in spec.updateStrategy by its owner: set paused to false to go on",
            object=sit.workload_name,
        )
        return Stop(status=status, problem=problem)
    return None if sit.observed else Stop(status=status)


class Sets:
    """What does not differ between the kinds."""

    def only_stable_returns(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """Nothing: a set of no pods is of its newest revision, says its own controller."""
        return None

    def returned_as_new(self, sit: Situation, status: RolloutStatus) -> bool:
        """Not told from another case."""
        return False

    def bring_stable_back(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """Nothing."""
        return None

    def send_new_away(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """Nothing."""
        return None

    def regrow(self, sit: Situation, index: int) -> tuple[Action, ...]:
        """Nothing: the set's own controller brings its pods back."""
        return ()

    def old_share(self, sit: Situation, status: RolloutStatus, index: int) -> Stop | None:
        """An old pod went for every new one: nothing is left to give back."""
        return None

    def refill(self, sit: Situation, stable: Readiness) -> tuple[Action, ...] | None:
        """There is no surge: the way back is the owner's own update, and the traffic follows it."""
        return set_strategy(sit, owners_strategy(sit)) if sit.latched else ()

    def fit(self, sit: Situation) -> tuple[Action, ...]:
        """Nothing: the set's own controller takes away what its owner does not ask for any more."""
        return ()

    def release(self, sit: Situation, *, keep_mark: bool, drop_label: bool = False) -> Action:
        """The update strategy as its owner has it."""
        annotations, labels = marks_to_remove(sit, keep_mark=keep_mark, drop_label=drop_label)
        record = sit.owners
        return ReleaseSet(
            kind=sit.kind_name,
            workload=sit.workload_key,
            generation=sit.meta.generation,
            owners=record.values if record is not None else None,
            annotations=annotations,
            labels=labels,
            fields=self.owners_fields(sit),
        )

    def owners_fields(self, sit: Situation) -> tuple[FieldOfSpec, ...]:
        """Other fields of the spec that are their owner's again with the strategy."""
        return ()

    def promoted(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """All pods the owner wants updated are of the template, and as many are ready as the owner asks for."""
        counted = sit.ready(sit.promoted_pods)
        if not sit.observed or not _whole(sit, counted):
            return Stop(status=status, wake_at=counted.next_at)
        return None


def _whole(sit: Situation, counted: Readiness) -> bool:
    own = owners_limits(sit)
    if own.type == "OnDelete":
        # Its owner deletes the pods, in their own time.
        return True
    rolling = own.rolling_update
    partition = own.partition or (rolling.partition if rolling is not None else None) or 0
    wanted = sit.replicas - kept_old(partition, sit.replicas)
    limit = own.max_unavailable or (rolling.max_unavailable if rolling is not None else None)
    missing = scaled_down(limit, sit.replicas)
    return counted.pods >= wanted and counted.ready >= wanted - missing


def make_way(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Delete what an abandoned revision left in the way, and wait until it is gone.

    Ready pods of a StatefulSet are replaced first by its own order; unready ones would stop it for ever, so they go. A
    CloneSet chooses freely, so there all of them go; else a step could take every stable pod instead.
    """
    blocked = blocked_set(sit, status)
    if blocked is not None:
        return blocked
    keep = frozenset((position(status).stable_revision, sit.new_revision))
    everything = sit.workload.kind is WorkloadKind.CLONE_SET
    if not everything and sit.workload.kind is not WorkloadKind.STATEFUL_SET:
        return None
    actions = delete_pods(sit, keep, unready_only=not everything)
    leaving = any(pod.revision not in keep and pod.metadata.deleting for pod in sit.workload.pods)
    return Stop(status, actions) if actions or leaving else None


def delete_pods(
    sit: Situation, revisions: frozenset[str], *, unready_only: bool
) -> tuple[Action, ...]:
    """Delete the pods that are of none of these revisions."""
    return tuple(
        DeletePod(pod.metadata.key, pod.metadata.uid)
        for pod in sit.workload.pods
        if not pod.metadata.deleting
        and pod.revision not in revisions
        and not (unready_only and pod.ready_since is not None)
    )
