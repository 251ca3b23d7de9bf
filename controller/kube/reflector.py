"""Keeps a store equal to the API server: list once, watch from there, repair what breaks.

Invariants: a store is never changed by half a list; nothing is missed between list and watch, nor between two
watches; any failure leads to a pause that grows and is jittered, never to a hot loop and never to an exception;
an object that cannot be read keeps its last readable view, is counted and named (`undecodable`), and costs one extra
list, not the watch; one that is nested too deeply does not even cost the list. Only an object without a readable name
has no view. Events carry no meaning beyond "this is how the object is now".

The state of the kind is a type (`availability`), and `notify` is called when it changes. An interruption leaves a store
that was complete `Synced` for `STALE` seconds: every write carries the version that was read.

Times: a watch lasts 5 to 10 minutes and ends cleanly; two minutes of silence mean a dead peer. A missing right or
kind is tried again every `PROBE` seconds at most, by this one watch for all waiting Rollouts.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from random import Random
from typing import Generic, Protocol, TypeVar

import msgspec

from controller.api.decoding import shallow_reader_of
from controller.api.depth import TOO_DEEP, is_too_deep
from controller.api.meta import Key
from controller.api.names import GROUP
from controller.domain.availability import (
    Availability,
    Failing,
    Loading,
    NotServed,
    Synced,
    Unavailable,
)
from controller.domain.availability import Forbidden as MissingRight
from controller.errors import (
    Forbidden,
    Gone,
    MoonshiftError,
    NotFound,
    Throttled,
    UnreadableAnswer,
)
from controller.kube.nesting import is_outline, read_around
from controller.kube.resources import Resource
from controller.kube.store import Store, V
from controller.kube.verbs import Watches
from controller.kube.watch import (
    WatchEvent,
    error_in_stream,
    event_of,
    page_of,
    read_identity,
)
from controller.runtime.backoff import Backoff

SHORTEST_PAUSE = 0.2
LONGEST_PAUSE = 30.0
PROBE = 8.0
"""The longest time in seconds until a forbidden list, or a list of a kind that is not served, is tried again."""
STALE = 30.0
"""Seconds for which a complete store is relied on while its watch is interrupted."""
CLOCK = 0.001
"""A timer of the loop may be early by less than this."""
GOOD_WATCH_SECONDS = (
    5.0  # a watch that lasted this many seconds was a good one, also without events
)
EVENTS_BETWEEN_YIELDS = 40
"""Events that are handled before other work of the process gets a turn: a millisecond or two, and at the start ten
watches take in theirs at the same time."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


class ReflectorMetrics(Protocol):
    """Metrics of reflectors."""

    def relisted(self, resource: str, reason: str) -> None:
        """Everything is listed: start, gone or undecodable."""
        ...

    def undecodable(self, resource: str) -> None:
        """Something could not be read."""
        ...

    def watched(self, resource: str, events: int, cached: int) -> None:
        """Report the number of handled events, and of objects in the store."""
        ...

    def unwatched(self, resource: str) -> None:
        """The kind is watched no longer."""
        ...


class Watchable(Watches, Protocol):
    """The two verbs a reflector needs; KubeClient has them."""

    def list_pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
    ) -> AsyncGenerator[bytes, None]:
        """All objects, page by page."""
        ...


class _Unreadable(Exception):
    """A line or an object cannot be decoded; listing once may help."""


