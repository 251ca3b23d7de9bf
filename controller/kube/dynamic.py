"""Kinds that are learnt of at run time: gateway objects, watched from the first reference on.

Invariant: a kind is looked up by its complete apiVersion and kind, never by a bare word; a kind that is not served, or
that we may not read, is a *problem* with a text, never an empty cache. Objects are kept as the bytes the server sent.
"""

import asyncio
from collections.abc import Callable
from random import Random

import msgspec

from controller.api.meta import Key, ObjectMeta
from controller.domain.traffic.made import makers_of
from controller.errors import MoonshiftError
from controller.kube.client import KubeClient
from controller.kube.reflector import Reflector, ReflectorMetrics
from controller.kube.resources import Resource
from controller.kube.served import served
from controller.kube.store import Store

MAKER = "maker"
"""Index: UIDs of the Rollouts an object may have been made for."""
LOOK_AGAIN = 10.0
"""Seconds until a kind that was not served is looked up again; its CRD may be installed any time."""


class RawObject(msgspec.Struct, frozen=True):
    """An object of any kind: its metadata, and all of it as bytes."""

    metadata: ObjectMeta
    raw: msgspec.Raw


class _Head(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _RawReflector(Reflector[RawObject]):
    """A reflector that keeps the whole object."""

    def _view(self, raw: msgspec.Raw) -> RawObject:
        head = msgspec.json.decode(raw, type=_Head)
        return RawObject(metadata=head.metadata, raw=msgspec.Raw(bytes(raw)))


class Problem(msgspec.Struct, frozen=True):
    """Why objects of a kind cannot be read."""

    reason: str
    message: str


class Watched(msgspec.Struct, frozen=True):
    """A kind being watched."""

    resource: Resource
    reflector: Reflector[RawObject]


Kind = tuple[str, str]
"""apiVersion and kind."""


class DynamicKinds:
    """Caches of kinds asked for; `run` owns their watches."""

    def __init__(
        self,
        client: KubeClient,
        *,
        namespace: str | None,
        changed: Callable[[Kind, ObjectMeta], None],
        ready: Callable[[Kind], None],
        follow: Callable[[str, Store[RawObject]], None],
        random: Random,
        metrics: ReflectorMetrics | None = None,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._changed = changed
        self._ready = ready
        self._follow = follow
        self._random = random
        self._metrics = metrics
        self._watched: dict[Kind, Watched] = {}
        self._problems: dict[Kind, Problem] = {}
        self._wanted: asyncio.Queue[Kind] = asyncio.Queue()
        self._asked: set[Kind] = set()

    def find(self, kind: Kind, key: Key) -> RawObject | Problem | None:
        """The object, None when there is none, or why that is not known; `asked_for` first."""
        watched = self._watched.get(kind)
        if watched is None:
            return self._problems.get(kind, Problem("Loading", f"{kind[1]} is being looked up"))
        if watched.reflector.problem is not None:
            return Problem(_reason(watched.reflector.problem), watched.reflector.problem)
        return watched.reflector.store.get(key)

    def every(self, kind: Kind, namespace: str) -> tuple[RawObject, ...] | Problem:
        """All objects of a namespace, or why they are not known; `known` first."""
        watched = self._watched.get(kind)
        if watched is None:
            return self._problems.get(kind, Problem("Loading", f"{kind[1]} is being looked up"))
        found = watched.reflector.store.values()
        return tuple(entry for entry in found if entry.metadata.namespace == namespace)

    def known(self, kind: Kind) -> bool:
        """The answer of `find` can be relied on; otherwise `ready` will be called."""
        watched = self._watched.get(kind)
        if watched is None:
            self._want(kind)
            return kind in self._problems
        return watched.reflector.synced.is_set() or watched.reflector.problem is not None

    def resource(self, kind: Kind) -> Resource | None:
        """How to address the kind, once it was found."""
        watched = self._watched.get(kind)
        return watched.resource if watched is not None else None

    def made_for(self, kind: Kind, namespace: str, rollout_uid: str) -> tuple[RawObject, ...]:
        """Objects of a kind that were made for a Rollout."""
        watched = self._watched.get(kind)
        if watched is None:
            return ()
        found = watched.reflector.store.index(MAKER, rollout_uid)
        return tuple(item for item in found if item.metadata.namespace == namespace)

    def _want(self, kind: Kind) -> None:
        if kind not in self._asked:
            self._asked.add(kind)
            self._wanted.put_nowait(kind)

    async def run(self) -> None:
        """Look kinds up and watch them, until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                kind = await self._wanted.get()
                group.create_task(self._serve(kind), name=f"watch {kind[1]}")

    async def _serve(self, kind: Kind) -> None:
        resource = await self._look_up(kind)
        store: Store[RawObject] = Store({MAKER: lambda item: makers_of(item.metadata)})
        self._follow(resource.name, store)
        store.subscribe(lambda old, new: self._tell(kind, old, new))
        reflector = _RawReflector(
            self._client,
            resource,
            store,
            RawObject,
            namespace=self._namespace if resource.namespaced else None,
            random=self._random,
            metrics=self._metrics,
        )
        self._watched[kind] = Watched(resource, reflector)
        self._problems.pop(kind, None)
        async with asyncio.TaskGroup() as group:
            group.create_task(reflector.run())
            await reflector.synced.wait()
            self._ready(kind)

    async def _look_up(self, kind: Kind) -> Resource:
        api_version, name = kind
        while True:
            try:
                found = await served(self._client, api_version, name)
            except MoonshiftError as failure:
                self._fail(kind, Problem("Undiscoverable", f"{api_version}: {failure}"))
                await asyncio.sleep(LOOK_AGAIN)
                continue
            if found is not None:
                return found
            text = (
                f"{name} ({api_version}) is not served by this cluster: install its CRD, or "
                "correct apiVersion and kind"
            )
            self._fail(kind, Problem("KindNotServed", text))
            await asyncio.sleep(LOOK_AGAIN)

    def _fail(self, kind: Kind, problem: Problem) -> None:
        if self._problems.get(kind) != problem:
            self._problems[kind] = problem
            self._ready(kind)

    def _tell(self, kind: Kind, old: RawObject | None, new: RawObject | None) -> None:
        view = new if new is not None else old
        assert view is not None
        self._changed(kind, view.metadata)


def _reason(problem: str) -> str:
    if "is not served" in problem:
        return "KindNotServed"
    return "Forbidden" if "forbidden" in problem.lower() else "Unreadable"
