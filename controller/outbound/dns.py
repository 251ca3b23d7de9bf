"""Looks up the names of metric sources in threads of its own, a bounded number for each namespace.

Why: a look-up cannot be ended; where the name servers of one source are silent, each takes a thread for half a minute.
In the threads that the whole process shares, such look-ups of one tenant stopped everything that waits for a thread.
Invariant: a look-up counts as its asker's until its thread has ended, also when the asker has given up.
"""

import asyncio
import contextlib
import socket
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from weakref import WeakValueDictionary

from aiohttp.abc import AbstractResolver, ResolveResult

THREADS = 512
"""Hundreds of namespaces that hang leave room for others; a thread is made when it is needed."""
MAX_OF_ASKER = 2
"""Look-ups of one namespace at a time."""
ASKER: ContextVar[str] = ContextVar("asker", default="")
"""The namespace for which a request is sent."""
_NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV


class Names(AbstractResolver):
    """The system's names."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="names of metric sources")
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name. Raises OSError."""
        turns = self._turns.setdefault(ASKER.get(), asyncio.Semaphore(MAX_OF_ASKER))
        await turns.acquire()
        loop = asyncio.get_running_loop()
        job = self._threads.submit(look_up, host, port, family)

        def end(_: Future[list[ResolveResult]]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended before
                loop.call_soon_threadsafe(turns.release)

        job.add_done_callback(end)
        return await asyncio.wrap_future(job)

    async def close(self) -> None:
        """Begin no look-up any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def look_up(host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
    """The addresses of a name, as the system knows them. Raises OSError."""
    found = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, family=family, flags=socket.AI_ADDRCONFIG
    )
    return [
        ResolveResult(
            hostname=host,
            host=f"{address[0]}",
            port=port,
            family=kind,
            proto=protocol,
            flags=_NUMERIC,
        )
        for kind, _, protocol, _, address in found
    ]
