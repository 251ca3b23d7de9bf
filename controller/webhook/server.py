"""The HTTPS server that the API server calls.

Invariant: every request is answered within the API server's patience; a fault of ours is a 500 with its text, logged,
and the failure policy of the webhook decides what it means. `/readyz` depends on nothing but the server itself, because
filling the caches needs `/convert`.
"""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import NamedTuple, Protocol

import msgspec
from aiohttp import web

from controller.webhook.admission import Handler
from controller.webhook.conversion import convert
from controller.webhook.review import (
    AdmissionReview,
    Answer,
    ConversionReview,
    admission_response,
)

log = logging.getLogger(__name__)

PATIENCE = 8.0
"""Seconds for one request; the API server gives up after 10."""
LARGEST = 16 << 20
"""Bytes of a request; a conversion carries a page of objects."""
SMALL = 64 << 10
"""Bytes of a conversion that takes less time than handing it to a thread; every write of a Rollout leads to one."""


class AdmissionMetrics(Protocol):
    """Counts what was answered; `webhook` is the path without its slash, a failure of ours counts as not allowed."""

    def admitted(self, webhook: str, allowed: bool, seconds: float) -> None:
        """One answer and how long it took."""
        ...


class NoMetrics:
    """Counts nothing."""

    def admitted(self, webhook: str, allowed: bool, seconds: float) -> None:
        """Nothing."""


def webhook_app(handlers: Mapping[str, Handler], metrics: AdmissionMetrics) -> web.Application:
    """The application: one POST path per handler, `/convert`, and `/readyz`."""
    app = web.Application(client_max_size=LARGEST)
    for path, handler in handlers.items():
        app.router.add_post(path, _guarded(path, _admission(handler), metrics))
    app.router.add_post("/convert", _guarded("/convert", _conversion, metrics))
    app.router.add_get("/readyz", _ready)
    return app


async def _ready(request: web.Request) -> web.Response:
    return web.Response(text="ok")


class Reply(NamedTuple):
    """The body of an answer, and whether it lets the request pass."""

    body: bytes
    allowed: bool


Endpoint = Callable[[bytes], Awaitable[Reply]]


def _admission(handler: Handler) -> Endpoint:
    async def endpoint(body: bytes) -> Reply:
        review = msgspec.json.decode(body, type=AdmissionReview)
        answer = await handler(review.request)
        if not answer.allowed:
            _log_refusal(review, answer)
        return Reply(admission_response(review, answer), answer.allowed)

    return endpoint


def _log_refusal(review: AdmissionReview, answer: Answer) -> None:
    asked = review.request
    log.info(
        "refused %s of %s %s/%s by %s: %s",
        asked.operation,
        asked.resource.resource,
        asked.namespace,
        asked.name,
        asked.user_info.username,
        answer.message,
    )


async def _conversion(body: bytes) -> Reply:
    review = msgspec.json.decode(body, type=ConversionReview)
    if len(body) <= SMALL:
        return Reply(convert(review), True)
    # A page of five hundred objects takes long enough to hold up an admission.
    return Reply(await asyncio.to_thread(convert, review), True)


def _guarded(
    path: str, endpoint: Endpoint, metrics: AdmissionMetrics
) -> Callable[[web.Request], Awaitable[web.Response]]:
    """The endpoint with every fault turned into an answer: else the API server waits in vain."""

    async def guarded(request: web.Request) -> web.Response:
        begun = asyncio.get_running_loop().time()
        allowed = False
        try:
            async with asyncio.timeout(PATIENCE):
                reply = await endpoint(await request.read())
            allowed = reply.allowed
            return web.Response(body=reply.body, content_type="application/json")
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            log.warning("%s: not a review: %s", path, error)
            return web.Response(status=400, text=f"{path}: not a review: {error}")
        except TimeoutError:
            log.exception("%s: no answer within %s s", path, PATIENCE)
            return web.Response(status=500, text=f"{path}: no answer within {PATIENCE} s")
        except web.HTTPException:
            raise
        except Exception as error:
            log.exception("%s failed", path)
            return web.Response(status=500, text=f"{path}: {type(error).__name__}: {error}")
        finally:
            seconds = asyncio.get_running_loop().time() - begun
            metrics.admitted(path.lstrip("/"), allowed, seconds)

    return guarded


@contextlib.asynccontextmanager
async def serving(
    app: web.Application, host: str, port: int, tls: ssl.SSLContext | None
) -> AsyncIterator[int]:
    """Serve `app` while the block runs; gives the port (of use when 0 was asked for).

    On leaving, no new connection is taken and requests in flight get a few seconds to finish.
    """
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=PATIENCE, handle_signals=False)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, ssl_context=tls)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
