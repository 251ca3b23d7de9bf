"""Follows the objects that a measurement waits for, by watch.

Why it exists: polling would add requests and inaccuracy to the measurement. Invariants: one watch per kind, only the
few fields of `View` are decoded, nothing is missed between two watches; a watch that has ended for good fails every
later wait, too. It must not write.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple, Self

import aiohttp
import msgspec

from localcluster.api import ApiClient
from localcluster.errors import NotReady, RequestRefused


class Key(NamedTuple):
    """Names one object of a kind."""

    namespace: str
    name: str


class Metadata(msgspec.Struct, rename="camel", frozen=True):
    """Name and version."""

    resource_version: str
    name: str = ""
    namespace: str = ""


class Condition(msgspec.Struct, frozen=True):
    """A condition of a Rollout."""

    type: str = ""
    status: str = ""
    message: str = ""


class Status(msgspec.Struct, rename="camel", frozen=True):
    """The fields that are read of a Rollout's or a Deployment's status."""

    phase: str = ""
    message: str = ""
    current_step_index: int = 0
    current_step_state: str = ""
    conditions: tuple[Condition, ...] = ()
    ready_replicas: int = 0

    def says(self, condition: str) -> bool:
        """Whether a condition is True."""
        return any(c.type == condition and c.status == "True" for c in self.conditions)


class View(msgspec.Struct, frozen=True):
    """An object."""

    metadata: Metadata
    status: Status = Status()

    @property
    def key(self) -> Key:
        """Its name."""
        return Key(self.metadata.namespace, self.metadata.name)


class _List(msgspec.Struct, frozen=True):
    metadata: Metadata
    items: tuple[View, ...] = ()


class _Answer(msgspec.Struct, frozen=True):
    code: int = 500
    message: str = ""


class _Line(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


Predicate = Callable[[View | None], bool]
"""A predicate of the present object; None: the object does not exist."""
Listener = Callable[[View], None]

PATIENCE_SECONDS = 10.0
RETRY_SECONDS = 0.1
NOT_READY = (404, 429)
"""A kind that was installed a moment ago is refused for a while: its storage is being initialized."""
GONE = 410
"""The storage of a kind whose definition was changed knows no version from before."""

_LINE = msgspec.json.Decoder(_Line)
_VIEW = msgspec.json.Decoder(View)
_LIST = msgspec.json.Decoder(_List)
_ANSWER = msgspec.json.Decoder(_Answer)


class Follower:
    """All objects of one kind; make it with `start`."""

    def __init__(self, client: ApiClient, path: str) -> None:
        self._client = client
        self._path = path
        self._version = ""
        self._views: dict[Key, View] = {}
        self._waiting: dict[Key, list[tuple[Predicate, asyncio.Future[None]]]] = {}
        self._listeners: list[Listener] = []
        self._failure: NotReady | None = None

    @classmethod
    @asynccontextmanager
    async def start(cls, client: ApiClient, path: str) -> AsyncIterator[Self]:
        """Follow the collection `path` for the length of a block."""
        follower = cls(client, path)
        await follower._list()
        task = asyncio.create_task(follower._run(), name=f"follow {path}")
        try:
            yield follower
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def get(self, key: Key) -> View | None:
        """The object as it is now."""
        return self._views.get(key)

    async def until(self, key: Key, predicate: Predicate) -> None:
        """Return when the object satisfies the predicate; the caller limits the time."""
        if predicate(self.get(key)):
            return
        if self._failure is not None:
            raise self._failure
        future = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(key, [])
        entry = (predicate, future)
        waiting.append(entry)
        try:
            await future
        finally:
            waiting.remove(entry)

    @asynccontextmanager
    async def listening(self, listener: Listener) -> AsyncIterator[None]:
        """Call `listener` after each change for the length of a block."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    async def _list(self) -> None:
        """Read the present objects, as soon as the kind is ready."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await self._listed():  # noqa: ASYNC110 - bounded
                await asyncio.sleep(RETRY_SECONDS)

    async def _listed(self) -> bool:
        try:
            listed = _LIST.decode(await self._client.text(self._path))
        except RequestRefused as refused:
            if refused.status in NOT_READY:
                return False
            raise
        self._views = {view.key: view for view in listed.items}
        self._version = listed.metadata.resource_version
        return True

    async def _run(self) -> None:
        while True:
            try:
                await self._watch()
            except aiohttp.ClientError:
                continue
            except (RequestRefused, msgspec.MsgspecError) as failure:
                status = failure.status if isinstance(failure, RequestRefused) else 0
                if status in NOT_READY:
                    await asyncio.sleep(RETRY_SECONDS)
                elif status == GONE:
                    await self._list_again()
                else:
                    self._fail(NotReady(f"the watch of {self._path} ended: {failure}"))
                    return

    async def _list_again(self) -> None:
        before = self._views
        await self._list()
        for key in before.keys() - self._views.keys():
            self._tell(key)
        for view in tuple(self._views.values()):
            self._take(view, gone=False)

    async def _watch(self) -> None:
        parameters = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
        }
        async with self._client.stream(self._path, parameters) as lines:
            async for line in lines:
                event = _LINE.decode(line)
                if event.type == "ERROR":
                    answer = _ANSWER.decode(event.object)
                    raise RequestRefused(answer.code, answer.message)
                view = _VIEW.decode(event.object)
                self._version = view.metadata.resource_version
                if event.type != "BOOKMARK":
                    self._take(view, gone=event.type == "DELETED")

    def _take(self, view: View, gone: bool) -> None:
        if gone:
            self._views.pop(view.key, None)
        else:
            self._views[view.key] = view
            for listener in self._listeners:
                listener(view)
        self._tell(view.key)

    def _tell(self, key: Key) -> None:
        for predicate, future in self._waiting.get(key, ()):
            if not future.done() and predicate(self.get(key)):
                future.set_result(None)

    def _fail(self, error: NotReady) -> None:
        self._failure = error
        for waiting in self._waiting.values():
            for _, future in waiting:
                if not future.done():
                    future.set_exception(error)
