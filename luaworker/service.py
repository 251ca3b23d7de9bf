"""The gRPC face of the pool: requests in, outcomes out.

Invariant: the outcome of a script is a code of the response, with gRPC status OK; a gRPC status other than OK says that
nothing is known about the script. No script text, object content or result is ever logged.
"""

import logging
import re
import time
from collections.abc import Iterable, Sequence
from typing import NoReturn, Protocol

import grpc
import grpc.aio

from luaworker.call_outcome import Outcome
from luaworker.codes import Code
from luaworker.errors import BrokenChild, NotReady, Overloaded, TooLate
from luaworker.layers import Layer
from luaworker.metrics import Metrics
from luaworker.packaged import Packaged
from luaworker.pool import Pool
from luaworker.request_bytes import RequestBytes
from luaworker.script_cache import Breaker, ScriptCache, program_digest
from luaworker.script_names import shown_name
from luaworker.settings import (
    MODULES,
    MODULES_BYTES,
    NAME_CHARACTERS,
    OBJECT_BYTES,
    SCRIPT_BYTES,
    Settings,
)
from luaworker.tracing import trace_of
from luaworker.wire import Call, Limits, Module, Task
from protos.luaworker.v1 import luaworker_pb2 as pb
from protos.luaworker.v1 import luaworker_pb2_grpc as pb_grpc

_log = logging.getLogger(__name__)
# A request that is too large for its parts must still arrive, to be refused by name.
RECEIVE_BYTES = SCRIPT_BYTES + MODULES_BYTES + OBJECT_BYTES + 64 * 1024
_UNHURRIED = 60.0  # seconds for a caller without a deadline; the limits of a call are shorter
_ALARMING = frozenset({Code.CRASHED, Code.SANDBOX_VIOLATION})
_MODULE_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


class _Context(Protocol):
    """The part of a gRPC context that is needed here, whatever the call's types."""

    def time_remaining(self) -> float | None: ...

    async def abort(self, code: grpc.StatusCode, details: str = "") -> NoReturn: ...

    def invocation_metadata(self) -> Iterable[tuple[str, str | bytes]] | None: ...


