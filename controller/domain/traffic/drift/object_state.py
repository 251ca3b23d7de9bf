"""The state of a live gateway object: untouched, in use by us, changed by others, or damaged.

Reads our two annotations and compares the live content with the content of our last write. There are three valid
states:
 * neither annotation: the object is not in use; its present content is the original;
 * a stored original without our record: the original controller wrote it, and we take over its release. We adopt that
   original. We do not know what that controller wrote, so no changes can be recognised and the whole original is
   restored;
 * both: the checksums must agree. `restore` then computes the present original, including changes by others.
Everything else is damaged: nothing is written, because a restore from a damaged original would wipe the object.
Drift is measured against the content we sent, not against the content the server stored: fields that a server adds
inside our part are no drift. (Where a server *changes* fields that it is sent, the effect records the stored form.)
This must be cheap, because it runs for every object in every pass.
"""

import msgspec

from controller.api import names
from controller.domain import reasons
from controller.domain.decision import Reference, Refusal
from controller.domain.observation import RouteAbsent, RoutePresent, RouteState, RouteUnreadable
from controller.domain.traffic.companions.companion import (
    CompanionObject,
    all_exist,
    disturbances,
    read_companion,
)
from controller.domain.traffic.drift.difference import Difference, differences
from controller.domain.traffic.drift.editors import Editor, editor_of
from controller.domain.traffic.original.content import content_of, read_original, strings_of
from controller.domain.traffic.original.record import RouteRecord, read_state, unpack
from controller.domain.traffic.restoring.restore import restore
from controller.domain.traffic.tree import MOST_VALUES, Tree, decode_tree, same, values_in

LEAVE_CHANGES = "hold"
"""Value of the annotation: a change of our part stops the release and is not reverted."""


class ObjectState(msgspec.Struct, frozen=True):
    """A gateway object and our part of it.

    `original` is the content without our part. `record` is None while we have not written yet; `in_use` is true as soon
    as any controller stored an original. `touched`: somebody overwrote our part. `edited`: somebody changed another
    part. `ambiguous`: the two changes could not be separated. `changes` are the changed places.
    """

    live: Tree
    original: Tree
    record: RouteRecord | None = None
    in_use: bool = False
    touched: bool = False
    edited: bool = False
    ambiguous: bool = False
    changes: tuple[Difference, ...] = ()
    written: Tree | None = None
    """The content of our last write; None if there was none."""

    @property
    def held(self) -> bool:
        """The owner wants changes left in place: the release stops instead."""
        metadata = self.live.get("metadata")
        found = strings_of(metadata.get("annotations") if isinstance(metadata, dict) else None)
        return found.get(names.DRIFT) == LEAVE_CHANGES

    def follows(self, plan: str) -> bool:
        """The object follows this plan already; nothing has to be written."""
        return (
            self.record is not None
            and self.record.plan == plan
            and not (self.touched or self.edited)
        )


def _damaged(subject: str, damage: str) -> Refusal:
    return Refusal(
        reason=reasons.ORIGINAL_CORRUPT,
        message=(
            f"{subject}: {damage}; nothing is written, so that nothing is lost. Put the object right by hand and "
            f"remove its annotations {names.ORIGINAL_SPEC} and {names.ROUTE_STATE}: it then counts as restored"
        ),
        object=subject,
    )


def read_object_state(raw: bytes, subject: str) -> ObjectState | Refusal:
    """The state of the object in `raw`; `subject` names it in messages."""
    try:
        live = decode_tree(raw)
    except ValueError as problem:
        return Refusal(reasons.GATEWAY_OBJECT_UNREADABLE, f"{subject}: {problem}", object=subject)
    metadata = live.get("metadata")
    annotations = strings_of(metadata.get("annotations") if isinstance(metadata, dict) else None)
    stored, state = annotations.get(names.ORIGINAL_SPEC), annotations.get(names.ROUTE_STATE)
    content = content_of(live)
    if stored is None and state is None:
        return ObjectState(live=live, original=content)
    if stored is None:
        return _damaged(subject, "the stored original was removed")
    if max(values_in(raw), values_in(stored.encode("utf-8", "replace"))) > MOST_VALUES:
        return _damaged(subject, f"it has more than {MOST_VALUES} values, too many for a release")
    original = read_original(stored)
    if original is None:
        return _damaged(subject, "the stored original cannot be read")
    if state is None:
        if "spec" in content and "spec" not in original:
            return _damaged(subject, "the stored original has no spec")
        return ObjectState(live=live, original=original, in_use=True)
    record = _of_its_namespace(read_state(state), live)
    desired = unpack(record, stored) if record is not None else None
    if record is None or desired is None:
        return _damaged(subject, "the stored original or our record of it was changed")
    restored = restore(original, desired, content)
    return ObjectState(
        live=live,
        original=restored.content,
        record=record,
        in_use=True,
        touched=restored.touched,
        edited=not same(restored.content, original),
        ambiguous=restored.ambiguous,
        changes=differences(desired, content) if restored.touched else (),
        written=desired,
    )


