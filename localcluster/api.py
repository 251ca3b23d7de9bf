"""A small client of the API server.

Why it exists: starting a plane, recording it and preparing tests need a few requests, without kubectl's 0.1 s each and
without the product's client, because the client is under test. Invariant: one user per client, every error status
raises. It must not cache. Like every client of Kubernetes it repeats a request only if the server's answer names the
time (429: the storage of a new kind is not ready yet).
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

from localcluster.errors import RequestRefused

JsonObject = dict[str, Any]
JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
REQUEST_SECONDS = 90.0
TOO_MANY_REQUESTS = 429
ATTEMPTS = 10
"""Attempts after a 429; client-go makes as many."""


class ApiClient:
    """Requests under one user's token; close it or use it as a context manager."""

    def __init__(self, url: str, ca: Path | str, token: str, agent: str = "localcluster") -> None:
        """Trust the authority `ca`: a file, or the text of one. Without a token, a proxy in between logs in."""
        trust = {"cafile": ca} if isinstance(ca, Path) else {"cadata": ca}
        connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(**trust), limit=200)
        self._session = aiohttp.ClientSession(
            base_url=url,
            connector=connector,
            headers=({"Authorization": f"Bearer {token}"} if token else {}) | {"User-Agent": agent},
            timeout=aiohttp.ClientTimeout(total=REQUEST_SECONDS),
            read_bufsize=2**20,
        )

    async def __aenter__(self) -> Self:
        """Return the client itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def text(self, path: str) -> str:
        """Return the body of a GET as text."""
        async with self._session.get(path) as response:
            body = await response.text()
            if response.status >= 400:
                raise RequestRefused(response.status, body)
            return body

    async def get(self, path: str, **parameters: str) -> JsonObject:
        """Read one object or list."""
        return await self._send("GET", path, parameters, None, JSON)

    async def create(self, path: str, body: JsonObject) -> JsonObject:
        """POST an object to its collection."""
        return await self._send("POST", path, {}, body, JSON)

    async def replace(self, path: str, body: JsonObject) -> JsonObject:
        """PUT an object."""
        return await self._send("PUT", path, {}, body, JSON)

    async def patch(
        self, path: str, body: JsonObject | list[JsonObject], media_type: str = MERGE_PATCH
    ) -> JsonObject:
        """PATCH an object, by default with a JSON merge patch; a list is a JSON patch."""
        return await self._send("PATCH", path, {}, body, media_type)

    async def delete(self, path: str, **parameters: str) -> JsonObject:
        """DELETE an object."""
        return await self._send("DELETE", path, parameters, None, JSON)

    @asynccontextmanager
    async def stream(
        self, path: str, parameters: dict[str, str]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch and yield its lines; it ends when the server ends it."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=5.0)
        async with self._session.get(path, params=parameters, timeout=timeout) as response:
            if response.status >= 400:
                raise RequestRefused(response.status, await response.text())
            yield _lines(response)

    async def _send(
        self,
        method: str,
        path: str,
        parameters: dict[str, str],
        body: JsonObject | list[JsonObject] | None,
        media_type: str,
    ) -> JsonObject:
        data = None if body is None else aiohttp.JsonPayload(body, content_type=media_type)
        for left in reversed(range(ATTEMPTS)):
            async with self._session.request(
                method, path, params=parameters, data=data
            ) as response:
                wait = response.headers.get("Retry-After", "")
                if response.status < 400:
                    answer: JsonObject = await response.json()
                    return answer
                if response.status != TOO_MANY_REQUESTS or not wait.isdecimal() or not left:
                    raise RequestRefused(response.status, await response.text())
            await asyncio.sleep(int(wait))
        raise AssertionError("the last attempt returns or raises")


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in response.content.iter_any():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line
