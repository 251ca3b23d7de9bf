"""Decides about an update of a Deployment under a Rollout: freeze it, pause it, keep our marks, or let it pass.

There are two means. The *availability freeze* keeps new pods from counting as available, so that the Deployment's
controller stops at the rolling update limits. The *admission pause* is `paused` with a token of ours, from admission
until our first move. Invariants:
* a change back to the stable revision is paused without the freeze, so that the stable pods count as available; so is
   the first change of a release if its template runs already. (Not in a release of blue-green: there the freeze keeps
   the new pods, which may still have all the traffic);
* during the admission pause `paused` stays true for every writer;
* changes by the owner during a release are recorded and restored at the end, never lost and never applied early;
* our marks are taken from the old object, because `kubectl rollout undo` replaces all annotations, and `kubectl
   replace` all labels too;
* the workload-type label stays while a living Rollout has a release under way, or when the same request asks for one;
   otherwise it may be removed, and all our fields are removed with it.
One case cannot be detected: an owner who writes exactly the value of the freeze looks like an owner who wrote nothing.
"""

from collections.abc import Iterable, Sequence

import msgspec

from controller.api.jsontree import JsonObject, canonical, changed, child, number, text
from controller.api.names import (
    ADMISSION_PAUSE,
    EXTRA_STATUS,
    IN_PROGRESSING,
    OURS_ON_WORKLOAD,
    ROLLOUT_ID,
    SIDE_BY_SIDE,
    STABLE_REVISION,
    WORKLOAD_TYPE,
)
from controller.api.quantity import parse_count
from controller.api.rollout import Phase, Rollout
from controller.api.workload_kinds import KindName
from controller.api.workloads import ReplicaSet, safe_hash, template_hash
from controller.domain.admission.availability_freeze import (
    GENTLE,
    PAUSED,
    first_record,
    is_frozen,
    strategy_of,
    updated_record,
    with_freeze,
    with_owners_values,
    with_record,
    with_strategy,
    without_freeze,
)
from controller.domain.admission.verdict import Refused, Unchanged, Verdict, amended
from controller.domain.pods.marks import OwnersRecord, hold_on, read_record


def governing(
    workload: JsonObject, rollouts: Iterable[Rollout], old: JsonObject | None = None
) -> Rollout | None:
    """The Rollout that names the workload, has a strategy and has not been disabled. Versions are not compared.

    There are two while one is being deleted and another one was made in its place: then the one decides that holds the
    workload `old`, because its style says how.
    """
    name = KindName(text(workload, "apiVersion"), text(workload, "kind"))
    wanted = (name.group, name.kind, text(workload, "metadata", "name"))
    found = [rollout for rollout in rollouts if _governs(rollout, wanted)]
    holder = hold_on(old).rollout
    held = (rollout for rollout in found if rollout.metadata.name == holder)
    return next(held, found[0] if found else None)


def _governs(rollout: Rollout, wanted: tuple[str, str, str]) -> bool:
    reference, strategy = rollout.spec.workload_ref, rollout.spec.strategy
    if (reference.group, reference.kind, reference.name) != wanted:
        return False
    has_strategy = strategy.canary is not None or strategy.blue_green is not None
    # One that is enabled again governs from then on, although its status says so only after the next pass.
    return has_strategy and not (rollout.spec.disabled and rollout.status.phase == Phase.DISABLED)


def ending(rollout: Rollout) -> bool:
    """No new release begins under this Rollout: it is being deleted or disabled."""
    return (
        rollout.metadata.deleting
        or rollout.spec.disabled
        or rollout.status.phase in (Phase.DISABLING, Phase.TERMINATING)
    )


def template_hash_of(workload: JsonObject) -> str:
    """Hash of the pod template of a raw workload."""
    return template_hash(canonical(child(workload, "spec", "template")))


