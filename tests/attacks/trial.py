"""One attack, tried: its outcome, the answer of the canary after it, and whether both are the expected ones.

Invariant: a trial judges only the worker's answer and the state of the machine, and never asks the sandbox.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import grpc

from luaworker.layers import Layer
from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.attacks.attack import Attack, Bounds

Ask = Callable[[pb.ExecuteRequest], Awaitable[pb.ExecuteResponse]]

_CANARY_SECONDS = 60.0
_CANARY_OBJECT = b'{"canary":[1e2,null,{},[]]}'
# Looks at everything that a script could have left changed, and does one thing with each library.
CANARY = """
local names, keys, list = {}, {}, {1}
for name in next, _G do names[#names + 1] = tostring(name) end
table.sort(names)
for key in pairs({b = 1, a = 2}) do keys[#keys + 1] = key end
table.insert(list, 2)
print('canary')
return {
  names = names, keys = keys, list = list, object = obj.canary, version = _VERSION, absent = absent == nil,
  rep = ('x'):rep(3), upper = ('a'):upper(), floor = math.floor(2.5), random = math.random(), null = json.null,
  json = json.encode({a = {1, 2}}), text = tostring({}), joined = table.concat({1, 2}, ','), two = {unpack({1, 2})},
  meta = getmetatable(_G) == nil and getmetatable('') == false, environment = getfenv(pairs) == _G and getfenv(0) == _G,
}
"""


class Refused(Exception):
    """The service gave a status instead of an answer."""

    def __init__(self, status: grpc.StatusCode, details: str) -> None:
        super().__init__(f"{status.name}: {details}")
        self.status = status


@dataclass(frozen=True, slots=True)
class Record:
    """The outcome of a trial."""

    code: str
    message: str
    line: int
    result: bytes
    cpu_ms: float
    memory: int
    canary: tuple[object, ...]


def _request(
    source: bytes,
    obj: bytes,
    bounds: Bounds,
    tenant: str,
    name: str,
    modules: tuple[tuple[str, str], ...] = (),
) -> pb.ExecuteRequest:
    return pb.ExecuteRequest(
        script=source,
        object_json=obj,
        limits=bounds.message(),
        tenant=tenant,
        script_name=name,
        modules=[pb.Module(name=called, text=text.encode()) for called, text in modules],
    )


async def sing(ask: Ask) -> tuple[object, ...]:
    """The canary's answer, or why there was none; equal for equal worlds."""
    request = _request(CANARY.encode(), _CANARY_OBJECT, Bounds(cpu_ms=500), "canary", "canary")
    try:
        async with asyncio.timeout(_CANARY_SECONDS):
            answer = await ask(request)
    except (TimeoutError, Refused) as problem:
        return ("no answer", str(problem))
    return (answer.code, answer.message, answer.result_json, tuple(answer.log))


async def _answer(ask: Ask, request: pb.ExecuteRequest) -> pb.ExecuteResponse | Refused:
    try:
        return await ask(request)
    except Refused as refused:
        return refused


async def attempt(attack: Attack, ask: Ask) -> Record:
    """Tries the attack, then the canary."""
    tenant = hashlib.sha256(attack.name.encode() + attack.source).hexdigest()[:16]
    request = _request(attack.source, attack.obj, attack.bounds, tenant, "attack", attack.modules)
    if attack.at_once:
        return await _flood(attack, ask, request)
    answer = await _answer(ask, request)
    for _ in range(attack.times - 1):
        answer = await _answer(ask, request)
    canary = await sing(ask)
    if isinstance(answer, Refused):
        return Record(answer.status.name, str(answer), 0, b"", 0.0, 0, canary)
    return Record(
        pb.Code.Name(answer.code),
        answer.message,
        answer.line,
        answer.result_json,
        answer.cpu_ms,
        answer.peak_memory,
        canary,
    )


async def _flood(attack: Attack, ask: Ask, request: pb.ExecuteRequest) -> Record:
    """Many at once; the canary has to sing while they are at it."""
    flood = [asyncio.create_task(_answer(ask, request)) for _ in range(attack.at_once)]
    try:
        await asyncio.wait(flood, timeout=0.3)  # those that are refused at once
        canary = await sing(ask)
    finally:
        for call in flood:
            call.cancel()
        for call in flood:
            with suppress(asyncio.CancelledError, Exception):
                await call
    return Record(attack.codes[0], "", 0, b"", 0.0, 0, canary)


def problems(attack: Attack, record: Record, song: tuple[object, ...]) -> list[str]:
    """Everything that is not as it has to be; nothing if the attack was stopped as its entry says."""
    bounds = attack.bounds
    # Where a lock is taken to be broken, its own bound does not hold.
    timed = not attack.without & {Layer.COUNT_HOOK, Layer.CPU_TIMER}
    counted = Layer.LUA_MEMORY not in attack.without
    checks = {
        f"outcome {record.code} ({record.message})": record.code in attack.codes,
        f"message {record.message!r}": attack.says in record.message,
        f"end of message {record.message!r}": record.message.endswith(attack.ends),
        f"line {record.line}": attack.line in (0, record.line),
        f"result {record.result[:200]!r}": attack.result in (None, record.result),
        f"{record.cpu_ms} ms of CPU": not timed or record.cpu_ms <= 1.25 * bounds.cpu_ms + 50,
        f"{record.memory} bytes": not counted or record.memory <= bounds.memory_bytes,
        f"canary {record.canary}": record.canary == song,
    }
    return [f"not as expected: {what}" for what, holds in checks.items() if not holds]
