"""The HTTPS server that the API server calls, and that every pod of the cluster can reach.

Invariant: every request is answered within the API server's patience, in words; a body that is not a review is the
client's fault (4xx). A fault of ours is a 500 with its text, an answer that takes too long is a 504; both are logged,
and the webhook's failure policy decides the rest. No body is trusted, nor its length: `intake` and `connections` bound
its cost. `/readyz` depends on nothing but the server itself, because filling the caches needs `/convert`.
"""

import asyncio
import contextlib
import logging
import re
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

import msgspec
from aiohttp import web

from controller.api.names import KEPT_V1BETA1, V1BETA1
from controller.errors import BadConfiguration
from controller.kube.nesting import read_around
from controller.kube.packaged_schemas import schema_of
from controller.runtime.beside import beside
from controller.webhook.admission import STATUS_PATH, Handler
from controller.webhook.connections import MAX_PENDING_CONNECTIONS, Acceptor, ConnectionLimits
from controller.webhook.conversion import convert
from controller.webhook.intake import BodyLimits, Intake
from controller.webhook.offload import Offload
from controller.webhook.review import (
    AdmissionRequest,
    AdmissionReview,
    Answer,
    ConversionReview,
    admission_response,
    refused,
)
from controller.webhook.trees import TooManyValues, check_page, check_whole

T = TypeVar("T")
log = logging.getLogger(__name__)

ANSWER_SECONDS = 8.0
"""Seconds for one request; the API server gives up after 10."""
IDLE = 120.0
"""Seconds an idle connection is kept; API servers close theirs after 90, so no request meets one that we close."""
LINGER = 1.0
"""Seconds in which the rest of a body that was not taken in is thrown away, so that its sender reads the answer."""


class AdmissionMetrics(Protocol):
    """Counts answers; `webhook` is the path without its slash, a failure of ours counts as not allowed."""

    def admitted(self, webhook: str, allowed: bool, seconds: float) -> None:
        """One answer and how long it took."""
        ...


ACCEPTOR = web.AppKey("acceptor", list[Acceptor])
"""The acceptor of a running server: one entry while it serves."""
Leaving = Callable[[], bool]
"""Whether this replica was asked to stop: clients are then sent to another one with their next request."""
LEAVING = web.AppKey[Leaving]("leaving")


def _staying() -> bool:
    return False


def webhook_app(
    handlers: Mapping[str, Handler],
    metrics: AdmissionMetrics,
    limits: BodyLimits | None = None,
    *,
    authenticated: bool = False,
    leaving: Leaving = _staying,
) -> web.Application:
    """The application: one POST path per handler, `/convert`, and `/readyz`.

    Where it is `authenticated`, reviews are taken from clients with a certificate only; conversions depend on the
    request alone, and API servers present no certificate for them.
    """
    app = web.Application(middlewares=[_counted])
    app[ACCEPTOR] = []
    app[LEAVING] = leaving
    intake, offload = Intake(limits or BodyLimits()), Offload()
    for path, handler in handlers.items():
        judging = _refusing_unread(handler) if path == STATUS_PATH else _admission(handler)
        answering = _guarded(path, judging, intake, metrics)
        app.router.add_post(path, _certified(answering) if authenticated else answering)
    app.router.add_post("/convert", _guarded("/convert", _conversion(offload), intake, metrics))
    app.router.add_get("/readyz", _ready)
    return app


@web.middleware
async def _counted(request: web.Request, handler: "Answering") -> web.StreamResponse:
    """The acceptor knows which connections wait for an answer."""
    with contextlib.ExitStack() as stack:
        for acceptor in request.app[ACCEPTOR]:
            stack.enter_context(acceptor.asking(request.transport))
        answer = await handler(request)
        crowded = any(acceptor.crowded(request.transport) for acceptor in request.app[ACCEPTOR])
        if crowded or request.app[LEAVING]():
            answer.force_close()
        return answer


async def _ready(request: web.Request) -> web.Response:
    return web.Response(text="ok")


class Reply(NamedTuple):
    """The body of an answer, and whether it lets the request pass."""

    body: bytes
    allowed: bool


Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]
Endpoint = Callable[[memoryview], Awaitable[Reply]]


def _admission(handler: Handler) -> Endpoint:
    async def endpoint(body: memoryview) -> Reply:
        review = await _around(_admission_of, body)
        try:
            # The stored object may be too deep, so that it can be repaired and deleted.
            check_whole(review.request.object)
            answer = await handler(review.request)
        except TooManyValues as refusal:
            answer = refused(str(refusal), 413)
        if not answer.allowed:
            _log_refusal(review, answer)
        return Reply(admission_response(review, answer), answer.allowed)

    return endpoint


def _refusing_unread(handler: Handler) -> Endpoint:
    """Refuse an object that cannot be read. A fault in its place would let it pass: the webhook of a status has the
    failure policy Ignore."""
    judge = _admission(handler)

    async def endpoint(body: memoryview) -> Reply:
        try:
            return await judge(body)
        except RecursionError:
            why = "it is nested too deeply"
        except (msgspec.MsgspecError, UnicodeDecodeError) as fault:
            why = str(fault)
        # An API server writes both before anything that the author of the request chooses.
        head = bytes(body[:512])
        uid, version = _UID.search(head), _VERSION.search(head)
        if uid is None or version is None:
            raise msgspec.DecodeError(why)
        request = AdmissionRequest(uid=uid[1].decode())
        review = AdmissionReview(request=request, api_version=version[1].decode())
        answer = refused(f"the status cannot be read, and is not changed: {why}")
        _log_refusal(review, answer)
        return Reply(admission_response(review, answer), False)

    return endpoint


