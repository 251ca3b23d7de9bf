"""The verbs of `KubeClient`, answered from memory.

Why: code for the real API server, above all reconcilers and effects, can run against this one, without a network, on a
virtual clock. Invariant: every behaviour here is checked by the contract suite on a real API server, too; an action of
a person or a fault (revoked rights, closed watches, a compacted history) is a method, never a hidden rule.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from controller.api.jsontree import JsonObject, text
from controller.api.meta import Key
from controller.api.names import FIELD_MANAGER
from controller.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound
from controller.kube.client import Propagation
from controller.kube.resources import Resource
from controller.simulation.api_server import deletion
from controller.simulation.api_server.patching import merged, patched
from controller.simulation.api_server.selection import selects
from controller.simulation.api_server.storage import Kind, Storage
from controller.simulation.api_server.watching import watch_lines
from controller.simulation.api_server.writing import (
    changes_nothing,
    created,
    expect_version,
    signed,
    updated,
)

BUILT_IN = re.compile(r"[a-z]*|[a-z]+\.k8s\.io")
"""Groups of the server's own kinds, as far as they are used here; all others are those of CRDs."""
WITHOUT_STATUS = frozenset(
    {
        "configmaps",
        "controllerrevisions",
        "endpointslices",
        "events",
        "leases",
        "rollouthistories",
        "secrets",
    }
)
"""Plurals of kinds without a status subresource."""


class Admission(Protocol):
    """The server's calls to admission before it stores a write."""

    def review(self, resource: Resource, old: JsonObject | None, new: JsonObject) -> JsonObject:
        """The object to store; Invalid or Forbidden when the write is refused."""
        ...


