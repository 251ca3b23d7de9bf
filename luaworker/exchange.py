"""One call on one child: send it, wait within the limit, and read the answer or the child's exit status.

Invariant: returns or raises within the wall limit plus the kill margin plus some seconds, for every behaviour of the
child; never keeps more than the child may send and one chunk; a child without a complete answer is dead, or about to
end, when this returns.
"""

import asyncio

from luaworker import wire
from luaworker.call_outcome import Outcome, of_exit, of_reply
from luaworker.errors import BrokenChild
from luaworker.layers import Layer
from luaworker.spawn import Child

_DYING_SECONDS = 0.05
_REPORT_SECONDS = 2.0
_CHUNK = 64 * 1024
_NO_LAYERS: frozenset[Layer] = frozenset()


async def _receive(child: Child, size: int, received: bytearray) -> bool:
    """Reads until there are `size` bytes; False if the child closed its end before."""
    loop = asyncio.get_running_loop()
    while len(received) < size:
        chunk = await loop.sock_recv(child.channel, max(_CHUNK, min(size - len(received), 1 << 20)))
        if not chunk:
            return False
        received += chunk
    return True


async def _converse(
    child: Child, call: wire.Call, *, library: int, checked: bool
) -> wire.Reply | None:
    """The child's reply; None if it ended, or stopped making sense, before it was complete."""
    received = bytearray()
    try:
        message = wire.pack_call(call, knows_library=child.library == library)
        await asyncio.get_running_loop().sock_sendall(child.channel, message)
        if not await _receive(child, wire.REPLY_HEADER, received):
            return None
        header = wire.parse_reply_header(
            bytes(received[: wire.REPLY_HEADER]), call.limits.output_bytes, checked=checked
        )
        size = wire.REPLY_HEADER + header.body_size
        if not await _receive(child, size, received) or len(received) > size:
            return None
        return wire.parse_reply_body(header, bytes(received[wire.REPLY_HEADER :]))
    except (ConnectionError, wire.Garbled):
        return None


async def _report(child: Child) -> wire.Exit:
    """How the child ended. A child that only closed its channel, or broke the protocol, is killed after a moment."""
    for patience in (_DYING_SECONDS, _REPORT_SECONDS):
        try:
            async with asyncio.timeout(patience):
                return await asyncio.shield(child.exited)
        except TimeoutError:
            # A child that is dead already had another cause of death: on a busy machine its report comes late.
            child.kill("garbled" if child.alive else "")
    raise BrokenChild("no report about the end of a child")


async def converse(
    child: Child,
    call: wire.Call,
    kill_margin: float,
    without: frozenset[Layer] = _NO_LAYERS,
    library: int = -1,
) -> Outcome:
    """Runs the call and returns its outcome. Raises `BrokenChild` if the outcome says nothing about the script.

    `library` is the fingerprint of the library of the call's modules.
    """
    watched = Layer.WATCHDOG not in without
    patience = call.limits.wall_ms / 1000 + kill_margin
    watchdog = asyncio.get_running_loop().call_later(patience, child.kill, "wall")
    if not watched:
        watchdog.cancel()
    reply = None
    try:
        # Killing the child closes the channel; this time limit ends the wait if even that does not help.
        async with asyncio.timeout(patience + _REPORT_SECONDS if watched else None):
            checked = Layer.REPLY_CHECKS not in without
            reply = await _converse(child, call, library=library, checked=checked)
    except TimeoutError:
        pass
    finally:
        watchdog.cancel()
    if reply is not None:
        return of_reply(reply, call.limits)
    report = await _report(child)
    return of_exit(report, call.limits, call.name.decode("utf-8", "replace"), child.killed_for)