class Executor(pb_grpc.LuaExecutorServicer):
    """Implements `luaworker.v1.LuaExecutor`."""

    def __init__(
        self, pool: Pool, settings: Settings, metrics: Metrics, packaged: Packaged
    ) -> None:
        self._pool = pool
        self._settings = settings
        self._metrics = metrics
        self._packaged = packaged
        self._cache = ScriptCache()
        self._request_bytes = RequestBytes()
        self._breaker = Breaker()
        metrics.watch_circuits(lambda: self._breaker.open(time.monotonic()))

    async def Execute(
        self,
        request: pb.ExecuteRequest,
        context: grpc.aio.ServicerContext[pb.ExecuteRequest, pb.ExecuteResponse],
    ) -> pb.ExecuteResponse:
        """Runs one script over one object."""
        response = await self._execute(request, context)
        response.modules = len(request.modules)
        return response

    async def _execute(self, request: pb.ExecuteRequest, context: _Context) -> pb.ExecuteResponse:
        await _check_sizes(request.script, request.object_json, context)
        await _check_names(request, context)
        await _check_modules(request.modules, context)
        if request.WhichOneof("source") is None:
            await context.abort(
                grpc.StatusCode.INVALID_ARGUMENT, "neither script nor script_sha256 is set"
            )
        script = request.script
        if request.WhichOneof("source") == "script_sha256":
            known = self._cache.text(request.script_sha256)
            if known is None:
                self._metrics.call_answered(Code.NEED_SCRIPT, self._pool.backend)
                return pb.ExecuteResponse(
                    code=pb.NEED_SCRIPT, message="this script is not known here: send its text"
                )
            script = known
        modules = tuple(_module(module, self._packaged) for module in request.modules)
        own = self._cache.keep(script)
        digest = program_digest(own, modules)
        name = shown_name(request.script_name)
        refusal = self._breaker.refusal(request.tenant, digest, time.monotonic())
        if refusal and Layer.BREAKER not in self._settings.without:
            text = f"{name.decode()}: {refusal}"
            self._metrics.call_answered(Code.CIRCUIT_OPEN, self._pool.backend)
            return pb.ExecuteResponse(code=pb.CIRCUIT_OPEN, message=text)
        limits = self._limits_of(request.limits)
        call = Call(Task.EXECUTE, limits, name, script, request.object_json, modules=modules)
        trusted = digest if self._packaged.trusts(own, modules) else b""
        response, outcome = await self._run(call, request.tenant, context, trusted)
        self._breaker.note(request.tenant, digest, outcome.code, outcome.message, time.monotonic())
        self._report(
            outcome,
            own,
            request.request_id,
            request.tenant,
            trace_of(context.invocation_metadata()),
        )
        return response

    def _limits_of(self, asked: pb.Limits) -> Limits:
        return self._settings.clamp(
            Limits(asked.cpu_ms, asked.wall_ms, asked.memory_bytes, asked.max_output_bytes)
        )

    async def Validate(
        self,
        request: pb.ValidateRequest,
        context: grpc.aio.ServicerContext[pb.ValidateRequest, pb.ExecuteResponse],
    ) -> pb.ExecuteResponse:
        """Compiles a script, in a child as well: the parser is as open to attack as the engine."""
        await _check_sizes(request.script, b"", context)
        await _check_names(request, context)
        digest = self._cache.keep(request.script)
        name = shown_name(request.script_name)
        call = Call(Task.VALIDATE, self._settings.limits, name, request.script)
        response, outcome = await self._run(call, request.tenant, context)
        self._report(outcome, digest, request.request_id, request.tenant)
        return response

    async def _run(
        self, call: Call, tenant: str, context: _Context, packaged: bytes = b""
    ) -> tuple[pb.ExecuteResponse, Outcome]:
        left = context.time_remaining()
        patience = _UNHURRIED if left is None else left
        began = time.monotonic()
        try:
            with self._request_bytes.hold(tenant, call.size):
                outcome, waited = await self._pool.run(call, tenant, patience, packaged)
        except Overloaded as trouble:
            await self._abort(context, grpc.StatusCode.RESOURCE_EXHAUSTED, trouble)
        except TooLate as trouble:
            await self._abort(context, grpc.StatusCode.DEADLINE_EXCEEDED, trouble)
        except NotReady as trouble:
            await self._abort(context, grpc.StatusCode.UNAVAILABLE, trouble)
        except BrokenChild as trouble:
            await self._abort(context, grpc.StatusCode.INTERNAL, trouble)
        wall = time.monotonic() - began - waited
        self._metrics.call_ended(outcome, self._pool.backend, waited, wall)
        response = pb.ExecuteResponse(
            code=pb.Code.Name(outcome.code),
            result_json=outcome.result,
            message=outcome.message,
            traceback=outcome.traceback,
            line=outcome.line,
            json_path=outcome.json_path,
            log=outcome.log,
            cpu_ms=outcome.cpu_ms,
            wall_ms=wall * 1000,
            queue_ms=waited * 1000,
            peak_memory=outcome.memory,
            backend=self._pool.backend,
        )
        return response, outcome

    async def _abort(
        self,
        context: _Context,
        status: grpc.StatusCode,
        trouble: Exception,
    ) -> NoReturn:
        self._metrics.call_failed(trouble)
        await context.abort(status, str(trouble))
        raise AssertionError("abort returned")

    def _report(
        self, outcome: Outcome, digest: bytes, request_id: str, tenant: str, trace: str = ""
    ) -> None:
        """One log line for operators: a script that attacks, or an engine that breaks."""
        if outcome.code not in _ALARMING:
            return
        _log.error(
            "script process killed",
            extra={
                "code": outcome.code.name,
                "script_sha256": digest.hex(),
                "packaged": digest in self._packaged.scripts,
                "tenant": tenant,
                "request_id": request_id[:NAME_CHARACTERS],
                **({"trace_id": trace} if trace else {}),
            },
        )


async def _check_sizes(script: bytes, object_json: bytes, context: _Context) -> None:
    """Refuses invalid requests with a gRPC status before a child is started."""
    for part, size, bound in (
        ("script", len(script), SCRIPT_BYTES),
        ("object", len(object_json), OBJECT_BYTES),
    ):
        if size > bound:
            await context.abort(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"the {part} has {size} bytes, more than the {bound} that are accepted",
            )


def _module(module: pb.Module, packaged: Packaged) -> Module:
    name, text = module.name.encode(), module.text
    digest = packaged.digest(name, text)
    return Module(name, text, module.hidden, digest, packaged.has(name, digest))


async def _check_modules(modules: Sequence[pb.Module], context: _Context) -> None:
    """Refuses modules that no controller sends: their names become globals, and part of messages."""
    # Counted first: a request has room for millions of empty ones, and to visit them takes a second.
    size = sum(len(module.text) for module in modules) if len(modules) <= MODULES else 0
    if size > MODULES_BYTES or len(modules) > MODULES:
        await context.abort(
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            f"{len(modules)} modules with {size} bytes are more than the {MODULES} with "
            f"{MODULES_BYTES} bytes that are accepted",
        )
    names = [module.name for module in modules]
    for name in names:
        if not _MODULE_NAME.fullmatch(name) or names.count(name) > 1:
            await context.abort(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"{name[:NAME_CHARACTERS]!r} is no name for a module: small letters, digits and _, each name once",
            )


async def _check_names(request: pb.ExecuteRequest | pb.ValidateRequest, context: _Context) -> None:
    """Refuses impossible names: they are kept, and logged, as long as the script fails."""
    for field, text in (
        ("script_name", request.script_name),
        ("tenant", request.tenant),
    ):
        if len(text) > NAME_CHARACTERS:
            await context.abort(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"{field} has {len(text)} characters, more than the {NAME_CHARACTERS} that are accepted",
            )