class MemoryApi:
    """Objects of any kind; `served` are the kinds that discovery names."""

    def __init__(
        self,
        now: Callable[[], datetime],
        *,
        served: Iterable[Resource] = (),
        admission: Admission | None = None,
        field_manager: str = FIELD_MANAGER,
    ) -> None:
        self.storage = Storage()
        self.forbidden: set[tuple[str, str]] = set()
        """(verb, plural) pairs that are refused."""
        self.served = list(served)
        self._now = now
        self._admission = admission
        self._manager = field_manager
        self._made = 0
        self._watchers: set[asyncio.Event] = set()
        self._closing = asyncio.Event()

    # --- reading ----------------------------------------------------------------------------------

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        """One object; NotFound when there is none."""
        self._allow("get", resource)
        return _encoded(self._present(resource, Key(_space(resource, namespace), name)))

    async def list_pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
    ) -> AsyncGenerator[bytes, None]:
        """All objects of the present moment, page by page."""
        self._allow("list", resource)
        chosen = selects(label_selector, field_selector)
        found = [
            obj
            for key, obj in self.storage.all(_kind(resource))
            if namespace in (None, "", key.namespace) and chosen(obj)
        ]
        version = str(self.storage.version)
        for start in range(0, max(len(found), 1), limit):
            rest = "more" if start + limit < len(found) else ""
            metadata = {"resourceVersion": version, "continue": rest}
            items = [_in_a_list(resource, obj) for obj in found[start : start + limit]]
            yield _encoded({"metadata": metadata, "items": items})

    @contextlib.asynccontextmanager
    async def watch(
        self,
        resource: Resource,
        namespace: str | None,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Lines of a watch from `resource_version` on, until `close_watches`; Gone when that is not kept any more."""
        self._allow("watch", resource)
        chosen = selects(label_selector, field_selector)
        changed = asyncio.Event()
        self._watchers.add(changed)
        lines = watch_lines(
            self.storage,
            _kind(resource),
            namespace or "",
            int(resource_version or self.storage.version),
            chosen,
            changed,
            self._closing,
        )
        try:
            async with contextlib.aclosing(lines):
                yield lines
        finally:
            self._watchers.discard(changed)

    async def discover(self, group_version: str) -> tuple[Resource, ...]:
        """The kinds served in `apps/v1`; NotFound when the group version is not served."""
        found = tuple(r for r in self.served if r.api_version == group_version)
        if not found:
            raise NotFound("the server could not find the requested resource", status=404)
        return found

    async def versions(self, group: str) -> tuple[str, ...]:
        """The group versions of a group, the preferred one first; empty when it is not served."""
        return tuple(dict.fromkeys(r.api_version for r in self.served if r.group == group))

    # --- writing ----------------------------------------------------------------------------------

    async def create(
        self, resource: Resource, namespace: str, body: bytes, *, dry_run: bool = False
    ) -> bytes:
        """POST; AlreadyExists if there is one of that name."""
        self._allow("create", resource)
        given: JsonObject = msgspec.json.decode(body, type=JsonObject)
        name = text(given, "metadata", "name")
        if not name:
            raise Invalid("resource name may not be empty", status=422, reason="Invalid")
        key = Key(_space(resource, namespace), name)
        if self.storage.get(_kind(resource), key) is not None:
            raise AlreadyExists(
                f'{resource.name} "{name}" already exists', status=409, reason="AlreadyExists"
            )
        made = created(
            resource,
            namespace,
            given,
            self.new_uid(),
            self._now(),
            status=_has_status(resource),
        )
        made = self._reviewed(resource, None, made)
        made = signed(None, made, self._manager, "", resource.api_version)
        return _encoded(made if dry_run else self._store(resource, key, made))

    async def replace(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: bytes,
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> bytes:
        """PUT; Conflict unless the body carries the present resource version, or none."""
        self._allow("update", resource)
        new = msgspec.json.decode(body, type=JsonObject)
        return self._update(resource, namespace, name, lambda _: new, subresource, dry_run=dry_run)

    async def merge_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Mapping[str, object],
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> bytes:
        """Merge patch; a `metadata.resourceVersion` in it makes it conditional."""
        self._allow("patch", resource)
        plain = msgspec.json.decode(msgspec.json.encode(patch), type=JsonObject)
        return self._update(
            resource, namespace, name, lambda old: merged(old, plain), subresource, dry_run=dry_run
        )

    async def json_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        operations: Sequence[Mapping[str, object]],
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> bytes:
        """JSON patch; Conflict if a `test` operation does not hold."""
        self._allow("patch", resource)
        subject = f"{resource.name} {namespace}/{name}"
        plain = msgspec.json.decode(msgspec.json.encode(operations), type=list[JsonObject])
        return self._update(
            resource,
            namespace,
            name,
            lambda old: patched(old, plain, subject),
            subresource,
            dry_run=dry_run,
        )

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation = "Background",
        dry_run: bool = False,
    ) -> bytes:
        """DELETE; Conflict unless UID and resource version, where given, are the object's."""
        self._allow("delete", resource)
        key = Key(_space(resource, namespace), name)
        found = self._present(resource, key)
        for asked, field in ((uid, "uid"), (resource_version, "resourceVersion")):
            if asked and asked != text(found, "metadata", field):
                raise Conflict(
                    f"the {field} in the precondition ({asked}) does not match the object's",
                    status=409,
                    reason="Conflict",
                )
        if not dry_run:
            orphan = propagation == "Orphan"
            deletion.delete(self.storage, _kind(resource), key, self._now(), orphan=orphan)
            self._wake()
        return _encoded({"kind": "Status", "status": "Success"})

    @property
    def now(self) -> datetime:
        """The server's clock."""
        return self._now()

    def new_uid(self) -> str:
        """A UID that no object has."""
        self._made += 1
        return f"uid-{self._made}"

    # --- faults and maintenance -------------------------------------------------------------------

    def close_watches(self) -> None:
        """Every watch ends, as when the server is restarted or a watch has lasted its time."""
        self._closing.set()
        self._wake()
        self._closing = asyncio.Event()

    def forget_changes(self) -> None:
        """The history is compacted: a watch from an earlier version is answered with 410."""
        self.storage.forget_changes()

    # --- ------------------------------------------------------------------------------------------

    def _update(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        change: Callable[[JsonObject], JsonObject],
        subresource: str,
        *,
        dry_run: bool,
    ) -> bytes:
        key = Key(_space(resource, namespace), name)
        old = self._present(resource, key)
        asked = change(old)
        expect_version(old, asked, f"{resource.name} {name}")
        new = updated(old, asked, subresource, status=_has_status(resource))
        if not subresource:
            new = updated(old, self._reviewed(resource, old, new), "", status=_has_status(resource))
        if changes_nothing(old, new):
            return _encoded(old)
        new = signed(old, new, self._manager, subresource, resource.api_version)
        return _encoded(new if dry_run else self._store(resource, key, new))

    def _store(self, resource: Resource, key: Key, obj: JsonObject) -> JsonObject:
        stored = self.storage.put(_kind(resource), key, obj)
        deletion.finished(self.storage, _kind(resource), key, self._now())
        self._wake()
        return stored

    def _reviewed(self, resource: Resource, old: JsonObject | None, new: JsonObject) -> JsonObject:
        return new if self._admission is None else self._admission.review(resource, old, new)

    def _present(self, resource: Resource, key: Key) -> JsonObject:
        found = self.storage.get(_kind(resource), key)
        if found is None:
            raise NotFound(f'{resource.name} "{key.name}" not found', status=404, reason="NotFound")
        return found

    def _allow(self, verb: str, resource: Resource) -> None:
        if (verb, resource.plural) in self.forbidden:
            raise Forbidden(
                f'{resource.name} is forbidden: User "simulated" cannot {verb} resource "{resource.plural}"',
                status=403,
                reason="Forbidden",
            )

    def _wake(self) -> None:
        for changed in self._watchers:
            changed.set()


def _kind(resource: Resource) -> Kind:
    return resource.group, resource.plural


def _space(resource: Resource, namespace: str) -> str:
    return namespace if resource.namespaced else ""


def _has_status(resource: Resource) -> bool:
    return resource.plural not in WITHOUT_STATUS


def _encoded(obj: JsonObject) -> bytes:
    return msgspec.json.encode(obj)


def _in_a_list(resource: Resource, obj: JsonObject) -> JsonObject:
    """An item of a list: the server omits the kind of its built-in objects, and not the kind of a CRD's objects."""
    if not BUILT_IN.fullmatch(resource.group):
        return obj
    return {name: value for name, value in obj.items() if name not in ("apiVersion", "kind")}
