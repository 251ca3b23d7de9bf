"""Watches CRDs, without their schemas, while a Rollout waits for a kind or uses one.

Why: so an installed, changed or deleted CRD is noticed at once, without polling. Invariant: only metadata is watched
(schemas are megabytes); a whole CRD is read for the name of its kind alone, when a kind of its group is not served. A
missing right to read CRDs is no error: kinds are then looked up by discovery alone.
"""

import asyncio
from collections.abc import Callable
from random import Random

import msgspec

from controller.api.decoding import decoded
from controller.api.meta import ObjectMeta
from controller.domain.availability import Forbidden, NotServed
from controller.errors import Forbidden as ForbiddenByServer
from controller.errors import NotFound, UnreadableAnswer
from controller.kube.client import KubeClient
from controller.kube.reflector import Reflector, ReflectorMetrics
from controller.kube.resources import CRD_METADATA, CRDS
from controller.kube.store import Store


class _Head(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _Names(msgspec.Struct, frozen=True):
    kind: str = ""


class _Spec(msgspec.Struct, frozen=True):
    names: _Names = _Names()


class _Crd(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


class CustomResources:
    """Watches CRDs once `ask` was called, until `rest`."""

    def __init__(
        self,
        client: KubeClient,
        changed: Callable[[str], None],
        random: Random,
        metrics: ReflectorMetrics | None = None,
    ) -> None:
        """`changed` is called with the group of a CRD that was added, changed or deleted."""
        self._client = client
        self._changed = changed
        self._random = random
        self._metrics = metrics
        self._wanted = asyncio.Event()
        self._ended = asyncio.Event()
        self._reflector: Reflector[_Head] | None = None
        self._kinds: dict[str, str] = {}

    @property
    def watching(self) -> bool:
        """Whether a watch runs, so that changes of CRDs are reported."""
        return self._reflector is not None and self._reflector.healthy

    def ask(self) -> None:
        """Watch CRDs from now on: somebody waits for a kind."""
        self._wanted.set()

    def rest(self) -> None:
        """Stop watching: no kind is used."""
        self._wanted.clear()
        self._ended.set()

    async def declared(self, group: str, kind: str) -> str:
        """Name of the CRD that declares the kind; empty if none does, or where CRDs may not be read."""
        if self._reflector is None:
            return ""
        names = (known.metadata.name for known in self._reflector.store.values())
        for name in [name for name in names if name.partition(".")[2] == group]:
            if name not in self._kinds and (found := await self._kind_of(name)):
                self._kinds[name] = found
            if self._kinds.get(name) == kind:
                return name
        return ""

    async def _kind_of(self, name: str) -> str:
        """The kind that a CRD declares; empty if that is not known now (no right, or the CRD is just being deleted)."""
        try:
            body = await self._client.get(CRDS, "", name)
        except (NotFound, ForbiddenByServer):
            return ""
        try:
            return decoded(body, _Crd).spec.names.kind
        except msgspec.DecodeError as failure:
            raise UnreadableAnswer(f"CRD {name} could not be read: {failure}") from failure

    async def run(self) -> None:
        """Watch while it is wanted, until cancelled; a missing right ends it until somebody asks again."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            self._ended.clear()
            await self._watch()

    async def _watch(self) -> None:
        store: Store[_Head] = Store()
        store.subscribe(self._on_change)
        self._reflector = Reflector(
            self._client,
            CRD_METADATA,
            store,
            _Head,
            notify=self._judge,
            random=self._random,
            metrics=self._metrics,
        )
        try:
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(self._reflector.run())
                await self._ended.wait()
                watching.cancel()
        finally:
            self._reflector = None
            self._kinds.clear()

    def _judge(self) -> None:
        assert self._reflector is not None
        if isinstance(self._reflector.availability, Forbidden | NotServed):
            self._ended.set()

    def _on_change(self, old: _Head | None, new: _Head | None) -> None:
        view = new if new is not None else old
        assert view is not None
        self._kinds.pop(view.metadata.name, None)
        self._changed(view.metadata.name.partition(".")[2])