_UID = re.compile(rb'"uid": ?"([-0-9a-zA-Z]{1,64})"')
_VERSION = re.compile(rb'"apiVersion": ?"(admission\.k8s\.io/v1(?:beta1)?)"')


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


_conversion_of = msgspec.json.Decoder(ConversionReview).decode
_admission_of = msgspec.json.Decoder(AdmissionReview).decode
_ADDS = KEPT_V1BETA1.encode()


async def _around(read: Callable[[bytes | memoryview], T], body: memoryview) -> T:
    """The review, with a mark in place of everything that is nested too deeply."""
    try:
        return read(body)
    except RecursionError:
        return (await read_around(read, bytes(body))).value


def _conversion(offload: Offload) -> Endpoint:
    async def endpoint(body: memoryview) -> Reply:
        check_page(body)
        review = await _around(_conversion_of, body)
        if any(_ADDS in bytes(raw) for raw in review.request.objects):
            # before the loop needs it: reading the schema takes half a second
            await asyncio.to_thread(schema_of, V1BETA1, "Rollout")
        return Reply(await offload.run(review.request.objects, lambda: convert(review)), True)

    return endpoint


def _certified(answering: Answering) -> Answering:
    """Answer only clients whose certificate the handshake has verified."""

    async def certified(request: web.Request) -> web.StreamResponse:
        if request.transport is not None and request.transport.get_extra_info("peercert"):
            return await answering(request)
        raise web.HTTPForbidden(
            text="a client certificate is asked for (--webhook-client-ca), and none was presented: name one for this "
            "webhook in the API server's AdmissionConfiguration",
            headers={"Connection": "close"},
        )

    return certified


def _guarded(path: str, endpoint: Endpoint, intake: Intake, metrics: AdmissionMetrics) -> Answering:
    """The endpoint with every fault turned into an answer: else the API server waits in vain."""

    async def guarded(request: web.Request) -> web.Response:
        begun = asyncio.get_running_loop().time()
        allowed = False
        try:
            async with asyncio.timeout(ANSWER_SECONDS), intake.body(request) as body:
                reply = await endpoint(body)
            allowed = reply.allowed
            return web.Response(body=reply.body, content_type="application/json")
        except web.HTTPException:
            raise
        except Exception as error:
            return _fault(path, error)
        finally:
            seconds = asyncio.get_running_loop().time() - begun
            metrics.admitted(path.lstrip("/"), allowed, seconds)

    return guarded


def _fault(path: str, error: Exception) -> web.Response:
    """The error in words: the client's, or ours."""
    match error:
        case msgspec.MsgspecError() | UnicodeDecodeError():
            log.info("%s: not a review: %s", path, error)
            return web.Response(status=400, text=f"{path}: not a review: {error}")
        case RecursionError():
            log.info("%s: not a review: nested too deeply", path)
            return web.Response(status=400, text=f"{path}: not a review: nested too deeply")
        case TooManyValues():
            log.info("%s: %s", path, error)
            return web.Response(status=413, text=f"{path}: {error}")
        case TimeoutError():
            log.error("%s: no answer within %s s", path, ANSWER_SECONDS)
            return web.Response(status=504, text=f"{path}: no answer within {ANSWER_SECONDS} s")
        case _:
            log.error("%s failed", path, exc_info=error)
            return web.Response(status=500, text=f"{path}: {type(error).__name__}: {error}")


@contextlib.asynccontextmanager
async def serving(
    app: web.Application,
    host: str,
    port: int,
    tls: ssl.SSLContext | None,
    limits: ConnectionLimits | None = None,
) -> AsyncIterator[int]:
    """Serve `app` on all addresses, or on the addresses of `host`, while the block runs; yields the port (0 means any
    free port).

    On leaving, no new connection is taken and requests in flight get a few seconds to finish.
    """
    runner = web.AppRunner(
        app,
        access_log=None,
        shutdown_timeout=ANSWER_SECONDS,
        handle_signals=False,
        keepalive_timeout=IDLE,
        lingering_time=LINGER,
        auto_decompress=False,
    )
    await runner.setup()
    try:
        assert runner.server is not None
        acceptor = Acceptor(runner.server, tls, limits or ConnectionLimits())
        with _listening(host, port) as listening:
            app.get(ACCEPTOR, []).append(acceptor)
            async with beside(partial(acceptor.receive, listening), "accepting connections"):
                yield listening.getsockname()[1]
    finally:
        await runner.cleanup()


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens on one address; without a host on all addresses, of both families if there are two.

    Raises BadConfiguration.
    """
    both = not host and socket.has_dualstack_ipv6()
    try:
        found = socket.create_server(
            (host, port),
            family=socket.AF_INET6 if both else socket.AF_INET,
            backlog=MAX_PENDING_CONNECTIONS,
            dualstack_ipv6=both,
        )
    except OSError as failure:
        raise BadConfiguration(
            f"--webhook-port={port}: cannot listen on {host}:{port}: {failure}"
        ) from failure
    found.setblocking(False)
    return found
