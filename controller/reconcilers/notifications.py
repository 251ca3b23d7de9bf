"""Sends events: one pass over one Notification sends the events that wait, and writes down which were sent.

Invariant: no decision about a release asks anything here, and no pass over a Rollout waits for it. Every status of
a Rollout that this process sees is looked at immediately, so an event that a status holds for a moment is not lost.
One write stores all events that one pass has sent; after a crash between sending and writing they are sent again, with
the same id. Without a Notification no status is looked at.
"""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Protocol

from msgspec import structs

from controller.api.meta import Key
from controller.api.notification import (
    Notification,
    NotificationStatus,
    Occasion,
    Told,
    Waiting,
)
from controller.api.rollout import Rollout
from controller.domain.availability import Availability, Loading
from controller.domain.conditions import set_condition, settled_conditions
from controller.domain.decision import Note, Severity
from controller.domain.notifications.occasions import occasions
from controller.domain.notifications.telling import (
    OLDEST,
    Plan,
    again,
    is_about,
    news,
    plan,
    remembered,
)
from controller.effects.notifications import write_notification_status
from controller.effects.writes import KubeWrites, Writes
from controller.errors import WRITE_REFUSED, NotFound, Postponed
from controller.kube.ledger import WriteLedger
from controller.outbound.exchanging import Exchanging
from controller.outbound.fetching import Failed
from controller.outbound.target import call_of, parameters_of, tell, wanted_by
from controller.reconcilers.caches import Caches
from controller.runtime.clock import Clock
from controller.runtime.worker import Result

OWNER_PREFIX = "notification="
"""Before the name of a Notification among those that name a ConfigMap with scripts; no object has such a name."""
WAIT_FOR_SCRIPT = 1.0
READY = "Ready"
GIVEN_UP = "NotificationGivenUp"
"""Event: the target did not take an event within a day."""
CAN_TELL = "CanTell"
UNUSABLE = "TargetUnusable"
"""The script cannot be run as the Notification is written."""
NOT_TAKEN = "TargetFailed"
"""The target did not take the last event; it is sent again."""
SECONDS_OF_A_PASS = 20.0
"""After them a pass sends no more events: it first writes down those that it has sent."""

_log = logging.getLogger(__name__)


class EventSink(Protocol):
    """Events on the Notification."""

    def __call__(self, notification: Notification, note: Note) -> None: ...


class HeldScripts(Protocol):
    """ConfigMaps with scripts of namespaces, watched while somebody names them."""

    def keep_watched(self, owner: Key, config_maps: Iterable[Key]) -> None: ...

    def availability(self, config_map: Key) -> Availability: ...


class _Known:
    """The knowledge of this process about one Notification beside its stored status."""

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.looked = False
        """Every Rollout was looked at since the spec was last changed."""
        self.waiting: dict[str, Waiting] = {}
        self.told: dict[str, datetime] = {}
        """Ids and times of events that were sent or given up, as long as a look could find them anew."""
        self.unwritten: list[Told] = []
        """Those of them that the stored status does not have yet."""

    def done(self, occasion: Occasion, entry: Told) -> None:
        """The event is not sent any more."""
        self.told[occasion.id] = occasion.at
        self.unwritten.append(entry)
        self.waiting.pop(occasion.id, None)

    def forget_the_past(self, status: NotificationStatus, now: datetime) -> None:
        """Drop the events that are too old to be taken for new ones."""
        stored = {one.occasion.id for one in status.waiting}
        self.told = {
            name: at for name, at in self.told.items() if now - at <= OLDEST or name in stored
        }


class _Tried:
    """The events that one pass has sent."""

    def __init__(self) -> None:
        self.told: list[Occasion] = []
        self.refused: list[Waiting] = []
        self.problem = ""


