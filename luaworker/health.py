"""The standard health service `grpc.health.v1.Health`, which kubelets and gRPC clients know how to ask.

Its two messages have one field each, so they are written by hand rather than bought with another dependency.
Invariant: never says SERVING before the sandbox is proven.
"""

import asyncio
from collections.abc import AsyncIterator

import grpc
import grpc.aio

_SERVICE = "grpc.health.v1.Health"
_KNOWN = ("", "luaworker.v1.LuaExecutor")
_SERVING, _NOT_SERVING, _SERVICE_UNKNOWN = b"\x08\x01", b"\x08\x02", b"\x08\x03"
_FIELD_SERVICE = 0x0A


def _service_name(request: bytes) -> str:
    """Field 1 of HealthCheckRequest."""
    if len(request) < 2 or request[0] != _FIELD_SERVICE or request[1] != len(request) - 2:
        return ""
    return request[2:].decode("utf-8", "replace")


class Health:
    """State of the service, and its answers."""

    def __init__(self) -> None:
        self._serving = False
        self._changed = asyncio.Event()

    def set_serving(self, serving: bool) -> None:
        """Tells everybody who watches."""
        if serving != self._serving:
            self._serving = serving
            self._changed.set()
            self._changed = asyncio.Event()

    @property
    def serving(self) -> bool:
        """Scripts can run."""
        return self._serving

    def _status(self) -> bytes:
        return _SERVING if self._serving else _NOT_SERVING

    async def _check(
        self, request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> bytes:
        if _service_name(request) not in _KNOWN:
            await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return self._status()

    async def _watch(
        self, request: bytes, _context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> AsyncIterator[bytes]:
        if _service_name(request) not in _KNOWN:
            yield _SERVICE_UNKNOWN
            return
        while True:
            changed = self._changed
            yield self._status()
            await changed.wait()

    def handler(self) -> grpc.GenericRpcHandler:
        """To be added to a server."""
        return grpc.method_handlers_generic_handler(
            _SERVICE,
            {
                "Check": grpc.unary_unary_rpc_method_handler(self._check),
                "Watch": grpc.unary_stream_rpc_method_handler(self._watch),
            },
        )
