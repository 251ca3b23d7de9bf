"""The verbs of the Kubernetes API, in bytes.

Why bytes: the caller knows the few fields that it needs and decodes only those; an object of kr8s takes a hundred times
the CPU and the memory. Invariants: an object is always addressed by its full kind and a name that is not empty (an
empty one would address the whole collection, and is a ValueError); all other failures are `controller.errors`. The
client keeps no state but its `Api`, which is kr8s': it is imported when a process connects, not before.
"""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Literal, Self, TypeVar
from urllib.parse import quote

import msgspec

from controller.api.decoding import decoded
from controller.api.names import FIELD_MANAGER
from controller.errors import (
    Conflict,
    Invalid,
    NotFound,
    Right,
    Unreachable,
    UnreadableAnswer,
)
from controller.kube.answers import ServedGroup, ServedKinds, ServerVersion
from controller.kube.credentials import Source, choose_source
from controller.kube.nesting import read_around
from controller.kube.resources import Resource
from controller.kube.sending import JSON_PATCH, Limits, RequestMetrics
from controller.kube.subjects import Subject
from controller.kube.transport import Answer, TransportFailure, waits
from controller.kube.watch import ListMeta, complete_lines, page_head_of
from controller.runtime.rate import TokenBucket

if TYPE_CHECKING:
    from controller.kube.api import ControllerApi

WATCH_SILENCE = 120.0  # seconds without a byte (bookmarks come about every minute) mean a dead peer

MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

# the API server's message, with code 422, for a JSON patch that could not be applied
_PATCH_REFUSED = "the server rejected our request due to an error in our request"

_METADATA = "application/json;as=PartialObjectMetadata{};v=v1;g=meta.k8s.io,application/json"

Propagation = Literal["Background", "Foreground", "Orphan"]
T = TypeVar("T")