class Notifying:
    """Passes over Notifications and ClusterNotifications; `home` is the controller's namespace."""

    def __init__(
        self,
        *,
        caches: Caches,
        kube: KubeWrites,
        exchanging: Exchanging,
        ledger: WriteLedger,
        clock: Clock,
        events: EventSink,
        wake: Callable[[Key], None],
        home: str,
        own_scripts: HeldScripts,
    ) -> None:
        self._caches = caches
        self._kube = kube
        self._exchanging = exchanging
        self._ledger = ledger
        self._clock = clock
        self._events = events
        self._wake = wake
        self._home = home
        self._own_scripts = own_scripts
        self._known: dict[Key, _Known] = {}

    # --- what happens ---------------------------------------------------------------------------

    def follow(self) -> Callable[[], None]:
        """Look at every change of a Rollout from now on; the returned function ends this."""
        return self._caches.rollouts.subscribe(self._rollout_changed)

    def _rollout_changed(self, old: Rollout | None, new: Rollout | None) -> None:
        if new is None or not (self._caches.notifications or self._caches.cluster_notifications):
            return
        seen: tuple[Occasion, ...] | None = None
        for notification in self._all():
            if is_about(notification, new.metadata):
                seen = occasions(new) if seen is None else seen
                if self._take(notification, seen):
                    self._wake(notification.metadata.key)

    def _all(self) -> Iterable[Notification]:
        yield from self._caches.notifications.values()
        yield from self._caches.cluster_notifications.values()

    def _take(self, notification: Notification, seen: Iterable[Occasion]) -> bool:
        """Whether there is an event to send that this process did not know."""
        known = self._known_of(notification)
        fresh = [
            one
            for one in news(notification, seen, self._clock.now())
            if one.id not in known.told and one.id not in known.waiting
        ]
        known.waiting |= {one.id: Waiting(one) for one in fresh}
        return bool(fresh)

    def _known_of(self, notification: Notification) -> _Known:
        meta = notification.metadata
        known = self._known.setdefault(meta.key, _Known(meta.generation))
        if known.generation != meta.generation:
            known.generation, known.looked = meta.generation, False
        return known

    def _look(self, notification: Notification) -> _Known:
        """All events to send. Every Rollout is looked at once, and after that only when it changes."""
        known = self._known_of(notification)
        if not known.looked:
            known.looked = True
            for rollout in self._caches.rollouts.values():
                if is_about(notification, rollout.metadata):
                    self._take(notification, occasions(rollout))
        for one in notification.status.waiting:
            if one.occasion.id not in known.told:
                known.waiting.setdefault(one.occasion.id, one)
        return known

    # --- a pass ---------------------------------------------------------------------------------

    async def reconcile(self, key: Key) -> Result:
        """One pass; the result says when to look again if nothing happens before."""
        behind = self._ledger.pending(key)
        if behind > 0:
            return Result(wake_after=behind)
        notification = self._find(key)
        if notification is None:
            self.forget(key)
            return Result()
        known = self._look(notification)
        self._hold_script(notification)
        problem = self._problem(notification)
        found = plan(notification, known.waiting.values(), self._clock.now())
        tried = await self._send(notification, () if problem else found.now)
        await self._remember(notification, known, found, tried, problem)
        return Result(wake_after=self._next(notification, known))

    def _hold_script(self, notification: Notification) -> None:
        """Keep the namespace's own script watched; postpones the pass until it is known."""
        own = wanted_by(notification.spec, self._place(notification)).own
        wanted = () if own is None else (own.config_map_key,)
        self._own_scripts.keep_watched(_owner(notification.metadata.key), wanted)
        for config_map in wanted:
            if isinstance(state := self._own_scripts.availability(config_map), Loading):
                raise Postponed(WAIT_FOR_SCRIPT, state.message)

    def forget(self, key: Key) -> None:
        """The Notification is gone, or the work of another process."""
        self._own_scripts.keep_watched(_owner(key), ())
        self._ledger.forget(key)
        self._known.pop(key, None)

    def _find(self, key: Key) -> Notification | None:
        store = self._caches.notifications if key.namespace else self._caches.cluster_notifications
        return store.get(key)

    def _problem(self, notification: Notification) -> str:
        spec = notification.spec
        wanted = wanted_by(spec, self._place(notification))
        return self._exchanging.problem(wanted, parameters_of(spec), spec.secrets)

    def _place(self, notification: Notification) -> str:
        return notification.metadata.namespace or self._home

    async def _send(self, notification: Notification, due: Iterable[Waiting]) -> _Tried:
        """One after the other, so that people read them in order."""
        tried, began = _Tried(), self._clock.monotonic()
        for one in due:
            if self._clock.monotonic() - began >= SECONDS_OF_A_PASS:
                break
            await self._send_one(notification, one, tried)
        return tried

    async def _send_one(self, notification: Notification, one: Waiting, tried: _Tried) -> None:
        call = call_of(notification.spec, self._place(notification), one.occasion)
        try:
            later = await tell(self._exchanging, call)
        except Failed as failed:
            tried.problem = str(failed)
            tried.refused.append(again(one, self._clock.now(), None))
            return
        if later is None:
            tried.told.append(one.occasion)
        else:
            tried.problem = later.why or "the target asks to send it later"
            tried.refused.append(again(one, self._clock.now(), later.again))

    async def _remember(
        self,
        notification: Notification,
        known: _Known,
        found: Plan,
        tried: _Tried,
        problem: str,
    ) -> None:
        known.waiting |= {one.occasion.id: one for one in tried.refused}
        now = self._clock.now()
        for one in tried.told:
            known.done(one, Told(one.id, now))
        for one in found.given_up:
            known.done(one, Told(one.id, now, given_up=True))
        status = remembered(notification.status, known.unwritten, known.waiting.values())
        status = _with_ready(notification, status, problem, tried, now)
        for lost in found.given_up:
            self._events(notification, _given_up(lost))
        if status != notification.status:
            await self._write(notification, status)
        known.unwritten.clear()
        known.forget_the_past(notification.status, now)

    async def _write(self, notification: Notification, status: NotificationStatus) -> None:
        """Store the status. If it is refused, the log says so, and this process still knows which events were sent."""
        key = notification.metadata.key
        writes = Writes(self._kube, self._ledger.scoped(key))
        try:
            await write_notification_status(writes, notification, status)
        except WRITE_REFUSED as refused:
            _log.warning(
                "what was sent is not written down",
                extra={"notification": str(key), "problem": refused.message},
            )
        except NotFound:
            pass

    def _next(self, notification: Notification, known: _Known) -> float | None:
        """Seconds until an event is due. Events that a pass had no time for are due at once, when its write is seen."""
        stored = self._find(notification.metadata.key) or notification
        if self._problem(stored):
            return None
        now = self._clock.now()
        left = plan(stored, known.waiting.values(), now)
        if left.now:
            return 0.0
        return None if left.later is None else max((left.later - now).total_seconds(), 0.0)


def _owner(key: Key) -> Key:
    return Key(key.namespace, OWNER_PREFIX + key.name)


def _with_ready(
    notification: Notification,
    status: NotificationStatus,
    problem: str,
    tried: _Tried,
    now: datetime,
) -> NotificationStatus:
    """The condition Ready; without a try it stays as it was."""
    before = notification.status.conditions
    status = structs.replace(status, observed_generation=notification.metadata.generation)
    if problem:
        said = ("False", UNUSABLE, problem)
    elif tried.problem:
        said = ("False", NOT_TAKEN, tried.problem)
    elif tried.told or not any(one.type == READY and one.reason == NOT_TAKEN for one in before):
        said = ("True", CAN_TELL, "")
    else:
        return status
    after = set_condition(before, READY, *said, now)
    return structs.replace(status, conditions=settled_conditions(before, after))


def _given_up(lost: Occasion) -> Note:
    text = (
        f"{lost.reason} of Rollout {lost.namespace}/{lost.rollout} was not told: the target did not take it "
        "within a day"
    )
    return Note(GIVEN_UP, text, Severity.WARNING)
