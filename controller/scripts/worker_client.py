"""Calls the worker to run or compile scripts.

Invariant: every call ends within two deadlines. A call that was lost with its worker is repeated once, on another
connection (a script is a pure function of its object, so that is safe). A script's failure is an answer; only an
unavailable worker is an exception. A worker without support for modules, older than the controller, counts as
unavailable, because it ran the script without them. No script or object is ever logged.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

import grpc
import grpc.aio

from controller.errors import WorkerUnavailable
from controller.scripts.connection import Address, Connection
from controller.scripts.lookup import Script
from controller.scripts.script_outcome import Executed, Refused, ScriptAnswer
from controller.telemetry import tracing
from protos.luaworker.v1 import luaworker_pb2 as pb

# The worker's own limits (1 s for the script, 0.5 s in its queue, some for the kill) fit in.
_DEADLINE_SECONDS = 3.0
_CLOSE_GRACE_SECONDS = 5.0
_ATTEMPTS = 2
# The call was lost, or not begun; the script is not the cause.
_LOST = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.UNKNOWN,
    }
)
# Outcomes that a noisy neighbour, or bad luck, can cause as well as the script.
_REPEATED = frozenset({pb.TIMEOUT, pb.CRASHED})
# Codes of ours, for requests that the service refused before any script ran.
TOO_LARGE = "TOO_LARGE"
INVALID_REQUEST = "INVALID_REQUEST"


class ScriptMetrics(Protocol):
    """Metrics of calls: the code, or the status of a worker that did not answer."""

    def script_ran(self, outcome: str, seconds: float) -> None:
        """Count one call, its repeats included."""


class _TooOld(Exception):
    """The worker that answered knows no modules: it is older than this controller."""


_Send = Callable[[Connection], Awaitable[pb.ExecuteResponse]]


class ScriptClient:
    """One worker address. Made within a running event loop; closed by `close`."""

    def __init__(
        self,
        address: str,
        *,
        tls_dir: str = "",
        deadline: float = _DEADLINE_SECONDS,
        metrics: ScriptMetrics | None = None,
    ) -> None:
        self._address = Address(address, tls_dir)
        self._deadline = deadline
        self._metrics = metrics
        self._connection = Connection(self._address)
        self._closing: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Close every connection."""
        await self._connection.close()
        await asyncio.gather(*self._closing)

    async def execute(
        self, script: Script, obj: bytes, *, tenant: str, request_id: str
    ) -> ScriptAnswer:
        """The script's answer for `obj`, which is JSON. Raises `WorkerUnavailable`."""
        request = pb.ExecuteRequest(
            script=script.text,
            script_name=script.name,
            object_json=obj,
            tenant=tenant,
            request_id=request_id,
            modules=[
                pb.Module(name=module.name, text=module.text, hidden=module.hidden)
                for module in script.modules
            ],
        )

        async def send(connection: Connection) -> pb.ExecuteResponse:
            response = await connection.stub.Execute(
                request, timeout=self._deadline, metadata=tracing.carried()
            )
            if response.modules != len(script.modules):
                raise _TooOld(script.name)
            return response

        with tracing.part("script", **{"moonshift.script": script.name}):
            return await self._ask(send)

    async def validate(self, script: Script, *, tenant: str, request_id: str) -> ScriptAnswer:
        """Whether the script compiles: `Executed` with an empty result, or `Refused`. Raises `WorkerUnavailable`."""
        request = pb.ValidateRequest(
            script=script.text, script_name=script.name, tenant=tenant, request_id=request_id
        )
        return await self._ask(lambda c: c.stub.Validate(request, timeout=self._deadline))

    async def _ask(self, send: _Send) -> ScriptAnswer:
        began = time.monotonic()
        outcome = "UNAVAILABLE"
        try:
            response = await self._attempts(send)
            if isinstance(response, Refused):
                outcome = response.code
                return response
            outcome = pb.Code.Name(response.code)
            return _answer(response)
        finally:
            if self._metrics is not None:
                self._metrics.script_ran(outcome, time.monotonic() - began)
            tracing.note("moonshift.script.code", outcome)

    async def _attempts(self, send: _Send) -> pb.ExecuteResponse | Refused:
        response: pb.ExecuteResponse | None = None
        problem: grpc.aio.AioRpcError | _TooOld | None = None
        for _ in range(_ATTEMPTS):
            connection = self._connection
            try:
                response = await send(connection)
            except _TooOld as error:
                # While workers are replaced one by one, another one may be new already.
                problem = error
                self._replace(connection)
                continue
            except grpc.aio.AioRpcError as error:
                refused = _refusal(error)
                if refused is not None:
                    return refused
                problem = error
                if error.code() not in _LOST:
                    break
                if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                    self._replace(connection)
                continue
            if response.code not in _REPEATED:
                return response
        if response is not None:
            return response
        assert problem is not None
        raise self._unavailable(problem) from problem

    def _replace(self, failed: Connection) -> None:
        """Open a new connection for the next attempt; other calls on the old one may finish."""
        if failed is not self._connection:
            return  # somebody else met the same failure first
        self._connection = Connection(self._address)
        task = asyncio.create_task(failed.close(_CLOSE_GRACE_SECONDS))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _unavailable(self, error: grpc.aio.AioRpcError | _TooOld) -> WorkerUnavailable:
        if isinstance(error, _TooOld):
            return WorkerUnavailable(
                f"the script worker at {self._address.target} is older than this controller and knows no modules, "
                f"which the script {error} asks for (--@use); update the worker"
            )
        untrusted = "handshake failed" in (error.details() or "")
        advice = _UNTRUSTED if untrusted else _ADVICE.get(error.code(), "see the worker's log")
        return WorkerUnavailable(
            f"the script worker at {self._address.target} gave no answer "
            f"({error.code().name}: {error.details()}); {advice}"
        )


# gRPC names a certificate that has expired, or that an unknown authority signed, in the details of UNAVAILABLE.
_UNTRUSTED = "its certificate is not accepted: see the Secret moonshift-lua-worker-certs, and whether the worker has it"
_ADVICE = {
    grpc.StatusCode.UNAVAILABLE: "check that it runs and is ready, and the flag --lua-worker",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "it is overloaded: add replicas or raise --concurrency",
    grpc.StatusCode.DEADLINE_EXCEEDED: "it is overloaded or unreachable: check its load and network",
    grpc.StatusCode.UNIMPLEMENTED: "something else listens there: check the flag --lua-worker",
}


def _refusal(error: grpc.aio.AioRpcError) -> Refused | None:
    """The request itself is refused, by the worker or by gRPC for its size: repeating cannot help."""
    details = error.details() or ""
    if error.code() is grpc.StatusCode.INVALID_ARGUMENT:
        return Refused(INVALID_REQUEST, details)
    too_large = "that are accepted" in details or "larger than max" in details
    if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and too_large:
        return Refused(TOO_LARGE, details)
    return None


def _answer(response: pb.ExecuteResponse) -> ScriptAnswer:
    log = tuple(response.log)
    if response.code == pb.OK:
        return Executed(
            response.result_json, log, response.cpu_ms, response.wall_ms, response.peak_memory
        )
    return Refused(
        pb.Code.Name(response.code),
        response.message,
        response.traceback,
        response.line,
        response.json_path,
        log,
    )
