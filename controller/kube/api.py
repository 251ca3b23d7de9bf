"""kr8s' `Api` for a process that runs for months: every request of the controller and of a connected command is its.

kr8s keeps where the API server is (`auth`: address, proxy, name of the server, the pod's account) and has the methods
that its objects call. Ours is what kr8s cannot do safely: docs/decisions/20261127-kr8s-is-the-client.md has each item
with its evidence. Invariants: no name of kr8s is used that is not public; every request goes through `call_api`, so
the classes of `objects` have the same connections, credentials, errors, fence and field manager as the verbs of
`client`; kr8s gets no secret of a kubeconfig, because it would write keys into files that stay.
"""

import asyncio
import contextlib
import copy
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import Any, NoReturn, Self

import msgspec

from controller.api.names import FIELD_MANAGER
from controller.errors import BadConfiguration, MoonshiftError, Right
from controller.kube import who_may
from controller.kube.access import Access, access_in_cluster, access_of
from controller.kube.credentials import Source
from controller.kube.kr8s_lean import Api
from controller.kube.sending import Limits, RequestMetrics, Sending
from controller.kube.subjects import Subject
from controller.kube.transport import Answer
from controller.runtime.rate import TokenBucket

Fence = Callable[[str], None]

_MANAGED = ("POST", "PUT", "PATCH")
_HERE = "here"


class ControllerApi(Api):
    """The API server; `await open()` reads the credentials and makes no request, `await aclose()` after use."""

    def __init__(
        self,
        source: Source,
        *,
        user_agent: str,
        bucket: TokenBucket | None = None,
        limits: Limits | None = None,
        metrics: RequestMetrics | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        field_manager: str = FIELD_MANAGER,
    ) -> None:
        # kr8s reads this instead of a file of its own choice: a ~/.kube/config may lie in the image
        self._kubeconfig_for_kr8s = _kubeconfig(Access())
        super().__init__(
            bypass_factory=True,
            kubeconfig=self._kubeconfig_for_kr8s,
            serviceaccount=source.service_account,
        )
        self._source = source
        self._sending = Sending(
            user_agent=user_agent, bucket=bucket, limits=limits, metrics=metrics, sleep=sleep
        )
        self._field_manager = field_manager
        self._fence: Fence | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Read the credentials and make the pools, once. Raises BadConfiguration with the reason."""
        async with self._opening:
            if not self._sending.is_open:
                self._sending.open(await self._reached())

    async def _reached(self) -> Access:
        """Facts for the transport; the address and the way there are those that kr8s found."""
        source = self._source
        if source.service_account:
            await self._find_account()
            return access_in_cluster(source, self.auth.server, str(self.auth.server_ca_file))
        access = await access_of(source)
        self._kubeconfig_for_kr8s.update(_kubeconfig(access))
        await self.auth
        return msgspec.structs.replace(
            access,
            server=self.auth.server,
            server_name=self.auth.tls_server_name or "",
            proxy=self.auth.proxy or "",
        )

    async def _find_account(self) -> None:
        try:
            await self.auth
        except (KeyError, OSError, ValueError) as failure:
            raise BadConfiguration(
                f"the service account in {self._source.service_account} cannot be used: {_reason(failure)}"
            ) from failure

    @property
    def server(self) -> str:
        """The address of the API server; known once the credentials are read."""
        return self.auth.server

    def fenced(self, fence: Fence) -> Self:
        """The same connections; `fence` raises, at the last moment, if no write to a namespace may be sent any more."""
        behind = copy.copy(self)
        behind._fence = fence
        return behind

    async def async_whoami(self) -> str:
        """The user name by which the API server knows us; kr8s sends the token for it, which needs a right."""
        return await who_may.whoami(self)

    async def may(self, right: Right) -> bool:
        """The API server would allow this request to us, or to the given ServiceAccount."""
        return await who_may.may(self, right)

    async def may_user(self, subject: Subject, right: Right) -> bool:
        """The API server would let somebody else do this; every answer except a clear yes counts as a refusal."""
        return await who_may.may_user(self, subject, right)

    async def aclose(self) -> None:
        """Wait for requests in flight, a few seconds at most, then close all connections."""
        await self._sending.aclose()

    @contextlib.asynccontextmanager
    async def call_api(  # type: ignore[override]  # kr8s promises an answer of httpx and reads what Answer has
        self,
        method: str = "GET",
        version: str = "v1",
        base: str = "",
        namespace: str | None = None,
        url: str = "",
        raise_for_status: bool = True,
        stream: bool = False,
        **kwargs: Any,
    ) -> AsyncGenerator[Answer, None]:
        """One request; the body of the `with` is outside of all error handling."""
        if not self._sending.is_open and not self._sending.closed:
            await self.open()
        if method in _MANAGED:
            kwargs["params"] = {"fieldManager": self._field_manager} | (kwargs.get("params") or {})
        if method != "GET" and self._fence is not None:
            kwargs["fence"] = partial(self._fence, namespace or "")
        async with self._sending.call(
            method, version, base, namespace, url, raise_for_status, stream, **kwargs
        ) as answer:
            yield answer

    def open_websocket(self, *_: object, **__: object) -> NoReturn:
        """Refused: kr8s would open a session of its own, with neither our credentials nor our authorities."""
        raise MoonshiftError("this client opens no WebSockets: use kr8s' own Api for exec")


def _kubeconfig(access: Access) -> dict[str, Any]:
    """The way to the API server, for kr8s; nothing of the user."""
    way = {
        "server": access.server,
        "tls-server-name": access.server_name,
        "proxy-url": access.proxy,
    }
    known = bool(access.server)
    context = {"cluster": _HERE if known else "", "user": _HERE, "namespace": access.namespace}
    return {
        "current-context": _HERE,
        "contexts": [{"name": _HERE, "context": context}],
        "clusters": [{"name": _HERE, "cluster": {key: said for key, said in way.items() if said}}],
        "users": [{"name": _HERE, "user": {}}],
    }


def _reason(failure: Exception) -> str:
    match failure:
        case KeyError():
            return f"the variable {failure.args[0]} is not set"
        case OSError(filename=path, strerror=why) if path:
            return f"{path}: {why}"
        case _:
            return str(failure)
