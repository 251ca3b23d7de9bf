"""Setting a condition of any of our objects, with honest timestamps.

Invariant: setting a condition to its present value changes nothing (no write, no new timestamp), and a change of a
condition's status moves its transition time (the original copied stale ones, D32).
"""

from datetime import datetime

from msgspec import structs

from controller.api.meta import Condition

Conditions = tuple[Condition, ...]


def find_condition(conditions: Conditions, kind: str) -> Condition | None:
    """The condition of that type."""
    return next((condition for condition in conditions if condition.type == kind), None)


def set_condition(
    conditions: Conditions, kind: str, value: str, reason: str, message: str, now: datetime
) -> Conditions:
    """The conditions with this one; the same tuple if it already has this content."""
    old = find_condition(conditions, kind)
    if old is not None and (old.status, old.reason, old.message) == (value, reason, message):
        return conditions
    moved = old is None or old.status != value
    new = Condition(
        type=kind,
        status=value,
        reason=reason,
        message=message,
        last_update_time=now,
        last_transition_time=now if moved or old is None else old.last_transition_time,
    )
    return (*(each for each in conditions if each.type != kind), new)


def settled_conditions(before: Conditions, after: Conditions) -> Conditions:
    """`after` with the times of `before` for conditions that are the same in both after the whole pass.

    Why: a pass may decide False, and True again when an action is refused; between two statuses nothing changed then.
    """
    order = {condition.type: at for at, condition in enumerate(before)}
    ordered = sorted(after, key=lambda condition: order.get(condition.type, len(order)))
    return tuple(_settled(find_condition(before, each.type), each) for each in ordered)


def _settled(old: Condition | None, new: Condition) -> Condition:
    if old is None or old.status != new.status:
        return new
    if (old.reason, old.message) == (new.reason, new.message):
        return old
    return structs.replace(new, last_transition_time=old.last_transition_time)