class KubeClient:
    """One connection pool, one rate limit. All methods return the server's answer as JSON bytes unless they say so."""

    def __init__(
        self,
        api: "ControllerApi",
        *,
        random: Random | None = None,
        watch_silence: float = WATCH_SILENCE,
    ) -> None:
        self._api = api
        self._random = random or Random()
        self._watch_silence = watch_silence

    @classmethod
    async def connect(
        cls,
        *,
        kubeconfig: str | None,
        context: str | None = None,
        qps: float = 200,
        burst: int = 400,
        user_agent: str,
        metrics: RequestMetrics | None = None,
        field_manager: str = FIELD_MANAGER,
        limits: Limits | None = None,
    ) -> Self:
        """Read the credentials; no request is made. BadConfiguration if there are none to be used."""
        return await cls.connect_by(
            choose_source(kubeconfig, context),
            qps=qps,
            burst=burst,
            user_agent=user_agent,
            metrics=metrics,
            field_manager=field_manager,
            limits=limits,
        )

    @classmethod
    async def connect_by(
        cls,
        source: Source,
        *,
        qps: float = 200,
        burst: int = 400,
        user_agent: str,
        metrics: RequestMetrics | None = None,
        field_manager: str = FIELD_MANAGER,
        limits: Limits | None = None,
    ) -> Self:
        """A client with a source of credentials that was chosen before."""
        # Not at the top: a command that asks no cluster needs no kr8s.
        from controller.kube.api import ControllerApi

        api = ControllerApi(
            source,
            user_agent=user_agent,
            bucket=TokenBucket(qps, burst),
            limits=limits,
            metrics=metrics,
            field_manager=field_manager,
        )
        await api.open()
        return cls(api)

    def fenced(self, fence: Callable[[str], None]) -> "KubeClient":
        """A client with the same connections; every write has to pass the fence first."""
        behind = self._api.fenced(fence)
        return KubeClient(behind, random=self._random, watch_silence=self._watch_silence)

    @property
    def api(self) -> "ControllerApi":
        """kr8s' Api of this client, for the classes of `objects`."""
        return self._api

    async def aclose(self) -> None:
        """Let requests in flight end, then close."""
        await self._api.aclose()

    @property
    def server(self) -> str:
        """The address of the API server."""
        return self._api.server

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        """One object, from the server."""
        return await self._call("GET", resource, namespace, _path(resource, namespace, name))

    async def list_pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
    ) -> AsyncGenerator[bytes, None]:
        """All objects of one consistent state, page by page; Gone if that took too long."""
        params = _selection(label_selector, field_selector) | {"limit": str(limit)}
        while True:
            page = await self._call(
                "GET",
                resource,
                namespace,
                resource.plural,
                params,
                accept=_accept(resource, "List"),
            )
            yield page
            following = (await _head(page)).continue_
            if not following:
                return
            params["continue"] = following

    @contextlib.asynccontextmanager
    async def watch(
        self,
        resource: Resource,
        namespace: str | None,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Lines of a watch from `resource_version` on; they end when the server closes, after 5 to 10 minutes."""
        params = _selection(label_selector, field_selector) | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(self._random.randint(300, 600)),
        }
        async with (
            self._api.call_api(
                "GET",
                version=resource.api_version,
                namespace=_namespace(resource, namespace),
                url=resource.plural,
                params=params,
                headers=_accept(resource, ""),
                stream=True,
                timeout=waits(answer=self._watch_silence, connect=10.0, pool=10.0),
            ) as response,
            contextlib.aclosing(_received(response, resource)) as chunks,
            contextlib.aclosing(complete_lines(chunks)) as lines,
        ):
            yield lines

    async def create(
        self, resource: Resource, namespace: str, body: bytes, *, dry_run: bool = False
    ) -> bytes:
        """POST; AlreadyExists if there is one of that name."""
        return await self._write(
            "POST", resource, namespace, resource.plural, body, dry_run=dry_run
        )

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
        """PUT; Conflict unless the body carries the current resource version (or none)."""
        path = _path(resource, namespace, name, subresource)
        return await self._write("PUT", resource, namespace, path, body, dry_run=dry_run)

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
        """Merge patch; a `metadata.resourceVersion` in it makes it conditional (Conflict)."""
        path = _path(resource, namespace, name, subresource)
        body = msgspec.json.encode(patch)
        return await self._write(
            "PATCH", resource, namespace, path, body, MERGE_PATCH, dry_run=dry_run
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
        path = _path(resource, namespace, name, subresource)
        body = msgspec.json.encode(operations)
        try:
            return await self._write(
                "PATCH", resource, namespace, path, body, JSON_PATCH, dry_run=dry_run
            )
        except Invalid as refused:
            # the server has one answer for a malformed patch and for a failed test; ours are well-formed
            tested = any(operation.get("op") == "test" for operation in operations)
            if tested and refused.status == 422 and refused.message == _PATCH_REFUSED:
                raise Conflict(
                    f"{resource.name} {namespace}/{name} is not as this patch requires",
                    status=422,
                    reason=refused.reason,
                ) from refused
            raise

    async def apply(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: bytes,
        force: bool = True,
        field_manager: str | None = None,
        *,
        dry_run: bool = False,
    ) -> bytes:
        """Server-side apply; creates the object if it does not exist."""
        path = _path(resource, namespace, name)
        params = {"force": "true" if force else "false"}
        if field_manager:
            params["fieldManager"] = field_manager
        return await self._write(
            "PATCH", resource, namespace, path, body, APPLY_PATCH, dry_run=dry_run, params=params
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
        """DELETE; raises Conflict if a given uid or resource version is not the object's."""
        conditions = {"uid": uid, "resourceVersion": resource_version}
        options: dict[str, object] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
        }
        if given := {key: value for key, value in conditions.items() if value}:
            options["preconditions"] = given
        path = _path(resource, namespace, name)
        body = msgspec.json.encode(options)
        params = {"dryRun": "All"} if dry_run else {}
        return await self._call("DELETE", resource, namespace, path, params, body)

    async def discover(self, group_version: str) -> tuple[Resource, ...]:
        """The kinds served in `apps/v1`, `v1` …; NotFound if the group version is not served."""
        base = "/apis" if "/" in group_version else "/api"
        async with self._api.call_api("GET", version="", base=base, url=group_version) as response:
            served = _read(response.content, ServedKinds)
        group, _, version = group_version.rpartition("/")
        return tuple(
            Resource(group, version, kind.name, kind.kind, kind.namespaced)
            for kind in served.resources or ()
            if "/" not in kind.name
        )

    async def versions(self, group: str) -> tuple[str, ...]:
        """The group versions (`apps/v1`) of a group, the preferred one first; empty when it is not served."""
        if not group:
            return ("v1",)
        try:
            async with self._api.call_api("GET", version="", base="/apis", url=group) as response:
                served = _read(response.content, ServedGroup)
        except NotFound:
            return ()
        found = (served.preferred_version, *served.versions)
        return tuple(dict.fromkeys(item.group_version for item in found if item.group_version))

    async def whoami(self) -> str:
        """The user name that the API server knows this credential by."""
        return await self._api.async_whoami()

    async def may(self, right: Right) -> bool:
        """The API server would allow this request to us, or to the given ServiceAccount."""
        return await self._api.may(right)

    async def may_user(self, subject: Subject, right: Right) -> bool:
        """The API server would let somebody else do this; every answer except a clear yes counts as a refusal."""
        return await self._api.may_user(subject, right)

    async def server_version(self) -> str:
        """The API server's version, such as `v1.35.0`."""
        try:
            return msgspec.convert(await self._api.version(), ServerVersion).git_version
        except msgspec.ValidationError as failure:
            raise UnreadableAnswer(f"an answer could not be read: {failure}") from failure

    async def _write(
        self,
        method: str,
        resource: Resource,
        namespace: str,
        path: str,
        body: bytes,
        content_type: str = "application/json",
        *,
        dry_run: bool,
        params: Mapping[str, str] | None = None,
    ) -> bytes:
        query = dict(params or {})
        if dry_run:
            query["dryRun"] = "All"
        return await self._call(method, resource, namespace, path, query, body, content_type)

    async def _call(
        self,
        method: str,
        resource: Resource,
        namespace: str | None,
        path: str,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        accept: Mapping[str, str] | None = None,
    ) -> bytes:
        headers = {"Content-Type": content_type} if body is not None else {}
        async with self._api.call_api(
            method,
            version=resource.api_version,
            namespace=_namespace(resource, namespace),
            url=path,
            params=dict(params or {}),
            content=body,
            headers={**headers, **(accept or {})},
        ) as response:
            return response.content


