"""A workload of a release under way that does not carry what admission put on it.

Why: a webhook may have been away when somebody replaced a manifest, took a label off or edited the hold. Without the
hold the workload's own controller goes on to the new version at once, whatever the steps say. Invariant: what was lost
is brought back before anything else is decided, and waits for nobody.
"""

from controller.api import names
from controller.api.rollout import RolloutStatus, StepState
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.decision import HoldWorkload, Refusal
from controller.domain.pods.deployment import Knobs, WrittenKnobs, latched, write_knobs
from controller.domain.pods.marks import marked_for
from controller.domain.rollout.situation import Situation, Style, position


def values_are_lost(sit: Situation, status: RolloutStatus) -> Refusal | None:
    """Nobody knows any more what the hold stands for: nothing is moved without its owner's own values to give back."""
    if sit.owners is not None or position(status).owners_record or _is_its_owners(sit):
        return None
    return Refusal(
        reasons.OWNERS_VALUES_LOST,
        f"{sit.workload_name} is held, and its annotation {names.ORIGINAL_STRATEGY} with its owner's own values is "
        "gone: write them into the workload's spec, and take off the hold (minReadySeconds) of a Deployment",
        object=sit.workload_name,
    )


def _is_its_owners(sit: Situation) -> bool:
    """A Deployment without the hold says itself what its owner wants."""
    if sit.kind is not WorkloadKind.DEPLOYMENT:
        return False
    return sit.deployment.spec.min_ready_seconds != names.HOLD_MIN_READY_SECONDS


def hold_again(sit: Situation, status: RolloutStatus) -> HoldWorkload:
    """Label, marks, hold and latch, as admission would have put them on."""
    ours = position(status)
    known = ours.release and sit.template_hash == ours.revision
    limits = _limits(sit, status) if known else None
    return HoldWorkload(
        kind=sit.kind_name,
        workload=sit.workload_key,
        generation=sit.meta.generation,
        rollout=sit.seen.rollout.metadata.name,
        release=ours.release if known else sit.release,
        record=ours.owners_record,
        stable_revision=ours.stable_revision if sit.kind is WorkloadKind.DEPLOYMENT else "",
        beside=sit.style is Style.BLUE_GREEN and sit.kind is WorkloadKind.CLONE_SET,
        max_surge=limits.max_surge if limits is not None else None,
        max_unavailable=limits.max_unavailable if limits is not None else None,
    )


def _limits(sit: Situation, status: RolloutStatus) -> WrittenKnobs | None:
    """What a Deployment settles at once the step has its pods: so what its owner's own limits added goes again."""
    ours = position(status)
    settled = ours.state in (StepState.STEP_METRICS_ANALYSIS, StepState.STEP_PAUSED)
    if sit.kind is not WorkloadKind.DEPLOYMENT or sit.style is Style.CANARY:
        return None
    if not settled or not sit.replicas:
        # Of no replicas both limits would be zero, which the API refuses.
        return None
    share = sit.batch(ours.step)
    if sit.style is Style.PARTITION:
        return write_knobs(Knobs(0, share), sit.replicas)
    return WrittenKnobs(sit.step(ours.step).replicas or 0, "0%")


def lost_its_hold(sit: Situation) -> bool:
    """The owner's record, the mark or the hold is missing; of canary style the latch, which stays to the end."""
    if sit.owners is None or not marked_for(sit.workload.object):
        return True
    if sit.kind is not WorkloadKind.DEPLOYMENT:
        return False
    return _is_its_owners(sit) or (sit.style is Style.CANARY and not latched(sit.deployment))