def _of_its_namespace(record: RouteRecord | None, live: Tree) -> RouteRecord | None:
    """The record, as if the object's own namespace had written it.

    Somebody may copy an object with its annotations into another namespace. The Rollout that leads traffic with the
    copy is in the namespace of the copy.
    """
    metadata = live.get("metadata")
    namespace = strings_of(metadata).get("namespace", "") if isinstance(metadata, dict) else ""
    if record is None or not namespace or not record.namespace:
        return record
    return msgspec.structs.replace(record, namespace=namespace)


def other_user(
    record: RouteRecord | None, rollout: str, subject: str, namespace: str = ""
) -> Refusal | None:
    """A refusal when another Rollout leads traffic with the object; two would overwrite each other."""
    if record is None or not rollout or record.rollout == "":
        return None
    elsewhere = bool(namespace and record.namespace and record.namespace != namespace)
    if record.rollout == rollout and not elsewhere:
        return None
    user = f"{record.namespace}/{record.rollout}" if elsewhere else record.rollout
    return Refusal(
        reason=reasons.GATEWAY_OBJECT_IN_USE,
        message=(
            f"{subject} is in use by Rollout {user}; one object follows one Rollout at a time: wait until "
            f"that release ends, or restore the object"
        ),
        object=subject,
    )


def see_route(
    reference: Reference,
    raw: bytes | None,
    *,
    rollout: str = "",
    namespace: str = "",
    raw_companions: tuple[bytes, ...] = (),
) -> RouteState:
    """The route as a pass sees it. `raw` is the object in the cache, None when it does not exist.

    With `rollout` (and its `namespace`) given, an object that another Rollout uses is unreadable for this one.
    `raw_companions` are the companion objects made for this Rollout.
    """
    companions = tuple(
        item
        for item in map(read_companion, raw_companions)
        if item is not None and not item.leaving
    )
    if raw is None:
        return RouteAbsent(left=bool(companions))
    found = read_object_state(raw, str(reference))
    if isinstance(found, Refusal):
        return RouteUnreadable(reason=found.reason, message=found.message)
    taken = other_user(found.record, rollout, str(reference), namespace)
    if taken is not None:
        return RouteUnreadable(reason=taken.reason, message=taken.message)
    return _present(raw, found, companions)


def _present(
    raw: bytes, found: ObjectState, companions: tuple[CompanionObject, ...]
) -> RoutePresent:
    record = found.record
    disturbed = disturbances(record.objects, companions) if record is not None else ()
    companions_changed = record is not None and not all_exist(record.objects, companions)
    editor = last_editor(found, disturbed)
    return RoutePresent(
        raw=msgspec.Raw(raw),
        plan=record.plan if record else "",
        release=record.release if record else "",
        touched=found.touched or companions_changed,
        in_use=found.in_use or bool(companions),
        edited=found.edited,
        editor=editor.manager if found.touched or found.edited or disturbed else "",
        edited_at=editor.at if found.touched or disturbed else None,
        held=found.held,
        changes=(*map(str, found.changes), *map(_disturbance_in_words, disturbed)),
        places=(*(item.path for item in found.changes), *map(_name, disturbed)),
        corrected=record.corrected if record else (),
        corrected_at=record.corrected_at if record else None,
        corrected_before=record.corrected_before if record else None,
        announced=record.announced if record else False,
        depth=record.depth if record else 0,
        named=_named(found, companions) if companions or (record and record.depth) else "",
        reported=reported(found),
    )


def reported(found: ObjectState) -> str:
    """The version of an object on which somebody reports, or did before our first write; empty otherwise."""
    if not found.live.get("status") and not (found.record and found.record.before):
        return ""
    return strings_of(found.live.get("metadata")).get("resourceVersion", "")


def _named(found: ObjectState, companions: tuple[CompanionObject, ...]) -> str:
    """The content of this object that other objects may name, and its companion objects, which it may name itself."""
    record = found.record
    said = [record.said] if record is not None and record.said else []
    if said and found.touched:
        said.append("touched")
    return " ".join([*said, *sorted(item.uid for item in companions)])


def last_editor(found: ObjectState, disturbed: tuple[CompanionObject | str, ...]) -> Editor:
    """The editor of the object, or of its first changed companion object; a deletion leaves no name."""
    if found.touched or found.edited or not disturbed:
        return editor_of(found.live, (item.path for item in found.changes))
    changed = [item for item in disturbed if isinstance(item, CompanionObject)]
    return editor_of(changed[0].live) if changed else Editor()


def _name(item: CompanionObject | str) -> str:
    return item.identity if isinstance(item, CompanionObject) else item


def _disturbance_in_words(item: CompanionObject | str) -> str:
    if isinstance(item, CompanionObject):
        return f"{item.identity} beside it"
    return f"{item} beside it, which is gone"