def effective(old: JsonObject, new: JsonObject) -> bool:
    """The change asks for a release, by the original's rule: the annotation rollout-id, if any, decides."""
    rollout_id = text(new, "metadata", "annotations", ROLLOUT_ID)
    if rollout_id:
        return rollout_id != text(old, "metadata", "annotations", ROLLOUT_ID)
    return template_hash_of(old) != template_hash_of(new)


def template_changed(old: JsonObject, new: JsonObject) -> bool:
    """The template changes, so the pods would be different."""
    return template_hash_of(old) != template_hash_of(new)


def needs_replica_sets(old: JsonObject, new: JsonObject) -> bool:
    """Whether `admit_deployment` will use the ReplicaSets, so that reading them can be avoided."""
    return effective(old, new) or template_changed(old, new)


def admit_deployment(
    old: JsonObject,
    new: JsonObject,
    rollout: Rollout | None,
    replica_sets: Sequence[ReplicaSet],
    kept: str = "",
) -> Verdict:
    """Decide about an update of a Deployment (raw JSON, defaults applied).

    `rollout` is the result of `governing`; `replica_sets` are those the Deployment owns, of any size. `kept` are the
    owner's own values (JSON) as the release keeps them.
    """
    if child(old, "metadata").get("deletionTimestamp") is not None:
        return Unchanged()
    if may_leave(old, new, rollout):
        return amended(new, _without_release(old, new))
    if rollout is None:
        return Unchanged()
    change = _Change(old, with_marks_of(old, new), rollout, tuple(replica_sets))
    record = hold_on(old).record or (kept_record(old, kept) if is_frozen(old) else None)
    if record is None:
        result = _begun(change)
    elif template_changed(old, new):
        result = _changed_in_release(change, record)
    else:
        result = _protected(change, updated_record(record, old, new))
    return result if isinstance(result, Refused) else amended(new, result)


def kept_record(old: JsonObject, kept: str) -> OwnersRecord | None:
    """The owner's own values as the release keeps them, for a held workload that has lost its record: the values that
    it has now are those of the hold.
    """
    return read_record(kept) if lost_its_record(old) else None


def stable_template_of(rollout: Rollout) -> str:
    """Hash of the template to which the release under way goes back; empty without a release, or while one ends."""
    position = rollout.status.moonshift
    if position is msgspec.UNSET or not position.release or ending(rollout):
        return ""
    return position.stable_template


def lost_its_record(old: JsonObject) -> bool:
    """A workload under release does not record its owner's own values: the ones that the release keeps are needed."""
    hold = hold_on(old)
    return hold.marked and hold.record is None


def may_leave(old: JsonObject, new: JsonObject, rollout: Rollout | None) -> bool:
    """The workload-type label is removed, and no release of a living Rollout depends on it.

    `kubectl replace` removes it silently: during a release that would replace every pod at once.
    """
    if not loses_label(new):
        return False
    return rollout is None or ending(rollout) or not keeps_label(old, new)


def loses_label(new: JsonObject) -> bool:
    """The workload does not carry the workload-type label."""
    return WORKLOAD_TYPE not in child(new, "metadata", "labels")


def keeps_label(old: JsonObject, new: JsonObject) -> bool:
    """A release is under way, or this request asks for one: under a living Rollout, the label stays."""
    return under_release(old) or effective(old, new)


def under_release(workload: JsonObject) -> bool:
    """The workload carries a mark of a release."""
    return not {*OURS_ON_WORKLOAD}.isdisjoint(child(workload, "metadata", "annotations"))


def release_identity(old: JsonObject, new: JsonObject) -> str:
    """Identity of the release that a change of a workload asks for: repeating the change gives the same identity."""
    metadata = child(old, "metadata")
    uid = text(new, "metadata", "uid") or text(metadata, "uid")
    asked = [text(new, "metadata", part, ROLLOUT_ID) for part in ("annotations", "labels")]
    generation = number(metadata, "generation") or 0
    return safe_hash(canonical([uid, template_hash_of(new), *asked, generation]))