class Reflector(Generic[V]):
    """One kind, one selection, one store; `run` never returns."""

    def __init__(
        self,
        client: Watchable,
        resource: Resource,
        store: Store[V],
        view_type: type[V],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        read: Callable[[msgspec.Raw], V] | None = None,
        transform: Callable[[V], V] | None = None,
        on_undecodable: Callable[[Key, str], None] | None = None,
        notify: Callable[[], None] | None = None,
        metrics: ReflectorMetrics | None = None,
        random: Random | None = None,
    ) -> None:
        self.resource = resource
        self.store = store
        self.synced = asyncio.Event()
        self.undecodable: dict[Key, str] = {}
        self._client = client
        self._selection = (namespace, label_selector, field_selector)
        self._read_view = read or shallow_reader_of(view_type)
        self._transform = transform
        self._walks = resource.group == GROUP
        """Our own kinds have parts of any form, and decisions walk through all of them."""
        self._on_undecodable = on_undecodable
        self._notify = notify
        self._trouble: Unavailable | None = None
        self._stale_at = 0.0
        self._growing_stale: asyncio.TimerHandle | None = None
        self._metrics = metrics
        self._backoff = Backoff(SHORTEST_PAUSE, LONGEST_PAUSE, random or Random())
        self._renewed_at = -PROBE
        self._version = ""  # empty: list first
        self._why_list = "start"

    @property
    def problem(self) -> str | None:
        """Why the last attempt to keep the store complete failed; None when it did not."""
        return self._trouble.message if self._trouble is not None else None

    @property
    def trouble(self) -> Unavailable | None:
        """Why the store is not complete, as a type; None if it is complete."""
        return self._trouble

    @property
    def healthy(self) -> bool:
        """The store is complete, and the last attempt to keep it so succeeded."""
        return self.synced.is_set() and self._trouble is None

    @property
    def availability(self) -> Availability:
        """Whether the store can be relied on."""
        complete = self.synced.is_set()
        match self._trouble:
            case None:
                return Synced() if complete else Loading(f"{self.resource.name} is being listed")
            case Failing() if complete and _now() < self._stale_at:
                return Synced()
            case trouble:
                return trouble

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            missing = await self.follow()
            # when the kind is served again, its resource versions may have begun again
            self._list_again("not_served")
            text = f"{self.resource.name} is not served: {missing}"
            await self._pause(NotServed(text), at_most=PROBE)

    async def follow(self) -> NotFound:
        """List and watch until the server does not serve the kind in this version (any more): its answer."""
        try:
            while True:
                try:
                    if not self._version:
                        await self._list()
                    await self._watch()
                except NotFound as missing:
                    return missing
                except (_Unreadable, MoonshiftError) as failure:
                    await self._recover(failure)
        finally:
            self._stop_growing_stale()

    async def _recover(self, failure: Exception) -> None:
        """Decide whether the store has to be listed again, then pause."""
        self._note_progress()
        match failure:
            case Gone():
                self._list_again("gone")
                await self._pause(None)
            case _Unreadable():
                self._list_again("undecodable")
                await self._pause(Failing(str(failure)))
            case Forbidden():
                await self._pause(MissingRight(str(failure)), at_most=PROBE)
            case Throttled():
                await self._pause(Failing(str(failure)), at_least=failure.retry_after)
            case _:
                await self._pause(Failing(str(failure)))

    def _note_progress(self) -> None:
        """A kind that was not served is served: its first troubles (storage is being made, a watch ends because
        the definition is changed) are no reason for the long pauses of its absence. Once in a while only: a server that
        changes its answer all the time gets no hot loop.
        """
        if isinstance(self._trouble, NotServed) and _now() - self._renewed_at >= PROBE:
            self._renewed_at = _now()
            self._backoff.reset()

    def _list_again(self, why: str) -> None:
        self._version, self._why_list = "", why

    async def _pause(
        self, trouble: Unavailable | None, *, at_least: float = 0.0, at_most: float = LONGEST_PAUSE
    ) -> None:
        if trouble is not None and trouble.message != self.problem:
            _log.warning(
                "watch interrupted",
                extra={"resource": self.resource.name, "error": trouble.message},
            )
        self._set_trouble(trouble or self._trouble)
        await asyncio.sleep(max(min(self._backoff.next(), at_most), at_least))

    def _set_trouble(self, trouble: Unavailable | None) -> None:
        """Record why the store is not complete, and call the listener."""
        before = self.availability
        if trouble is None:
            self._stop_growing_stale()
        elif self._trouble is None:
            loop = asyncio.get_running_loop()
            self._stale_at = loop.time() + STALE
            self._growing_stale = loop.call_at(self._stale_at + CLOCK, self._is_stale)
        self._trouble = trouble
        self._notify_of_change(before)

    def _is_stale(self) -> None:
        """The store was relied on until now, if it is complete."""
        if self._notify and self.synced.is_set() and isinstance(self._trouble, Failing):
            self._notify()

    def _stop_growing_stale(self) -> None:
        if self._growing_stale is not None:
            self._growing_stale.cancel()
            self._growing_stale = None

    def _notify_of_change(self, before: Availability) -> None:
        if self._notify and type(before) is not type(self.availability):
            self._notify()

    async def _list(self) -> None:
        if self._metrics:
            self._metrics.relisted(self.resource.name, self._why_list)
        views: list[V] = []
        unreadable: list[Key] = []
        version = ""
        async with contextlib.aclosing(self._pages()) as pages:
            async for body in pages:
                try:
                    page, whole = await read_around(page_of, body)
                except msgspec.MsgspecError as failure:
                    raise UnreadableAnswer(f"a list could not be read: {failure}") from failure
                version = page.metadata.resource_version
                async for item in _in_pieces(page.items or ()):
                    self._take_item(item, views, unreadable, whole=whole)
        self.undecodable = {key: self.undecodable[key] for key in unreadable}
        if self.synced.is_set():
            await self._repair(views, unreadable)
        else:
            await self._fill(views)
        self._version = version
        before = self.availability
        self.synced.set()
        self._report(0)
        self._notify_of_change(before)

    async def _fill(self, views: list[V]) -> None:
        """Put the objects one by one, as a watch does: a hundred thousand pods at once would hold up the loop."""
        async for view in _in_pieces(views):
            self.store.put(view)

    async def _repair(self, views: list[V], unreadable: list[Key]) -> None:
        """Compare piece by piece, then change all differences together: few objects differ."""
        there = {*unreadable}
        changed = []
        async for view in _in_pieces(views):
            there.add(view.metadata.key)
            if not self.store.shows(view):
                changed.append(view)
        gone = [key async for key in _in_pieces(self.store.keys()) if key not in there]
        self.store.change(changed, gone)

    def _pages(self) -> AsyncGenerator[bytes, None]:
        namespace, label_selector, field_selector = self._selection
        return self._client.list_pages(self.resource, namespace, label_selector, field_selector)

    def _take_item(
        self, item: msgspec.Raw, views: list[V], unreadable: list[Key], *, whole: bool
    ) -> None:
        try:
            views.append(self._readable(item, whole=whole))
        except msgspec.MsgspecError as failure:
            key, _ = _identity(item)
            unreadable.append(key)
            self._name_unreadable(key, str(failure))

    async def _watch(self) -> None:
        """Follow one watch to its end."""
        loop = asyncio.get_running_loop()
        namespace, label_selector, field_selector = self._selection
        watch = self._client.watch(
            self.resource, namespace, self._version, label_selector, field_selector
        )
        async with watch as lines:
            started = loop.time()
            self._note_progress()
            self._set_trouble(None)
            try:
                await self._take_lines(lines)
            finally:
                lasted = loop.time() - started
                if lasted >= GOOD_WATCH_SECONDS:
                    self._backoff.reset()
        if lasted < GOOD_WATCH_SECONDS:
            await self._pause(None)

    async def _take_lines(self, lines: AsyncIterator[bytes]) -> None:
        taken = 0
        async for line in lines:
            await self._take_line(line)
            self._backoff.reset()
            taken += 1
            if taken % EVENTS_BETWEEN_YIELDS == 0:
                await asyncio.sleep(0)

    async def _take_line(self, line: bytes) -> None:
        try:
            event, whole = await read_around(event_of, line)
        except msgspec.MsgspecError as failure:
            self._count_unreadable()
            raise _Unreadable(f"a line of the watch could not be read: {failure}") from failure
        if event.type == "ERROR":
            raise error_in_stream(event)
        if event.type == "BOOKMARK":
            self._version = _identity(event.object)[1] or self._version
            return
        self._take_event(event, whole=whole)

    def _take_event(self, event: WatchEvent, *, whole: bool) -> None:
        try:
            view = self._readable(event.object, whole=whole)
        except msgspec.MsgspecError as failure:
            self._take_unreadable(event, str(failure), whole=whole)
            return
        key = view.metadata.key
        if event.type == "DELETED":
            self.store.remove(key, view.metadata.uid)
        else:
            self.store.put(view)
        self._report(1)
        self.undecodable.pop(key, None)
        self._version = view.metadata.resource_version

    def _take_unreadable(self, event: WatchEvent, why: str, *, whole: bool) -> None:
        key, version = _identity(event.object)
        known = key in self.undecodable
        self._name_unreadable(key, why)
        if event.type == "DELETED":
            self.store.remove(key)
            self.undecodable.pop(key, None)
        elif whole and not known and why != TOO_DEEP:
            # once: the list may show it whole, or the damage was on the way
            raise _Unreadable(f"{self.resource.kind} {key} could not be read: {why}")
        self._version = version or self._version

    def _readable(self, raw: msgspec.Raw, *, whole: bool) -> V:
        if (not whole and is_outline(raw)) or (self._walks and is_too_deep(raw)):
            return self._view_of_outline(raw)
        try:
            return self._view(raw)
        except RecursionError:
            return self._view_of_outline(raw)

    def _view(self, raw: msgspec.Raw) -> V:
        # A raw field of a view refers to the bytes from which it was decoded; these would be a whole page of a list.
        view = self._read_view(raw.copy())
        return self._transform(view) if self._transform else view

    def _view_of_outline(self, raw: msgspec.Raw) -> V:
        """The view of an object that is nested too deeply, in a kind that has one."""
        raise msgspec.DecodeError(TOO_DEEP)

    def _name_unreadable(self, key: Key, why: str) -> None:
        self._count_unreadable()
        if self.undecodable.get(key) != why:
            _log.error(
                "object skipped: it cannot be read",
                extra={"resource": self.resource.name, "key": str(key), "error": why},
            )
        self.undecodable[key] = why
        if self._on_undecodable:
            self._on_undecodable(key, why)

    def _count_unreadable(self) -> None:
        if self._metrics:
            self._metrics.undecodable(self.resource.name)

    def _report(self, events: int) -> None:
        if self._metrics:
            self._metrics.watched(self.resource.name, events, len(self.store))


async def _in_pieces(every: Iterable[T]) -> AsyncGenerator[T, None]:
    """Each item; other tasks get a turn after every few items."""
    for number, one in enumerate(every, 1):
        yield one
        if number % EVENTS_BETWEEN_YIELDS == 0:
            await asyncio.sleep(0)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _identity(raw: msgspec.Raw) -> tuple[Key, str]:
    """Name and version of an object that may not be readable otherwise."""
    try:
        metadata = read_identity(raw).metadata
    except msgspec.MsgspecError:
        return Key("", ""), ""
    return Key(metadata.namespace, metadata.name), metadata.resource_version
