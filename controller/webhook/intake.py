"""Reads bodies of requests within limits, because every pod of the cluster can send one.

The bound of a review: kube-apiserver takes no body of more than 3 MiB (`MaxRequestBodyBytes`: twice etcd's 1.5 MiB),
and a review contains the sent object, the stored object, and an envelope. Invariant: the bytes that were received and
not answered yet are at most `small_bytes` + `large_bytes`, independent of the announced lengths; small bodies have room
of their own, so a flood of large ones does not keep them out. It must not decode a body.
"""

import asyncio
import contextlib
import mmap
from collections.abc import AsyncIterator

import msgspec
from aiohttp import web

LARGEST_REVIEW = 2 * (3 << 20) + (64 << 10)
"""The most bytes of a review of any kind."""


class BodyLimits(msgspec.Struct, frozen=True):
    """The memory for request bodies."""

    small: int = 256 << 10
    """The most bytes of a small body; nearly every honest body is small."""
    small_bytes: int = 16 << 20
    large_bytes: int = 20 << 20
    large_at_work: int = 2
    """Large bodies that are decoded and judged at the same time."""
    seconds: float = 5.0
    """For a whole body to arrive."""


class _Room:
    """Bytes that may be held."""

    def __init__(self, most: int) -> None:
        self.left = most


class _Body:
    """Bytes in pages of their own: only received bytes take memory, and all of it goes back to the system.

    (A buffer on the heap leaves holes, and one that an exception's traceback still knows stays until the next
    collection: 230 MB after a minute of bodies of 6 MiB.)
    """

    def __init__(self) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._pages = mmap.mmap(-1, LARGEST_REVIEW, flags=flags)
        self.size = 0

    def add(self, chunk: bytes) -> None:
        """Append a chunk of the body."""
        self._pages[self.size : self.size + len(chunk)] = chunk
        self.size += len(chunk)

    def received(self) -> memoryview:
        """The bytes of the body that have come."""
        return memoryview(self._pages)[: self.size]

    def give_back(self) -> None:
        """The pages are empty from now on, also for holders of a view of them."""
        self._pages.madvise(mmap.MADV_DONTNEED)


class Intake:
    """Takes bodies in."""

    def __init__(self, limits: BodyLimits) -> None:
        self._limits = limits
        self._small = _Room(limits.small_bytes)
        self._large = _Room(limits.large_bytes)
        self._at_work = asyncio.Semaphore(limits.large_at_work)

    @contextlib.asynccontextmanager
    async def body(self, request: web.Request) -> AsyncIterator[memoryview]:
        """The body, for the duration of a block; raises an answer with the reason if there is no body."""
        _check_head(request)
        announced = request.content_length
        small = announced is not None and announced <= self._limits.small
        room = self._small if small else self._large
        body = _Body()
        try:
            await self._receive(request, room, body)
            async with contextlib.nullcontext() if small else self._at_work:
                yield body.received()
        finally:
            room.left += body.size
            body.give_back()

    async def _receive(self, request: web.Request, room: _Room, body: _Body) -> None:
        try:
            async with asyncio.timeout(self._limits.seconds):
                async for chunk in request.content.iter_any():
                    if body.size + len(chunk) > LARGEST_REVIEW:
                        raise _too_large(body.size + len(chunk))
                    if len(chunk) > room.left:
                        raise _busy()
                    room.left -= len(chunk)
                    body.add(chunk)
        except TimeoutError:
            text = f"the body did not arrive within {self._limits.seconds} s"
            raise _closing(web.HTTPRequestTimeout(text=text)) from None
        except ConnectionError:
            text = "the connection ended before the body had arrived"
            raise _closing(web.HTTPBadRequest(text=text)) from None


def _check_head(request: web.Request) -> None:
    if request.content_type != "application/json":
        kind = request.headers.get("Content-Type", "no content type")
        raise _closing(web.HTTPUnsupportedMediaType(text=f"{kind}: a review is application/json"))
    encoding = request.headers.get("Content-Encoding", "identity")
    if encoding != "identity":
        text = f"Content-Encoding {encoding}: send it as it is"
        raise _closing(web.HTTPUnsupportedMediaType(text=text))
    if request.content_length is not None and request.content_length > LARGEST_REVIEW:
        raise _too_large(request.content_length)


def _too_large(size: int) -> web.HTTPException:
    text = f"a body of {size} bytes or more: an API server sends at most {LARGEST_REVIEW}"
    return _closing(web.HTTPRequestEntityTooLarge(LARGEST_REVIEW, size, text=text))


def _busy() -> web.HTTPException:
    """The API server repeats the request by itself after the given wait."""
    text = "too many requests under way; ask again in a second"
    return _closing(web.HTTPServiceUnavailable(text=text, headers={"Retry-After": "1"}))


def _closing(refusal: web.HTTPException) -> web.HTTPException:
    """The last answer on its connection: the next bytes would be the rest of the body."""
    refusal.force_close()
    return refusal
