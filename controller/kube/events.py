"""Events for people, as `kubectl describe` shows them under an object.

Invariants: recording never waits and never fails; the same note about the same object is one Event object,
however often and by any replica it is made (its name is a hash of what it says), patched as a series at
most once per `SERIES_PERIOD`; frequent notes about one object are gathered (`event_gathering`); the queue is
bounded, and notes that do not fit are counted, not kept. An Event is never read to decide anything.
"""

import asyncio
import logging
from collections import OrderedDict
from typing import Literal, Protocol

import msgspec

from controller.api.meta import Key, ObjectMeta
from controller.errors import AlreadyExists, Forbidden, Invalid, MoonshiftError, NotFound, Throttled
from controller.kube.client import KubeClient
from controller.kube.event_gathering import Gathering
from controller.kube.event_notes import Note
from controller.kube.lease import micro_time
from controller.kube.resources import EVENTS, Resource
from controller.runtime.clock import Clock

SERIES_PERIOD = 300.0  # seconds between two patches of one Event
QUEUE = 1024
KNOWN = 4096  # the number of Events whose count is remembered
ATTEMPTS = 3
HOPELESS = (NotFound, Forbidden, Invalid)
"""Not tried again: a namespace that goes would keep the Events of all others waiting."""

_log = logging.getLogger(__name__)


class EventMetrics(Protocol):
    """Metrics of the recorder."""

    def event_dropped(self, reason: str) -> None:
        """An Event was not written: full or failed."""
        ...


class _Series(msgspec.Struct, gc=False):
    """How often a note was made, and when it was last written."""

    count: int = 0
    written_at: float | None = None
    queued: bool = False


_About = tuple[str, Key]
"""The resource and the name of the object that an Event is about."""


