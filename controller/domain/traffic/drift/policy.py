"""Decides whether a foreign change of our part of a gateway object is reverted, or left and reported.

A change is reverted twice within a minute. A third change of the same place in that minute shows that another writer
disagrees (a GitOps tool, an operator). Reverting it for ever would make traffic jump, so the change is left, the writer
is named, and the change is reverted once every five minutes. Owners who want to look at changes first set an annotation
on the object.
Invariant: the only memory is on the objects themselves: the places of the last put-back, its time, and the time of the
one before. An object that was replaced as a whole has lost it; then the Rollout's condition is the memory.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import structs

from controller.api.duration import later
from controller.api.meta import Condition
from controller.api.names import DRIFT
from controller.domain import reasons
from controller.domain.conditions import find_condition
from controller.domain.decision import Refusal, Value
from controller.domain.fights import FIGHT_WINDOW, RETRY_AFTER_FIGHT
from controller.domain.observation import RoutePresent, RouteSeen
from controller.domain.traffic.drift.editors import editor_of
from controller.domain.traffic.tree import decode_tree

DRIFTED = "Drifted"
"""Condition: True while the release is stopped because of a change, False with the reason once the change was
reverted.
"""
ONE_SYNC = timedelta(seconds=5)
"""Objects that are replaced within this time were replaced by one command."""


class PutBacks(Value, frozen=True):
    """The places of the last put-back, its time, and the time of the put-back before it (None: never, or long ago)."""

    places: tuple[str, ...] = ()
    at: datetime | None = None
    before: datetime | None = None


def next_put_back(
    last: PutBacks, places: tuple[str, ...], at: datetime, changed: datetime
) -> PutBacks:
    """The put-back to record after reverting these places now; they were changed at `changed`.

    A put-back after that time counts twice: the next change within a minute of it is left at once.
    """
    if not set(last.places) & set(places):
        return PutBacks(places, at)
    return PutBacks(places, at, at if _is_fought(last.before, changed) else last.at)


def changed_at(edited_at: datetime | None, last: datetime | None, now: datetime) -> datetime:
    """When a place was changed. The deletion of an object leaves no time: it counts from the last put-back, if that was
    not long ago.
    """
    if edited_at is not None:
        return edited_at
    return last if last is not None and now - last < RETRY_AFTER_FIGHT else now


def _is_fought(before: datetime | None, changed: datetime) -> bool:
    """The place was changed within a minute of the last put-back but one."""
    return before is not None and changed - before < FIGHT_WINDOW


class Drift(Value, frozen=True):
    """The drift that was found, and the reaction to it."""

    held: Refusal | None = None
    wake_at: datetime | None = None
    put_back: str = ""
    """The changes that are reverted, in words; empty if there are none."""
    names_nothing: bool = False
    """A change of an object that others name is left, and these others may still be written."""
    reason: str = reasons.ROUTE_PUT_BACK
    """The reason that the condition has then; empty if it stays as it is: this belongs to the put-back before."""


def drift_among(routes: tuple[RouteSeen, ...], namespace: str, now: datetime) -> Drift:
    """The drift of all objects in use; the first object whose change is left decides."""
    sentences: list[str] = []
    left: list[tuple[Drift, int]] = []
    for route in routes:
        state = route.state
        if not isinstance(state, RoutePresent) or not state.touched or not state.plan:
            continue
        text = _changes_in_words(namespace, route, state)
        if state.held:
            held = _left(namespace, route, f"{text}; {DRIFT} asks to leave it: {_WAY_OUT}")
            left.append((Drift(held=held), state.depth))
        elif (until := _fight_ends(state, now)) is not None:
            held = _left(namespace, route, f"{text}, {_AGAIN}")
            left.append((Drift(held=held, wake_at=until), state.depth))
        else:
            sentences.append(text)
    if left:
        return structs.replace(left[0][0], names_nothing=all(depth > 0 for _, depth in left))
    return Drift(put_back="; ".join(sentences))


def replaced_among(
    routes: tuple[RouteSeen, ...], namespace: str, last: Condition | None, now: datetime
) -> Drift:
    """The reaction to objects that have lost our content and our record of it; `last` is the condition so far."""
    lost = [r for r in routes if isinstance(r.state, RoutePresent) and not r.state.plan]
    if not lost:
        return Drift()
    text = "; ".join(_replacement_in_words(namespace, route) for route in lost)
    reason, since = (last.reason, last.last_update_time) if last is not None else ("", None)
    if since is None:
        return Drift(put_back=text, reason=reasons.ROUTE_REPLACED)
    if reason in _REPLACED and now - since < ONE_SYNC:
        return Drift(put_back=text, reason="")
    if reason == reasons.ROUTE_HELD:
        until = later(since, RETRY_AFTER_FIGHT)
    elif reason == reasons.ROUTE_REPLACED_AGAIN and now - since < FIGHT_WINDOW:
        until = now + RETRY_AFTER_FIGHT
    else:
        again = reason == reasons.ROUTE_REPLACED and now - since < FIGHT_WINDOW
        found = reasons.ROUTE_REPLACED_AGAIN if again else reasons.ROUTE_REPLACED
        return Drift(put_back=text, reason=found)
    if until <= now:
        return Drift(put_back=text, reason=reasons.ROUTE_REPLACED_AGAIN)
    return Drift(held=_left(namespace, lost[0], f"{text}, {_AGAIN}"), wake_at=until)


class Shown(NamedTuple):
    """The content of the condition Drifted."""

    value: str
    reason: str
    text: str


def shown(drift: Drift, before: Condition | None, now: datetime) -> Shown | None:
    """The condition after a reaction; None if it stays as it is. `before` is the condition so far."""
    if drift.held is not None:
        return Shown("True", reasons.ROUTE_HELD, drift.held.message)
    if drift.put_back:
        text = f"{drift.put_back}; it is put back"
        if drift.reason not in ("", reasons.ROUTE_PUT_BACK):
            # The time of a put-back of a replaced object has to be known: it is part of the words.
            text = f"{text} ({now:%H:%M:%S} UTC)"
        return Shown("False", drift.reason, text) if drift.reason else None
    if before is not None and before.status == "True":
        text = "the gateway objects have the release's content"
        return Shown("False", reasons.ROUTES_AS_WRITTEN, text)
    return None


def not_put_back(
    conditions: tuple[Condition, ...], before: tuple[Condition, ...]
) -> tuple[Condition, ...]:
    """The conditions after a put-back that was not made: the memory of put-backs stays as it was."""
    others = tuple(each for each in conditions if each.type != DRIFTED)
    known = find_condition(before, DRIFTED)
    return others if known is None else (*others, known)


def _replacement_in_words(namespace: str, route: RouteSeen) -> str:
    assert isinstance(route.state, RoutePresent)
    named = route.reference.name_in(namespace)
    editor = editor_of(decode_tree(bytes(route.state.raw))).manager or "somebody"
    return f"{editor} replaced {named} by an object without the release's content"


_WAY_OUT = "the release waits until the change is reverted, or the annotation is removed"
_REPLACED = (reasons.ROUTE_REPLACED, reasons.ROUTE_REPLACED_AGAIN)
_AGAIN = (
    "again within a minute of being put back twice: two writers must not fight, so the release waits. Stop the other "
    "writer; it is tried again in five minutes"
)


def _left(namespace: str, route: RouteSeen, message: str) -> Refusal:
    named = route.reference.name_in(namespace)
    return Refusal(reason=reasons.ROUTE_HELD, message=message, object=named)


def _changes_in_words(namespace: str, route: RouteSeen, state: RoutePresent) -> str:
    named = route.reference.name_in(namespace)
    changes = ", ".join(state.changes) or "what the release wrote"
    return f"{state.editor or 'somebody'} changed {named}: {changes}"


def _fight_ends(state: RoutePresent, now: datetime) -> datetime | None:
    """When a contested place may be written again; None if no place is contested."""
    changed = changed_at(state.edited_at, state.corrected_at, now)
    same = set(state.corrected) & set(state.places)
    if not same or not _is_fought(state.corrected_before, changed):
        return None
    until = later(changed, RETRY_AFTER_FIGHT)
    return until if until > now else None
