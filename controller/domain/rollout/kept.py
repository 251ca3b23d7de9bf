"""The ControllerRevision that a release keeps, where only the controller writes; the Rollout owns it.

Why: more people may write the status than the workload, so nothing goes from the status into the workload. Kept are the
stable revision, the template of a Deployment (somebody may delete the only ReplicaSet that has it), and the owner's own
values (somebody may replace the workload while no webhook answers). Kubernetes' own controllers of sets of pods claim
no revision that has another controller. Invariant: asked for before the first move, dropped with the end of the
release; no other action waits for either; a status that contradicts it is corrected from it.
"""

from msgspec import structs

from controller.api.meta import Key, OwnerReference
from controller.api.names import KEPT_INFIX, ORIGINAL_STRATEGY, V1BETA1
from controller.api.podsets import KeptFacts
from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import MAX_NAME, ReplicaSet, safe_hash
from controller.domain import reasons
from controller.domain.decision import Action, DropKept, KeepRelease, Note, Severity
from controller.domain.observation import KeptSeen
from controller.domain.rollout import messages
from controller.domain.rollout.finalising import Goal
from controller.domain.rollout.release_context import (
    ReleaseContext,
    known_template,
    moonshift_status,
)
from controller.domain.rollout.status import with_canary, with_moonshift_status

EXCHANGED = (WorkloadKind.DAEMON_SET, WorkloadKind.ADVANCED_DAEMON_SET)
"""Kinds whose template may be exchanged during a release (`surplus_new_pods`)."""
GOALS_UNDER_FREEZE = ("", Goal.CONTINUOUS, Goal.SCALED_AWAY)
"""Goals under which the workload is frozen; under the others its owner's values are restored."""


def keeping(context: ReleaseContext, status: RolloutStatus) -> tuple[Action, ...]:
    """The release keeps what it needs to go back; without a release nothing is kept."""
    ours = moonshift_status(status)
    if not ours.release:
        return dropping(context)
    if context.seen.workload is None or ours.workload_uid != context.meta.uid:
        return ()
    if ours.goal not in GOALS_UNDER_FREEZE:
        return ()
    wanted = _wanted(context, status)
    source = stable_template_in(context, status)
    last = context.kept
    if last is not None and last.facts == wanted and (last.has_template or source is None):
        return tuple(_drop(context, kept) for kept in context.seen.kept if kept != last)
    return (_keep(context, wanted, source), *dropping(context))


def corrected(context: ReleaseContext) -> tuple[ReleaseContext, tuple[Note, ...]]:
    """The observation with a status that names the stable revision as the release keeps it, and has no copies that
    older versions kept in it; with notes about what is lost by that.
    """
    status = context.seen.rollout.status
    status, of_copies = _without_copies(context, status)
    status, of_stable = _with_stable_as_kept(context, status)
    status = _with_exchange_as_kept(context, status)
    if status is context.seen.rollout.status:
        return context, ()
    rollout = structs.replace(context.seen.rollout, status=status)
    seen = structs.replace(context.seen, rollout=rollout)
    return structs.replace(context, seen=seen), (*of_copies, *of_stable)


def _without_copies(
    context: ReleaseContext, status: RolloutStatus
) -> tuple[RolloutStatus, tuple[Note, ...]]:
    """Older versions kept copies in the status, and anybody may have put them there: a copy that no other object has
    is lost.
    """
    ours = moonshift_status(status)
    if not (ours.kept_template or ours.owners_record):
        return status, ()
    lost: tuple[Note, ...] = ()
    known = context.seen.workload is not None and stable_template_in(context, status) is not None
    if ours.kept_template and not known:
        lost += (_dropped("keptTemplate"),)
    if ours.owners_record and not _is_recorded(context, ours.owners_record):
        lost += (_dropped("ownersRecord"),)
    empty = structs.replace(ours, kept_template="", owners_record="")
    return structs.replace(status, moonshift=empty), lost


def _is_recorded(context: ReleaseContext, owners: str) -> bool:
    if context.seen.workload is None:
        return False
    return owners in (context.meta.annotations.get(ORIGINAL_STRATEGY), context.kept_owners)


def _dropped(field: str) -> Note:
    return Note(reasons.STATUS_MENDED, f"{messages.COPY_DROPPED}: {field}", Severity.WARNING)