class _Change(msgspec.Struct, frozen=True):
    """One update and its circumstances; `new` carries the marks of `old`."""

    old: JsonObject
    new: JsonObject
    rollout: Rollout
    replica_sets: tuple[ReplicaSet, ...]

    @property
    def active(self) -> list[ReplicaSet]:
        return [entry for entry in self.replica_sets if entry.active]

    @property
    def new_hash(self) -> str:
        return template_hash_of(self.new)

    @property
    def release(self) -> str:
        """Identity of the release that this change asks for."""
        return release_identity(self.old, self.new)

    def running(self) -> ReplicaSet | None:
        """The active ReplicaSet that the new template belongs to already."""
        return next((entry for entry in self.active if _hash(entry) == self.new_hash), None)

    def oldest_other(self) -> ReplicaSet | None:
        """The oldest active ReplicaSet of another template."""
        others = [entry for entry in self.active if _hash(entry) != self.new_hash]
        return min(others, key=_age, default=None)

    def back_to_stable(self) -> bool:
        """The new template is the one that ran when the release was admitted."""
        label = text(self.old, "metadata", "labels", STABLE_REVISION)
        known = {_hash(entry) for entry in self.replica_sets if label and entry.revision == label}
        position = self.rollout.status.moonshift
        if position is not msgspec.UNSET:
            # The label may be lost. And if a third revision comes after another one has replaced the stable pods, that
            # one becomes stable in the status first. A wrong answer is harmless: the workload stays paused until the
            # controller's first move, which writes the freeze itself.
            known.add(position.stable_template)
        return self.new_hash in known


def _hash(replica_set: ReplicaSet) -> str:
    return template_hash(bytes(replica_set.spec.template))


def _age(replica_set: ReplicaSet) -> tuple[int, str, str]:
    revision = replica_set.metadata.annotations.get("deployment.kubernetes.io/revision", "")
    created = replica_set.metadata.creation_timestamp
    return (
        parse_count(revision) or 0,
        created.isoformat() if created else "",
        replica_set.metadata.name,
    )


def with_marks_of(old: JsonObject, new: JsonObject) -> JsonObject:
    """`new` with exactly the marks of `old`: not fewer (undo drops them), not more (undo brings stale ones)."""
    present = child(old, "metadata", "annotations")
    if loses_label(new):
        label = child(old, "metadata", "labels").get(WORKLOAD_TYPE)
        new = changed(new, ("metadata", "labels", WORKLOAD_TYPE), label)
    for mark in OURS_ON_WORKLOAD:
        new = changed(new, ("metadata", "annotations", mark), present.get(mark))
    if IN_PROGRESSING in present:
        revision = child(old, "metadata", "labels").get(STABLE_REVISION)
        new = changed(new, ("metadata", "labels", STABLE_REVISION), revision)
    return new


def with_admission_pause(obj: JsonObject, release: str) -> JsonObject:
    """The workload with the token of its release; only the holder of the token makes the first move."""
    return changed(obj, ("metadata", "annotations", ADMISSION_PAUSE), release)


def _admission_paused(obj: JsonObject, record: OwnersRecord) -> JsonObject:
    return with_record(changed(with_admission_pause(obj, record.release), PAUSED, True), record)


def _side_by_side_refused(obj: JsonObject) -> Refused | None:
    """The refusal of a release beside strategy Recreate, unless the owner agrees by the annotation.

    Two versions of such a workload may not share a volume or a lock.
    """
    if text(strategy_of(obj), "type") != "Recreate":
        return None
    if text(obj, "metadata", "annotations", SIDE_BY_SIDE) == "true":
        return None
    name = text(obj, "metadata", "name")
    return Refused(
        f"Deployment {name} has strategy Recreate, which forbids two versions side by side, and a Rollout runs two "
        f"versions side by side. Change spec.strategy.type to RollingUpdate, or annotate the Deployment with "
        f"{SIDE_BY_SIDE}=true, or take the label {WORKLOAD_TYPE} off to release it without the Rollout."
    )


