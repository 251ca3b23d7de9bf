"""A reflector on a faulty server, and the results that its tests look at."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import msgspec

from controller.api.meta import Key, ObjectMeta
from controller.kube.reflector import Reflector
from controller.kube.resources import Resource
from controller.kube.store import Store
from tests.component.kube.faulty_server import (
    FaultyServer,
    connected,
)

THINGS = Resource("example.com", "v1", "things", "Thing")


class Thing(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    size: int = 0
    note: msgspec.Raw = msgspec.Raw(b"{}")


class RecordedChanges:
    """A listener that keeps what it hears."""

    def __init__(self, store: Store[Thing]) -> None:
        self.changes: list[tuple[str, str]] = []
        store.subscribe(self)

    def __call__(self, old: Thing | None, new: Thing | None) -> None:
        view = new or old
        assert view is not None
        kind = "added" if old is None else "deleted" if new is None else "changed"
        self.changes.append((kind, view.metadata.name))


class Counted:
    """Metrics of a reflector."""

    def __init__(self) -> None:
        self.lists: list[str] = []
        self.unreadable = 0

    def relisted(self, resource: str, reason: str) -> None:
        self.lists.append(reason)

    def undecodable(self, resource: str) -> None:
        self.unreadable += 1

    def watched(self, resource: str, events: int, cached: int) -> None:
        pass

    def unwatched(self, resource: str) -> None:
        pass


class Scene:
    """A server, a reflector on it, and their results."""

    def __init__(self, server: FaultyServer, reflector: Reflector[Thing], metrics: Counted) -> None:
        self.server = server
        self.reflector = reflector
        self.store = reflector.store
        self.metrics = metrics
        self.heard = RecordedChanges(reflector.store)

    def size(self, name: str) -> int | None:
        view = self.store.get(Key("shop", name))
        return view.size if view else None


@contextlib.asynccontextmanager
async def reflecting(server: FaultyServer, **options: Any) -> AsyncIterator[Scene]:
    async with server.running(), connected(server) as client:
        store: Store[Thing] = Store()
        metrics = Counted()
        reflector = Reflector(
            client, THINGS, store, Thing, metrics=metrics, random=Random(1), **options
        )
        scene = Scene(server, reflector, metrics)
        task = asyncio.create_task(reflector.run())
        try:
            yield scene
        finally:
            assert not task.done(), "a reflector never ends by itself"
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def settled(seconds: float = 0.0) -> None:
    """Let everything that is ready happen, and `seconds` pass."""
    await asyncio.sleep(seconds + 0.001)