def _with_stable_as_kept(
    context: ReleaseContext, status: RolloutStatus
) -> tuple[RolloutStatus, tuple[Note, ...]]:
    """The stable revision of a release under way, if the status has another one."""
    ours = moonshift_status(status)
    if not ours.release or context.seen.workload is None or context.kept is None:
        return status, ()
    facts = context.kept.facts
    known = (facts.stable_revision, facts.stable_template)
    if not facts.stable_revision or known == (ours.stable_revision, ours.stable_template):
        return status, ()
    text = f"{messages.STABLE_CORRECTED} {facts.stable_revision}, not {ours.stable_revision}"
    corrected = with_moonshift_status(
        with_canary(status, stable_revision=facts.stable_revision),
        stable_revision=facts.stable_revision,
        stable_template=facts.stable_template,
    )
    return corrected, (Note(reasons.STATUS_MENDED, text, Severity.WARNING),)


def _with_exchange_as_kept(context: ReleaseContext, status: RolloutStatus) -> RolloutStatus:
    """Only a DaemonSet under release exchanges its template, and only for the one that it released."""
    ours = moonshift_status(status)
    if not ours.template_exchange or context.seen.workload is None:
        return status
    if context.kind not in EXCHANGED or not ours.release:
        return with_moonshift_status(status, template_exchange="")
    known = context.kept.facts.template if context.kept is not None else ""
    return with_moonshift_status(status, template=known or ours.template)


def dropping(context: ReleaseContext) -> tuple[DropKept, ...]:
    """Nothing is kept any more."""
    return tuple(_drop(context, kept) for kept in context.seen.kept)


def stable_template_in(context: ReleaseContext, status: RolloutStatus) -> ReplicaSet | None:
    """The ReplicaSet of a Deployment that has the stable template."""
    if context.kind is not WorkloadKind.DEPLOYMENT:
        return None
    ours = moonshift_status(status)
    found = [
        replica_set
        for replica_set, hashed in context.workload.replica_sets
        if ours.stable_revision
        and (replica_set.revision, hashed) == (ours.stable_revision, ours.stable_template)
    ]
    return found[-1] if found else None


def _wanted(context: ReleaseContext, status: RolloutStatus) -> KeptFacts:
    ours, last = moonshift_status(status), context.kept
    owners = last.facts.owners if last is not None else ""
    recorded = context.meta.annotations.get(ORIGINAL_STRATEGY, "")
    if recorded != owners and context.owners is not None:
        owners = recorded
    released = ""
    if context.kind in EXCHANGED:
        exchanging = bool(ours.template_exchange) and last is not None
        released = last.facts.template if exchanging and last else known_template(status)
    return KeptFacts(context.meta.uid, ours.stable_revision, ours.stable_template, owners, released)


def _keep(context: ReleaseContext, wanted: KeptFacts, source: ReplicaSet | None) -> KeepRelease:
    meta = context.seen.rollout.metadata
    numbers = (kept.number for kept in context.seen.kept)
    action = KeepRelease(
        revision=Key(context.namespace, _name(context, wanted)),
        rollout=OwnerReference(V1BETA1, "Rollout", meta.name, meta.uid, controller=True),
        number=max(numbers, default=0) + 1,
        facts=wanted,
    )
    if source is not None:
        return structs.replace(action, template=source.spec.template)
    earlier = _with_template(context, wanted.stable_template)
    if earlier is None:
        return action
    return structs.replace(action, source=Key(context.namespace, earlier.name))


def _with_template(context: ReleaseContext, template: str) -> KeptSeen | None:
    found = (k for k in context.seen.kept if k.has_template and k.template_hash == template)
    return next(found, None)


def _name(context: ReleaseContext, wanted: KeptFacts) -> str:
    """`<workload>-kept-<hash>`: repeating the write gives the same name, other content another one."""
    parts = (context.seen.rollout.metadata.uid, *structs.astuple(wanted))
    end = f"{KEPT_INFIX}{safe_hash(repr(parts).encode(), 16)}"
    return context.workload_key.name[: MAX_NAME - len(end)].rstrip(".-") + end


def _drop(context: ReleaseContext, kept: KeptSeen) -> DropKept:
    return DropKept(Key(context.namespace, kept.name), kept.uid)
