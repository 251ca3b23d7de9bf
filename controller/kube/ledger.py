"""Read your own writes: no decision on a cache that does not yet show our own writes.

The rule. A write returns a resource version. The cache has caught up with it when a watch event delivers
exactly that version for that object, or a deletion of the object, or when either was delivered *before* the
write's answer arrived. A watch delivers every version of an object in order, so one of these comes, unless a
new list skipped it or the object left the watched selection without an event; for those cases
`UNSEEN_WRITE_SECONDS` end the wait. Versions are never ordered, only compared for equality: an event with another
version may be older than the write, so it proves nothing.

Invariants: waiting is bounded; a write to a kind that is not cached is never waited for; memory is bounded
(`REMEMBERED` events in all). A scope identifies the writer, usually by the key of one Rollout.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeVar

import msgspec

from controller.api.meta import Key
from controller.kube.store import HasMetadata, Store

UNSEEN_WRITE_SECONDS = 5.0  # seconds
REMEMBERED = 4096  # events

V = TypeVar("V", bound=HasMetadata)
_Object = tuple[str, Key]  # resource name, key


class _Awaited(msgspec.Struct, frozen=True):
    """A version, or with `gone` the end of a uid, that the cache has to show until `deadline`."""

    version: str
    deadline: float
    gone: bool = False


class LateEvents:
    """The events that watches delivered lately; all ledgers of a process share them.

    Each is one text: as tuples thousands of them would be four times as large, and work for the garbage collector.
    """

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._order: deque[str] = deque()

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, event: str) -> bool:
        return event in self._known

    def add(self, event: str) -> None:
        """Keep a version that a watch delivered just now."""
        if event in self._known:
            return
        self._known.add(event)
        self._order.append(event)
        if len(self._order) > REMEMBERED:
            self._known.discard(self._order.popleft())


class WriteLedger:
    """The writes of this process that its caches have not shown yet."""

    def __init__(
        self,
        requeue: Callable[[Key], None] | None = None,
        patience: float = UNSEEN_WRITE_SECONDS,
        seen: LateEvents | None = None,
    ) -> None:
        """Ledgers that follow the same stores may share what they have `seen`."""
        self._requeue = requeue
        self._patience = patience
        self._shows: dict[str, Callable[[Key], str]] = {}
        self._seen = LateEvents() if seen is None else seen
        self._awaited: dict[Key, dict[_Object, _Awaited]] = {}
        self._scopes: dict[_Object, set[Key]] = {}
        self._asked: set[Key] = set()

    def follow(self, resource_name: str, store: Store[V]) -> Callable[[], None]:
        """Follow the watch events of `store`; call it before the store is filled. The returned function ends that."""
        self._shows[resource_name] = store.resource_version

        def listen(old: V | None, new: V | None) -> None:
            view = new if new is not None else old
            assert view is not None
            metadata = view.metadata
            if new is not None:
                self._observed(resource_name, metadata.key, metadata.resource_version)
            else:
                self._ended(resource_name, metadata.key, metadata.uid)

        unsubscribe = store.subscribe(listen)
        shows = self._shows[resource_name]

        def unfollow() -> None:
            unsubscribe()
            if self._shows.get(resource_name) == shows:
                del self._shows[resource_name]

        return unfollow

    def scoped(self, scope: Key) -> "ScopedLedger":
        """The ledger for writes of `scope`."""
        return ScopedLedger(self, scope)

    def wrote(self, resource_name: str, key: Key, resource_version: str, *, scope: Key) -> None:
        """`scope` wrote an object; the server answered with this version."""
        self._await(resource_name, key, resource_version, scope, gone=False)

    def deleted(self, resource_name: str, key: Key, uid: str, *, scope: Key) -> None:
        """`scope` deleted an object and the server has removed it already."""
        self._await(resource_name, key, uid, scope, gone=True)

    def pending(self, scope: Key) -> float:
        """The most seconds to wait until the cache shows all writes of `scope`; 0: it does already.

        A scope that has to wait is requeued when the cache shows everything. At the end of these seconds the caller
        comes back by itself.
        """
        awaited = self._awaited.get(scope)
        if not awaited:
            return 0.0
        now = _now()
        for target in [target for target, wait in awaited.items() if wait.deadline <= now]:
            self._clear(scope, target)
        left = max((wait.deadline - now for wait in awaited.values()), default=0.0)
        if left > 0:
            self._asked.add(scope)
        else:
            self._asked.discard(scope)
        return left

    def forget(self, scope: Key) -> None:
        """`scope` was deleted; its writes are not awaited any more."""
        for target in tuple(self._awaited.get(scope, ())):
            self._clear(scope, target)
        self._asked.discard(scope)

    def _await(self, resource_name: str, key: Key, version: str, scope: Key, *, gone: bool) -> None:
        target = (resource_name, key)
        if resource_name not in self._shows:
            return
        shown = not gone and self._shows[resource_name](key) == version
        if shown or _event(resource_name, key, version, gone) in self._seen:
            # the watch was faster than the answer; an earlier write of ours is shown too
            self._clear(scope, target)
            return
        deadline = _now() + self._patience
        self._awaited.setdefault(scope, {})[target] = _Awaited(version, deadline, gone)
        self._scopes.setdefault(target, set()).add(scope)

    def _observed(self, resource_name: str, key: Key, version: str) -> None:
        self._seen.add(_event(resource_name, key, version, gone=False))
        target = (resource_name, key)
        for scope in tuple(self._scopes.get(target, ())):
            wait = self._awaited[scope][target]
            if not wait.gone and wait.version == version:
                self._shown(scope, target)

    def _ended(self, resource_name: str, key: Key, uid: str) -> None:
        self._seen.add(_event(resource_name, key, uid, gone=True))
        target = (resource_name, key)
        for scope in tuple(self._scopes.get(target, ())):
            self._shown(scope, target)

    def _shown(self, scope: Key, target: _Object) -> None:
        self._clear(scope, target)
        if scope not in self._awaited and scope in self._asked:
            self._asked.discard(scope)
            if self._requeue:
                self._requeue(scope)

    def _clear(self, scope: Key, target: _Object) -> None:
        awaited = self._awaited.get(scope)
        if awaited is None or awaited.pop(target, None) is None:
            return
        if not awaited:
            del self._awaited[scope]
        scopes = self._scopes[target]
        scopes.discard(scope)
        if not scopes:
            del self._scopes[target]


class ScopedLedger(msgspec.Struct, frozen=True):
    """A ledger for the writes of one scope."""

    ledger: WriteLedger
    scope: Key

    def wrote(self, resource_name: str, key: Key, resource_version: str) -> None:
        """An object was written; the server answered with this version."""
        self.ledger.wrote(resource_name, key, resource_version, scope=self.scope)

    def deleted(self, resource_name: str, key: Key, uid: str) -> None:
        """An object was deleted, and the server has removed it already."""
        self.ledger.deleted(resource_name, key, uid, scope=self.scope)

    def pending(self) -> float:
        """Seconds to wait at most; 0: the cache shows everything."""
        return self.ledger.pending(self.scope)


def _event(resource_name: str, key: Key, value: str, gone: bool) -> str:
    """An object in a version, or the end of a uid."""
    return f"{resource_name} {key} {'-' if gone else '+'}{value}"


def _now() -> float:
    return asyncio.get_running_loop().time()