class EventRecorder:
    """`record` from anywhere in the event loop; `run` writes."""

    def __init__(
        self,
        client: KubeClient,
        *,
        component: str,
        instance: str,
        clock: Clock,
        metrics: EventMetrics | None = None,
        gathered: frozenset[str] = frozenset(),
    ) -> None:
        self._client = client
        self._gathering = Gathering(gathered)
        self._timer: asyncio.TimerHandle | None = None
        self._component = component
        self._instance = instance[:128]
        self._clock = clock
        self._metrics = metrics
        self._queue: asyncio.Queue[Note] = asyncio.Queue(QUEUE)
        self._known: OrderedDict[_About, dict[str, _Series]] = OrderedDict()
        """By object, and by name of the Event."""
        self._number = 0

    def record(
        self,
        resource: Resource,
        metadata: ObjectMeta,
        type: Literal["Normal", "Warning"],
        reason: str,
        message: str,
        action: str = "Reconcile",
    ) -> None:
        """Record an Event about an object; returns before it is written."""
        note = Note(
            resource, metadata, type, reason[:128], _note_text(message), action[:128],
            self._clock.now(),
        )  # fmt: skip
        self._remember(_about(note))
        self._enqueue(self._gathering.take(note, self._clock.monotonic()))
        self._set_timer()

    def _enqueue(self, notes: tuple[Note, ...]) -> None:
        for note in notes:
            self._put(note)

    def _set_timer(self) -> None:
        """Wake up when a held Event is due."""
        if self._timer is not None:
            return
        wait = self._gathering.wait(self._clock.monotonic())
        if wait is not None:
            self._timer = asyncio.get_running_loop().call_later(wait, self._let_due)

    def _let_due(self) -> None:
        self._timer = None
        self._enqueue(self._gathering.due(self._clock.monotonic()))
        self._set_timer()

    def _put(self, note: Note) -> None:
        series = self._series(note)
        series.count += 1
        if series.queued or not self._due(series):
            return
        try:
            self._queue.put_nowait(note)
            series.queued = True
        except asyncio.QueueFull:
            self._drop("full")

    async def run(self) -> None:
        """Write recorded Events until cancelled."""
        while True:
            note = await self._queue.get()
            try:
                await self._write_patiently(note)
            finally:
                self._found(note).queued = False
                self._queue.task_done()

    async def drain(self, within: float = 3.0) -> None:
        """Wait until everything is written, `within` seconds at most; `run` must be running."""
        self._enqueue(self._gathering.everything(self._clock.monotonic()))
        try:
            async with asyncio.timeout(within):
                await self._queue.join()
        except TimeoutError:
            _log.warning("events not written in time", extra={"left": self._queue.qsize()})

    def forget(self, resource: Resource, key: Key) -> None:
        """An object was deleted: notes about it that are still held are written, and nothing is remembered of it."""
        self._number -= len(self._known.pop((resource.name, key), ()))

    def _remember(self, about: _About) -> None:
        """A note about an object arrives now; held notes do not count, because their object may be gone by now."""
        self._known.setdefault(about, {})
        self._known.move_to_end(about)

    def _series(self, note: Note) -> _Series:
        """The number of its reports; remembered from now on, unless its object was forgotten."""
        of_object = self._known.get(_about(note))
        if of_object is None:
            return _Series()
        if note.event_name not in of_object:
            of_object[note.event_name] = _Series()
            self._number += 1
            while self._number > KNOWN:
                _, oldest = self._known.popitem(last=False)
                self._number -= len(oldest)
        return of_object[note.event_name]

    def _found(self, note: Note) -> _Series:
        """The number of reports of a queued note; nothing is remembered."""
        return self._known.get(_about(note), {}).get(note.event_name) or _Series()

    def _due(self, series: _Series) -> bool:
        now = self._clock.monotonic()
        return series.written_at is None or now - series.written_at >= SERIES_PERIOD

    async def _write_patiently(self, note: Note) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                await self._write(note)
            except MoonshiftError as failure:
                if attempt == ATTEMPTS or isinstance(failure, HOPELESS):
                    _log.warning(
                        "event not written", extra={"reason": note.reason, "error": str(failure)}
                    )
                    self._drop("failed")
                    return
                await asyncio.sleep(
                    failure.retry_after if isinstance(failure, Throttled) else attempt
                )
            else:
                return

    async def _write(self, note: Note) -> None:
        series = self._found(note)
        if series.written_at is not None:
            try:
                await self._patch(note, series)
            except NotFound:
                series.count, series.written_at = 1, None  # it expired: create it again
            else:
                return
        try:
            await self._client.create(EVENTS, note.namespace, self._new(note))
            series.written_at = self._clock.monotonic()
        except AlreadyExists:
            # created by the leader before us; only this Event has the count of its reports
            series.count += 1
            await self._patch(note, series)

    async def _patch(self, note: Note, series: _Series) -> None:
        fields = {"count": max(2, series.count), "lastObservedTime": micro_time(self._clock.now())}
        await self._client.merge_patch(EVENTS, note.namespace, note.event_name, {"series": fields})
        series.written_at = self._clock.monotonic()

    def _new(self, note: Note) -> bytes:
        metadata = note.metadata
        return msgspec.json.encode(
            {
                "apiVersion": EVENTS.api_version,
                "kind": EVENTS.kind,
                "metadata": {"name": note.event_name, "namespace": note.namespace},
                "eventTime": micro_time(note.told_at),
                "reportingController": self._component,
                "reportingInstance": self._instance,
                "type": note.type,
                "reason": note.reason,
                "note": note.message,
                "action": note.action,
                "regarding": {
                    "apiVersion": note.resource.api_version,
                    "kind": note.resource.kind,
                    "name": metadata.name,
                    "namespace": metadata.namespace,
                    "uid": metadata.uid,
                    "resourceVersion": metadata.resource_version,
                },
            }
        )

    def _drop(self, reason: str) -> None:
        if self._metrics:
            self._metrics.event_dropped(reason)


def _about(note: Note) -> _About:
    return note.resource.name, note.metadata.key


def _note_text(message: str) -> str:
    """At most 1024 bytes, as the API server demands."""
    return message.encode()[:1024].decode(errors="ignore")
