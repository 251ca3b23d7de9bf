"""Which events are sent now, which later, and what a status remembers of it.

Invariant: pure. An event that was sent, or given up, is not sent again. One that is older than the Notification, or
than an hour when it is first seen, is never sent, so a new Notification does not send old events. At most `perMinute`
are sent in a minute; the others wait, they are not dropped. Lists are bounded. An event is sent at least once: it is
remembered after its target took it, so a crash between the two repeats it with the same id.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from msgspec import structs

from controller.api.meta import ObjectMeta
from controller.api.notification import (
    TOLD_KEPT,
    WAITING_KEPT,
    Notification,
    NotificationSpec,
    NotificationStatus,
    Occasion,
    Told,
    Waiting,
)
from controller.domain.decision import Value

OLDEST = timedelta(hours=1)
"""An event that is older when it is first seen is not sent."""
GIVEN_UP_AFTER = timedelta(hours=24)
FIRST_WAIT = 10.0
LONGEST_WAIT = 900.0
MINUTE = timedelta(minutes=1)


class Plan(Value, frozen=True):
    """What to send now, what is given up, and when to look again."""

    now: tuple[Waiting, ...] = ()
    given_up: tuple[Occasion, ...] = ()
    later: datetime | None = None


def is_about(notification: Notification, rollout: ObjectMeta) -> bool:
    """The Notification sends events of this Rollout."""
    spec, namespace = notification.spec, notification.metadata.namespace
    places = (namespace,) if namespace else spec.namespaces
    here = not places or rollout.namespace in places
    return here and _selected(spec, rollout.labels)


def _selected(spec: NotificationSpec, labels: Mapping[str, str]) -> bool:
    return spec.selector.match_labels.items() <= labels.items()


def news(
    notification: Notification, seen: Iterable[Occasion], now: datetime
) -> tuple[Occasion, ...]:
    """Events that the spec chooses, that are neither sent nor waiting, and that are not too old."""
    status = notification.status
    known = {one.id for one in status.told} | {one.occasion.id for one in status.waiting}
    oldest = now - OLDEST
    created = notification.metadata.creation_timestamp
    if created is not None:
        oldest = max(oldest, created)
    return tuple(
        one
        for one in seen
        if one.topic in notification.spec.events and one.id not in known and one.at >= oldest
    )


def plan(notification: Notification, waiting: Iterable[Waiting], now: datetime) -> Plan:
    """The waiting events, the oldest first, within the rate."""
    ordered = sorted(waiting, key=lambda one: (one.occasion.at, one.occasion.id))
    given_up = tuple(one.occasion for one in ordered if now - one.occasion.at > GIVEN_UP_AFTER)
    alive = [one for one in ordered if one.occasion not in given_up]
    due = [one for one in alive if one.due is None or one.due <= now]
    recent = sorted(
        one.at for one in notification.status.told if one.at is not None and now - one.at < MINUTE
    )
    room = max(notification.spec.per_minute - len(recent), 0)
    times = [one.due for one in alive if one.due is not None and one.due > now]
    if len(due) > room:
        times.append(recent[0] + MINUTE if recent else now + MINUTE)
    return Plan(tuple(due[:room]), given_up, min(times, default=None))


def again(one: Waiting, now: datetime, seconds: float | None) -> Waiting:
    """The same event after a try that failed; `seconds` is the wait that the target asked for, if it did."""
    wait = min(FIRST_WAIT * 2**one.tries, LONGEST_WAIT) if seconds is None else seconds
    return structs.replace(one, tries=one.tries + 1, due=now + timedelta(seconds=wait))


def remembered(
    status: NotificationStatus, told: Iterable[Told], waiting: Iterable[Waiting]
) -> NotificationStatus:
    """The status with what was sent and what waits; the oldest entries go first."""
    added = tuple(told)
    times = [one.at for one in added if not one.given_up]
    entries = (*status.told, *added)
    known = {one.id for one in entries}
    kept = [one for one in waiting if one.occasion.id not in known and one.tries]
    kept.sort(key=lambda one: (one.occasion.at, one.occasion.id))
    return structs.replace(
        status,
        last_told=times[-1] if times else status.last_told,
        told=entries[-TOLD_KEPT:],
        waiting=tuple(kept[-WAITING_KEPT:]),
    )