async def _head(page: bytes) -> ListMeta:
    """The metadata of a page of a list, whatever its objects are."""
    try:
        return (await read_around(page_head_of, page)).value.metadata
    except msgspec.DecodeError as failure:
        raise UnreadableAnswer(f"a list could not be read: {failure}") from failure


def _read(body: bytes, kind: type[T]) -> T:
    """An answer that the client itself reads; an aggregated API server may answer anything."""
    try:
        return decoded(body, kind)
    except msgspec.DecodeError as failure:
        raise UnreadableAnswer(f"an answer could not be read: {failure}") from failure


def _namespace(resource: Resource, namespace: str | None) -> str | None:
    return quote(namespace, safe="") if namespace and resource.namespaced else None


def _accept(resource: Resource, of: str) -> dict[str, str]:
    return {"Accept": _METADATA.format(of)} if resource.metadata_only else {}


def _path(resource: Resource, namespace: str, name: str, subresource: str = "") -> str:
    if not name or (resource.namespaced and not namespace):
        raise ValueError(
            f"{resource.name} needs a name and a namespace, got {namespace!r}/{name!r}"
        )
    path = f"{resource.plural}/{quote(name, safe='')}"
    return f"{path}/{subresource}" if subresource else path


def _selection(label_selector: str, field_selector: str) -> dict[str, str]:
    given = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {key: value for key, value in given.items() if value}


async def _received(response: Answer, resource: Resource) -> AsyncGenerator[bytes, None]:
    """The chunks of a stream; a broken connection becomes Unreachable."""
    try:
        async for chunk in response.aiter_bytes():
            yield chunk
    except TransportFailure as failure:
        detail = str(failure) or type(failure).__name__
        raise Unreachable(f"watch of {resource.name} broke: {detail}") from failure
