"""Records every change of chosen kinds in the order in which the cluster made them.

Why it exists: invariants are judged from the history of the whole cluster, not from the few objects that a test reads.
Invariant: recording starts from one revision for all kinds; while the API server lives no change is missed, and where
its restart forces a new list the stretch is named in `gaps`; `missing` compares with the audit log. It must not write.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Self, TypeVar

import aiohttp
import msgspec

from localcluster.api import ApiClient, JsonObject
from localcluster.audit import AuditRecord
from localcluster.errors import NotReady, RecordingLost, RequestRefused
from localcluster.history import Change, Gap, Key, Kind, changes_between, make_change, unseen_writes

RETRY_SECONDS = 0.1
DEFAULT_SECONDS = 90.0
GONE = 410
# A server that has just started refuses allowed users for a moment: it is still reading their rights.
PATIENCE_SECONDS = 60.0

T = TypeVar("T")


class _Line(msgspec.Struct):
    type: str
    object: JsonObject


_LINE = msgspec.json.Decoder(_Line)


class Recorder:
    """Watches kinds and keeps their changes; make it with `start`."""

    def __init__(self, client: ApiClient) -> None:
        self.gaps: list[Gap] = []
        self._client = client
        self._initial: list[Change] = []
        self._arrived: list[Change] = []
        self._latest: dict[Key, Change] = {}
        self._since: dict[Kind, int] = {}
        self._position: dict[Kind, int] = {}
        self._heard: dict[Kind, float] = {}
        self._lost: BaseException | None = None
        self._news = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    @asynccontextmanager
    async def start(cls, client: ApiClient, kinds: Iterable[Kind]) -> AsyncIterator[Self]:
        """Record until the block ends; the first revision is one for all kinds."""
        recorder = cls(client)
        try:
            await recorder.add(*kinds)
            yield recorder
        finally:
            await recorder.close()

    async def add(self, *kinds: Kind) -> int:
        """Record further kinds from now on; return the revision from which they are recorded."""
        probe = await self._client.get(kinds[0].path, limit="1")
        revision = int(probe["metadata"]["resourceVersion"])
        for kind in kinds:
            existing = await self._list(kind, revision)
            self._initial += existing
            self._latest.update({change.key: change for change in existing})
            self._since[kind] = revision
        for kind in kinds:
            task = asyncio.create_task(self._follow(kind, revision), name=f"record {kind.plural}")
            self._tasks.add(task)
        return revision

    def initial(self) -> tuple[Change, ...]:
        """Return the objects that existed when recording began."""
        return tuple(self._initial)

    def mark(self) -> int:
        """Return a cursor behind everything seen so far."""
        return len(self._arrived)

    def history(self, since: int = 0) -> tuple[Change, ...]:
        """Return the changes seen so far, or after a mark, in the order in which the cluster made them."""
        self._check()
        return tuple(sorted(self._arrived[since:], key=lambda change: change.resource_version))

    def state(self) -> dict[Key, JsonObject]:
        """Return the newest known object of each key that is not deleted."""
        self._check()
        return {k: change.object for k, change in self._latest.items() if change.type != "DELETED"}

    async def until(
        self,
        predicate: Callable[[Change], bool],
        timeout: float = DEFAULT_SECONDS,  # noqa: ASYNC109 - the caller's bound is part of the call
        since: int = 0,
    ) -> Change:
        """Return a change, recorded already (the earliest after a mark) or to come, that the predicate accepts."""
        for change in self.history(since):
            if predicate(change):
                return change
        seen = len(self._arrived)

        def look() -> Change | None:
            nonlocal seen
            fresh, seen = self._arrived[seen:], len(self._arrived)
            return next(filter(predicate, fresh), None)

        return await self._wait(look, timeout)

    async def until_state(
        self,
        predicate: Callable[[dict[Key, JsonObject]], bool],
        timeout: float = DEFAULT_SECONDS,  # noqa: ASYNC109 - as above
    ) -> None:
        """Return when the recorded state satisfies the predicate."""
        await self._wait(lambda: predicate(self.state()) or None, timeout)

    async def caught_up(self, timeout: float = DEFAULT_SECONDS) -> int:  # noqa: ASYNC109 - as above
        """Wait for everything that the server lists now; return the revision of the newest list."""
        newest = 0
        for kind in tuple(self._since):
            body = await self._client.get(kind.path)
            revision = int(body["metadata"]["resourceVersion"])
            listed = {c.key: c for c in (make_change(kind, "", item) for item in body["items"])}
            await self._wait(self._reached(kind, listed, revision), timeout)
            newest = max(newest, revision)
        return newest

    def missing(self, records: Iterable[AuditRecord]) -> tuple[AuditRecord, ...]:
        """Return successful writes of recorded kinds whose revision was not seen."""
        known = {change.resource_version for change in (*self._initial, *self._arrived)}
        return unseen_writes(
            records, known, {(k.group, k.plural): v for k, v in self._since.items()}
        )

    async def close(self) -> None:
        """End all watches."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    def _check(self) -> None:
        if self._lost is not None:
            raise RecordingLost(f"the recording ended: {self._lost}") from self._lost

    def _reached(
        self, kind: Kind, listed: dict[Key, Change], revision: int
    ) -> Callable[[], bool | None]:
        def look() -> bool | None:
            behind = any(
                key not in self._latest
                or self._latest[key].resource_version < change.resource_version
                for key, change in listed.items()
            )
            not_yet_gone = any(
                key.kind == kind
                and key not in listed
                and change.type != "DELETED"
                and change.resource_version <= revision
                for key, change in self._latest.items()
            )
            return None if behind or not_yet_gone else True

        return look

    async def _wait(self, look: Callable[[], T | None], seconds: float) -> T:
        try:
            async with asyncio.timeout(seconds), self._news:
                while (found := look()) is None:
                    self._check()
                    await self._news.wait()
                return found
        except TimeoutError as error:
            raise NotReady(
                f"not seen within {seconds} s; {len(self._arrived)} changes recorded"
            ) from error

    async def _list(self, kind: Kind, revision: int | None) -> list[Change]:
        exact = (
            {"resourceVersion": str(revision), "resourceVersionMatch": "Exact"} if revision else {}
        )
        body = await self._client.get(kind.path, **exact)
        return [make_change(kind, "EXISTED", item) for item in body["items"]]

    async def _follow(self, kind: Kind, revision: int) -> None:
        self._position[kind] = revision
        self._heard[kind] = time.monotonic()
        while True:
            try:
                await self._watch(kind)
            except RequestRefused as refused:
                if refused.status == GONE:
                    await self._bridge(kind)
                elif time.monotonic() - self._heard[kind] > PATIENCE_SECONDS:
                    return await self._give_up(refused)
            except (aiohttp.ClientError, TimeoutError):
                pass
            await asyncio.sleep(RETRY_SECONDS)

    async def _give_up(self, error: Exception) -> None:
        async with self._news:
            self._lost = error
            self._news.notify_all()

    async def _watch(self, kind: Kind) -> None:
        """Record the events of one watch, until it ends; the position moves with every line."""
        parameters = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": str(self._position[kind]),
        }
        async with self._client.stream(kind.path, parameters) as lines:
            self._heard[kind] = time.monotonic()
            async for line in lines:
                event = _LINE.decode(line)
                if event.type == "ERROR":
                    raise RequestRefused(
                        event.object.get("code", 500), event.object.get("message", "")
                    )
                if event.type != "BOOKMARK":
                    await self._keep([make_change(kind, event.type, event.object)])
                self._position[kind] = int(event.object["metadata"]["resourceVersion"])

    async def _bridge(self, kind: Kind) -> None:
        """List the kind after the server has forgotten the events since the last line."""
        revision = self._position[kind]
        try:
            body = await self._client.get(kind.path)
        except (aiohttp.ClientError, TimeoutError, RequestRefused):
            return
        until = int(body["metadata"]["resourceVersion"])
        listed = (make_change(kind, "EXISTED", item) for item in body["items"])
        found = changes_between(self._latest, listed, kind, until)
        self.gaps.append(Gap(kind, revision, until, len(found)))
        await self._keep(found)
        self._position[kind] = until

    async def _keep(self, changes: Iterable[Change]) -> None:
        async with self._news:
            for change in changes:
                self._arrived.append(change)
                self._latest[change.key] = change
            self._news.notify_all()