# --- before the freeze --------------------------------------------------------------------------


def _begun(change: _Change) -> JsonObject | Refused:
    """The first admission of a release; all other changes of a Deployment that is not frozen pass."""
    new = change.new
    replicas = number(new, "spec", "replicas")
    passes = ending(change.rollout) or replicas == 0 or not effective(change.old, new)
    if passes or not change.active:
        return new
    refused = _side_by_side_refused(new)
    if refused is not None:
        return refused
    record = first_record(new, change.release)
    running = change.running()
    stable = running or change.oldest_other()
    if not text(new, "metadata", "annotations", IN_PROGRESSING):
        mark = msgspec.json.encode({"rolloutName": change.rollout.metadata.name}).decode()
        new = changed(new, ("metadata", "annotations", IN_PROGRESSING), mark)
    # Every active ReplicaSet is of the new template or of another one.
    assert stable is not None
    new = changed(new, ("metadata", "labels", STABLE_REVISION), stable.revision or None)
    if running is None:
        # With several active ReplicaSets a change of the limits would be a scale event over all of them.
        one = len(change.active) == 1
        new = with_strategy(new, GENTLE if one or _unpaceable(new) else strategy_of(new))
        new = with_freeze(new)
    return _admission_paused(new, record)


def _unpaceable(obj: JsonObject) -> bool:
    return text(strategy_of(obj), "type") != "RollingUpdate"


# --- in release ---------------------------------------------------------------------------------


def _changed_in_release(change: _Change, record: OwnersRecord) -> JsonObject | Refused:
    """A third revision, or a rollback."""
    record = updated_record(record, change.old, change.new)
    renewed = msgspec.structs.replace(record, release=change.release)
    if change.back_to_stable():
        new = with_strategy(change.new, strategy_of(change.old))
        if change.rollout.spec.strategy.blue_green is None:
            return _admission_paused(without_freeze(new, renewed), renewed)
        # Here the stable revision is complete. If it counted as available, the Deployment's controller would remove the
        # others at once, paused or not, and the traffic with them.
        return _admission_paused(with_freeze(new), renewed)
    if ending(change.rollout):
        # The release is ending; a new change follows it under the owner's own values. Until then the limits of the step
        # would let the Deployment's controller take the last stable pods, to which the routes still lead.
        held = _protected(change, record)
        return _admission_paused(held, record) if is_frozen(change.old) else held
    refused = _side_by_side_refused(change.new)
    if refused is not None:
        return refused
    strategy = strategy_of(change.old) if len(change.active) > 1 else GENTLE
    return _admission_paused(with_freeze(with_strategy(change.new, strategy)), renewed)


def _protected(change: _Change, record: OwnersRecord) -> JsonObject:
    """Freeze and pause stay as they are; the owner's changes are recorded."""
    new = with_strategy(change.new, strategy_of(change.old))
    new = with_freeze(new) if is_frozen(change.old) else without_freeze(new, record)
    if hold_on(change.old).has_admission_token:
        new = changed(new, PAUSED, True)
    return with_record(new, record)


# --- the way out --------------------------------------------------------------------------------


def _without_release(old: JsonObject, new: JsonObject) -> JsonObject:
    """The label was removed: all our fields are removed, too."""
    present = child(old, "metadata", "annotations")
    record = hold_on(old).record
    if record is not None:
        new = with_owners_values(new, updated_record(record, old, new))
    elif ADMISSION_PAUSE in present:
        new = changed(new, PAUSED, None)
    else:
        return new
    for mark in (*OURS_ON_WORKLOAD, EXTRA_STATUS):
        new = changed(new, ("metadata", "annotations", mark), None)
    return changed(new, ("metadata", "labels", STABLE_REVISION), None)
