"""A server of kinds that come and go: discovery, CRDs, lists and watches, by path."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from random import Random
from typing import Any

from controller.api.meta import Key, ObjectMeta
from controller.kube.dynamic import DynamicKinds
from controller.kube.kind_watch import Kind, RawObject
from controller.kube.store import Store
from tests.component.kube.faulty_server import (
    FaultyServer,
    Reply,
    Request,
    connected,
    event,
    status,
    thing,
)

GROUP = "gates.example.com"
LANE: Kind = (f"{GROUP}/v1", "Lane")
CRD = f"lanes.{GROUP}"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


DEEP = "nested too deeply"
"""In an object: is sent as a value that no decoder reads; a server accepts ten thousand levels."""
_LEVELS = b"[" * 5000 + b"]" * 5000


class Kinds:
    """The kinds and objects that the server serves. A test may change every field at any time."""

    def __init__(self, *versions: str, declared: bool = True) -> None:
        self.versions = [*versions]
        self.declared = declared
        self.may_list = True
        self.may_read_crds = True
        self.may_get_crds = True
        """Lists and watches of CRDs are another right."""
        self.names_kinds_in_lists = True
        """Lists of a CRD's objects have a kind in each item; those of the server's own kinds have none."""
        self.objects: list[dict[str, Any]] = [thing("a", "5")]
        self.server = FaultyServer(lists=[self._answer], watches=[self._watch])
        self._news: list[asyncio.Event] = []

    @property
    def paths(self) -> list[str]:
        """The paths of all requests but watches."""
        return [request.path for request in self.server.listed]

    @property
    def lists(self) -> list[str]:
        """Lists of lanes."""
        return [path for path in self.paths if path.endswith("/lanes")]

    def serve(self, *versions: str) -> None:
        """Serve these versions from now on, and end the watches of other versions; the CRD lists the served ones."""
        self.versions, self.declared = [*versions], True
        for news in self._news:
            news.set()

    async def _answer(self, request: Request, reply: Reply) -> None:
        code, body = self._response(request.path)
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        await reply.answer(code, text.replace(b'"%s"' % DEEP.encode(), _LEVELS))

    def _response(self, path: str) -> tuple[int, object]:
        if path == CRDS:
            if not self.may_read_crds:
                return 403, status(403, "Forbidden", "crds is forbidden")
            return 200, {"metadata": {"resourceVersion": "9"}, "items": self._crds()}
        if path == f"{CRDS}/{CRD}" and not self.may_get_crds:
            return 403, status(403, "Forbidden", "crds is forbidden: you cannot get them")
        if path == f"{CRDS}/{CRD}":
            return 200, {"metadata": {"name": CRD}, "spec": {"names": {"kind": "Lane"}}}
        if path == f"/apis/{GROUP}" and self.versions:
            found = [{"groupVersion": f"{GROUP}/{version}"} for version in self.versions]
            return 200, {"versions": found, "preferredVersion": found[0]}
        version, _, plural = path.removeprefix(f"/apis/{GROUP}/").partition("/")
        if version not in self.versions:
            return 404, status(404, "NotFound", "no such version")
        if not plural:
            return 200, {"resources": [{"name": "lanes", "kind": "Lane", "namespaced": True}]}
        if not self.may_list:
            return 403, status(403, "Forbidden", "lanes is forbidden: you cannot list them")
        items = [{**item, "apiVersion": f"{GROUP}/{version}"} for item in self.objects]
        if not self.names_kinds_in_lists:
            left_out = ("apiVersion", "kind")
            items = [{k: v for k, v in item.items() if k not in left_out} for item in items]
        return 200, {"metadata": {"resourceVersion": "10"}, "items": items}

    def _crds(self) -> list[dict[str, Any]]:
        return [{"metadata": {"name": CRD, "resourceVersion": "8"}}] if self.declared else []

    async def _watch(self, request: Request, reply: Reply) -> None:
        if request.path != CRDS and request.path.split("/")[3] not in self.versions:
            await reply.answer(404, status(404, "NotFound", "no such version"))
            return
        await reply.begin_stream()
        news = asyncio.Event()
        self._news.append(news)
        if request.path == CRDS:
            number = 10
            while True:
                await news.wait()
                news.clear()
                number += 1
                meta = {"metadata": {"name": CRD, "resourceVersion": str(number)}}
                await reply.send(event("MODIFIED", meta))
        while request.path.split("/")[3] in self.versions:
            await news.wait()
            news.clear()
        await reply.end_stream()


class Notified:
    """The owners that were notified, in order."""

    def __init__(self) -> None:
        self.owners: list[Key] = []
        self.followed: list[str] = []

    def ready(self, owner: Key) -> None:
        self.owners.append(owner)

    def changed(self, kind: Kind, metadata: ObjectMeta) -> None:
        pass

    def follow(self, name: str, store: Store[RawObject]) -> Any:
        self.followed.append(name)
        return lambda: self.followed.remove(name)


@contextlib.asynccontextmanager
async def watching(served: Kinds) -> AsyncIterator[tuple[DynamicKinds, Notified]]:
    """Kinds on that server, and their notifications."""
    notified = Notified()
    async with served.server.running(), connected(served.server) as client:
        kinds = DynamicKinds(
            client,
            namespace=None,
            changed=notified.changed,
            ready=notified.ready,
            follow=notified.follow,
            random=Random(1),
        )
        task = asyncio.create_task(kinds.run())
        try:
            yield kinds, notified
        finally:
            assert not task.done()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
