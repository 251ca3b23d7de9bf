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
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import MAX_NAME, ReplicaSet, safe_hash
from controller.domain import reasons
from controller.domain.decision import (
    CONTROLLER_REVISION,
    Action,
    DeleteObject,
    KeepRelease,
    Note,
    Severity,
)
from controller.domain.observation import KeptSeen
from controller.domain.rollout.words import messages
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.release_context import known_template
from controller.domain.rollout.words.release_value import Release

EXCHANGED = (WorkloadKind.DAEMON_SET, WorkloadKind.ADVANCED_DAEMON_SET)
"""Kinds whose template may be exchanged during a release (`surplus_new_pods`)."""
GOALS_UNDER_FREEZE = ("", Goal.CONTINUOUS, Goal.SCALED_AWAY)
"""Goals under which the workload is frozen; under the others its owner's values are restored."""


def keeping(release: Release) -> tuple[Action, ...]:
    """The release keeps what it needs to go back; without a release nothing is kept."""
    ours = release.ours
    if not ours.release:
        return dropping(release)
    if release.seen.workload is None or ours.workload_uid != release.meta.uid:
        return ()
    if ours.goal not in GOALS_UNDER_FREEZE:
        return ()
    wanted = _wanted(release)
    source = stable_template_in(release)
    last = release.kept
    if last is not None and last.facts == wanted and (last.has_template or source is None):
        return tuple(_drop(release, kept) for kept in release.seen.kept if kept != last)
    return (_keep(release, wanted, source), *dropping(release))


def corrected(release: Release) -> tuple[Release, tuple[Note, ...]]:
    """The release with a stored status that names the stable revision as the release keeps it, and has no copies that
    older versions kept in it; with notes about what is lost by that.
    """
    mended, of_copies = _without_copies(release)
    mended, of_stable = _with_stable_as_kept(mended)
    mended = _with_exchange_as_kept(mended)
    if mended.status is release.status:
        return release, ()
    return mended.believed(), (*of_copies, *of_stable)


def _without_copies(release: Release) -> tuple[Release, tuple[Note, ...]]:
    """Older versions kept copies in the status, and anybody may have put them there: a copy that no other object has
    is lost.
    """
    ours = release.ours
    if not (ours.kept_template or ours.owners_record):
        return release, ()
    lost: tuple[Note, ...] = ()
    known = release.seen.workload is not None and stable_template_in(release) is not None
    if ours.kept_template and not known:
        lost += (_dropped("keptTemplate"),)
    if ours.owners_record and not _is_recorded(release, ours.owners_record):
        lost += (_dropped("ownersRecord"),)
    empty = structs.replace(ours, kept_template="", owners_record="")
    return release.reporting(moonshift=empty), lost


def _is_recorded(release: Release, owners: str) -> bool:
    if release.seen.workload is None:
        return False
    return owners in (release.meta.annotations.get(ORIGINAL_STRATEGY), release.kept_owners)


def _dropped(field: str) -> Note:
    return Note(reasons.STATUS_MENDED, f"{messages.COPY_DROPPED}: {field}", Severity.WARNING)


def _with_stable_as_kept(release: Release) -> tuple[Release, tuple[Note, ...]]:
    """The stable revision of a release under way, if the status has another one."""
    ours = release.ours
    if not ours.release or release.seen.workload is None or release.kept is None:
        return release, ()
    facts = release.kept.facts
    known = (facts.stable_revision, facts.stable_template)
    if not facts.stable_revision or known == (ours.stable_revision, ours.stable_template):
        return release, ()
    text = f"{messages.STABLE_CORRECTED} {facts.stable_revision}, not {ours.stable_revision}"
    corrected = release.showing(stable_revision=facts.stable_revision).noting(
        stable_revision=facts.stable_revision, stable_template=facts.stable_template
    )
    return corrected, (Note(reasons.STATUS_MENDED, text, Severity.WARNING),)


def _with_exchange_as_kept(release: Release) -> Release:
    """Only a DaemonSet under release exchanges its template, and only for the one that it released."""
    ours = release.ours
    if not ours.template_exchange or release.seen.workload is None:
        return release
    if release.kind not in EXCHANGED or not ours.release:
        return release.noting(template_exchange="")
    known = release.kept.facts.template if release.kept is not None else ""
    return release.noting(template=known or ours.template)


def dropping(release: Release) -> tuple[DeleteObject, ...]:
    """Nothing is kept any more."""
    return tuple(_drop(release, kept) for kept in release.seen.kept)


def stable_template_in(release: Release) -> ReplicaSet | None:
    """The ReplicaSet of a Deployment that has the stable template."""
    if release.kind is not WorkloadKind.DEPLOYMENT:
        return None
    ours = release.ours
    found = [
        replica_set
        for replica_set, hashed in release.workload.replica_sets
        if ours.stable_revision
        and (replica_set.revision, hashed) == (ours.stable_revision, ours.stable_template)
    ]
    return found[-1] if found else None


def _wanted(release: Release) -> KeptFacts:
    ours, last = release.ours, release.kept
    owners = last.facts.owners if last is not None else ""
    recorded = release.meta.annotations.get(ORIGINAL_STRATEGY, "")
    if recorded != owners and release.owners is not None:
        owners = recorded
    released = ""
    if release.kind in EXCHANGED:
        exchanging = bool(ours.template_exchange) and last is not None
        released = last.facts.template if exchanging and last else known_template(release.status)
    return KeptFacts(release.meta.uid, ours.stable_revision, ours.stable_template, owners, released)


def _keep(release: Release, wanted: KeptFacts, source: ReplicaSet | None) -> KeepRelease:
    meta = release.seen.rollout.metadata
    numbers = (kept.number for kept in release.seen.kept)
    action = KeepRelease(
        revision=Key(release.namespace, _name(release, wanted)),
        rollout=OwnerReference(V1BETA1, "Rollout", meta.name, meta.uid, controller=True),
        number=max(numbers, default=0) + 1,
        facts=wanted,
    )
    if source is not None:
        return structs.replace(action, template=source.spec.template)
    earlier = _with_template(release, wanted.stable_template)
    if earlier is None:
        return action
    return structs.replace(action, source=Key(release.namespace, earlier.name))


def _with_template(release: Release, template: str) -> KeptSeen | None:
    found = (k for k in release.seen.kept if k.has_template and k.template_hash == template)
    return next(found, None)


def _name(release: Release, wanted: KeptFacts) -> str:
    """`<workload>-kept-<hash>`: repeating the write gives the same name, other content another one."""
    parts = (release.seen.rollout.metadata.uid, *structs.astuple(wanted))
    end = f"{KEPT_INFIX}{safe_hash(repr(parts).encode(), 16)}"
    return release.workload_key.name[: MAX_NAME - len(end)].rstrip(".-") + end


def _drop(release: Release, kept: KeptSeen) -> DeleteObject:
    key = Key(release.namespace, kept.name)
    return DeleteObject(CONTROLLER_REVISION, key, kept.uid, alone=True)
