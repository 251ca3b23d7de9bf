"""One call on one child: send it, wait no longer than allowed, read the answer or learn how the child ended.

Invariant: returns or raises within the wall limit plus the kill margin plus half a second, whatever the child does;
never reads more than the child may send; the child is dead, or about to be, when this returns, and is never used
again.
"""

import asyncio

from luaworker import wire
from luaworker.errors import BrokenChild
from luaworker.outcome import Outcome, of_exit, of_reply
from luaworker.spawn import Child

_DYING_SECONDS = 0.05
_REPORT_SECONDS = 0.5


async def _receive(child: Child, size: int) -> bytes:
    """Exactly `size` bytes, or fewer where the child closed its end."""
    loop = asyncio.get_running_loop()
    received = bytearray()
    while len(received) < size:
        chunk = await loop.sock_recv(child.channel, min(size - len(received), 1 << 20))
        if not chunk:
            break
        received += chunk
    return bytes(received)


async def _converse(child: Child, call: wire.Call) -> wire.Reply | None:
    """The child's reply; None where it ended, or stopped making sense, before it was complete."""
    loop = asyncio.get_running_loop()
    try:
        await loop.sock_sendall(child.channel, wire.pack_call(call))
        raw = await _receive(child, wire.REPLY_HEADER)
        if len(raw) < wire.REPLY_HEADER:
            return None
        header = wire.parse_reply_header(raw, call.limits.output_bytes)
        body = await _receive(child, header.body_size)
        if len(body) < header.body_size:
            return None
        return wire.parse_reply_body(header, body)
    except (ConnectionError, wire.Garbled):
        return None


async def _report(child: Child) -> wire.Exit:
    """How the child ended. One that only closed its channel, or talks nonsense, is killed after a moment."""
    for patience, reason in ((_DYING_SECONDS, "garbled"), (_REPORT_SECONDS, "")):
        try:
            async with asyncio.timeout(patience):
                return await asyncio.shield(child.exited)
        except TimeoutError:
            child.kill(reason)
    raise BrokenChild("no report about the end of a child")


async def converse(child: Child, call: wire.Call, kill_margin: float) -> Outcome:
    """Runs the call and says what became of it. Raises `BrokenChild` where that says nothing about the script."""
    loop = asyncio.get_running_loop()
    patience = call.limits.wall_ms / 1000 + kill_margin
    watchdog = loop.call_later(patience, child.kill, "wall")
    try:
        reply = await _converse(child, call)
        if reply is not None:
            return of_reply(reply)
        report = await _report(child)
    finally:
        watchdog.cancel()
    return of_exit(report, call.limits, call.name.decode("utf-8", "replace"), child.killed_for)
