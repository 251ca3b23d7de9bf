"""How a live gateway object stands: untouched, in use by us, changed by others, or damaged.

Reads our two annotations and compares the live content with what our last write said. The three ways to stand:
 * neither annotation: nobody leads traffic with it; what it says now is the original;
 * a stored original without our own record: the original controller wrote it and its release is being taken over.
   Its original is adopted; what it wrote is not known, so nothing can be told apart and the original comes back whole;
 * both: checksums must agree. Then `restore` says what the original is by now, others' changes folded in.
Anything else is damaged: nothing is written, because a restore from a damaged original would wipe the object.
Drift is judged against what our write said, not against what the server made of it: fields that a server adds inside
what we wrote are no drift. (Servers that *change* what they are given are the effect's business: it records what
came back.) Must be cheap: it runs for every object on every pass.
"""

from datetime import datetime

import msgspec

from controller.api import names
from controller.domain.decision import Reference, Refusal
from controller.domain.observation import RouteAbsent, RoutePresent, RouteState, RouteUnreadable
from controller.domain.traffic.difference import Difference, differences
from controller.domain.traffic.made import Made, disturbances, see_made, stands
from controller.domain.traffic.original import content_of, read_original, strings_of
from controller.domain.traffic.restore import restore
from controller.domain.traffic.state import RouteRecord, read_state, unpack
from controller.domain.traffic.tree import Json, Tree, decode_tree, same

HOLD = "hold"
"""Value of the annotation: a change of what we wrote stops the release, and is not put back."""


class Standing(msgspec.Struct, frozen=True):
    """A gateway object and what is ours of it.

    `original` is what the content is without our part. `record` is None when we have not written yet; `in_use` is
    true as soon as anybody stored an original. `touched`: somebody wrote over our part. `edited`: somebody changed
    something else. `ambiguous`: the two could not be told apart. `changes` are the places they touched.
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
    """What our last write said; None where there was none."""

    @property
    def held(self) -> bool:
        """The owner asked for changes to be left where they are: the release stops instead."""
        metadata = self.live.get("metadata")
        found = strings_of(metadata.get("annotations") if isinstance(metadata, dict) else None)
        return found.get(names.DRIFT) == HOLD

    def follows(self, plan: str) -> bool:
        """Nothing has to be written for this plan."""
        return (
            self.record is not None
            and self.record.plan == plan
            and not (self.touched or self.edited)
        )


def name_of(reference: Reference, namespace: str) -> str:
    """The object as messages name it."""
    return f"{reference.kind} {namespace}/{reference.name}"


def _damaged(subject: str, what: str) -> Refusal:
    return Refusal(
        reason="OriginalCorrupt",
        message=(
            f"{subject}: {what}; nothing is written, so that nothing is lost. Put the object right by hand and "
            f"remove its annotations {names.ORIGINAL_SPEC} and {names.ROUTE_STATE}: it then counts as restored"
        ),
        object=subject,
    )


def judge(raw: bytes, subject: str) -> Standing | Refusal:
    """How the object in `raw` stands; `subject` names it in messages."""
    try:
        live = decode_tree(raw)
    except ValueError as problem:
        return Refusal("GatewayObjectUnreadable", f"{subject}: {problem}", object=subject)
    metadata = live.get("metadata")
    annotations = strings_of(metadata.get("annotations") if isinstance(metadata, dict) else None)
    stored, state = annotations.get(names.ORIGINAL_SPEC), annotations.get(names.ROUTE_STATE)
    content = content_of(live)
    if stored is None and state is None:
        return Standing(live=live, original=content)
    if stored is None:
        return _damaged(subject, "the stored original was removed")
    original = read_original(stored)
    if original is None:
        return _damaged(subject, "the stored original cannot be read")
    if state is None:
        if "spec" in content and "spec" not in original:
            return _damaged(subject, "the stored original has no spec")
        return Standing(live=live, original=original, in_use=True)
    record = read_state(state)
    desired = unpack(record, stored) if record is not None else None
    if record is None or desired is None:
        return _damaged(subject, "the stored original or our record of it was changed")
    without = restore(original, desired, content)
    return Standing(
        live=live,
        original=without.content,
        record=record,
        in_use=True,
        touched=without.touched,
        edited=not same(without.content, original),
        ambiguous=without.ambiguous,
        changes=differences(desired, content) if without.touched else (),
        written=desired,
    )


class Editor(msgspec.Struct, frozen=True):
    """Who wrote an object last, other than us, and when; both empty when the object does not say."""

    manager: str = ""
    at: datetime | None = None


def editor_of(live: Tree) -> Editor:
    """The field manager, other than us, that wrote last."""
    metadata = live.get("metadata")
    entries: Json = metadata.get("managedFields") if isinstance(metadata, dict) else None
    latest = ("", "")
    for entry in entries if isinstance(entries, list) else []:
        fields = strings_of(entry)
        manager = fields.get("manager", "")
        if manager and manager != names.FIELD_MANAGER and not fields.get("subresource"):
            latest = max(latest, (fields.get("time", ""), manager))
    return Editor(latest[1], _instant(latest[0]))


def _instant(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


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
        reason="GatewayObjectInUse",
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
    made: tuple[bytes, ...] = (),
) -> RouteState:
    """What a pass may know of the object: `raw` as the cache holds it, None when it does not exist.

    With `rollout` (and its `namespace`) given, an object that another Rollout uses is unreadable for this one.
    `made` is what was made beside it for this Rollout.
    """
    beside = tuple(item for item in map(see_made, made) if item is not None and not item.leaving)
    if raw is None:
        return RouteAbsent(left=bool(beside))
    found = judge(raw, str(reference))
    if isinstance(found, Refusal):
        return RouteUnreadable(reason=found.reason, message=found.message)
    taken = other_user(found.record, rollout, str(reference), namespace)
    if taken is not None:
        return RouteUnreadable(reason=taken.reason, message=taken.message)
    record = found.record
    disturbed = disturbances(record.objects, beside) if record is not None else ()
    others = record is not None and not stands(record.objects, beside)
    editor = _editor(found, disturbed)
    return RoutePresent(
        raw=msgspec.Raw(raw),
        plan=record.plan if record else "",
        release=record.release if record else "",
        touched=found.touched or others,
        in_use=found.in_use or bool(beside),
        edited=found.edited,
        editor=editor.manager if found.touched or found.edited or disturbed else "",
        edited_at=editor.at if found.touched or disturbed else None,
        held=found.held,
        changes=(*map(str, found.changes), *map(_told, disturbed)),
        places=(*(item.path for item in found.changes), *map(_name, disturbed)),
        corrected=record.corrected if record else (),
        corrected_at=record.corrected_at if record else None,
        announced=record.announced if record else False,
        depth=record.depth if record else 0,
    )


def _editor(found: Standing, disturbed: tuple[Made | str, ...]) -> Editor:
    """Who changed the object, else what stands beside it; a deletion leaves no name."""
    if found.touched or found.edited or not disturbed:
        return editor_of(found.live)
    changed = [item for item in disturbed if isinstance(item, Made)]
    return editor_of(changed[0].live) if changed else Editor()


def _name(item: Made | str) -> str:
    return item.identity if isinstance(item, Made) else item


def _told(item: Made | str) -> str:
    if isinstance(item, Made):
        return f"{item.identity} beside it"
    return f"{item} beside it, which is gone"
