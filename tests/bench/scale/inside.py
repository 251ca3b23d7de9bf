"""`python -m tests.bench.scale.inside FILE MODULE ...`: runs a program and records how late its event loop is.

Why it exists: from outside, a blocked loop cannot be distinguished from a busy machine. Invariant: the program runs
as it does by itself; one line of FILE is one second of it: by the clock, and by the processor time that the loop's
own thread took, which neighbours cannot make longer. On SIGUSR1 it collects garbage and writes how many objects are
left. It must change nothing else.
"""

import asyncio
import faulthandler
import gc
import runpy
import signal
import sys
import time
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec

TICK = 0.02
SECOND = 1.0
STALL_SECONDS = 3.0
MOST_TYPES = 200


class Second(msgspec.Struct, frozen=True, omit_defaults=True):
    """The delay of the loop at each tick in milliseconds; or the counts after a garbage collection."""

    at: float
    clock: tuple[float, ...] = ()
    own: tuple[float, ...] = ()
    objects: int = 0
    """Those that the garbage collector visits."""
    blocks: int = 0
    """Blocks of memory that all Python objects together have, texts and numbers, too."""
    types: tuple[tuple[str, int], ...] = ()


def _write(path: Path, line: Second) -> None:
    with path.open("ab") as file:
        file.write(msgspec.json.encode(line) + b"\n")


def _collect(path: Path) -> None:
    gc.collect()
    found = Counter(type(one).__name__ for one in gc.get_objects())
    types = tuple(found.most_common(MOST_TYPES))
    blocks = sys.getallocatedblocks()
    _write(path, Second(time.time(), objects=found.total(), blocks=blocks, types=types))


async def _watch(path: Path) -> None:
    """Note how late each tick is, until cancelled."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, _collect, path)
    while True:
        # If the loop is blocked for longer, the program's log shows where.
        faulthandler.dump_traceback_later(STALL_SECONDS)
        clock, own = [], []
        end = time.monotonic() + SECOND
        while time.monotonic() < end:
            begun, used = time.monotonic(), time.thread_time()
            await asyncio.sleep(TICK)
            late = max(0.0, time.monotonic() - begun - TICK)
            clock.append(round(1000 * late, 2))
            own.append(round(1000 * min(late, time.thread_time() - used), 2))
        _write(path, Second(time.time(), tuple(clock), tuple(own)))


def main() -> None:
    """Run the program with a task more on its loop."""
    path, module = Path(sys.argv[1]), sys.argv[2]
    sys.argv = [module, *sys.argv[3:]]
    run = asyncio.run

    def watched(program: Coroutine[Any, Any, Any], **options: Any) -> Any:
        async def both() -> Any:
            watching = asyncio.create_task(_watch(path))
            try:
                return await program
            finally:
                watching.cancel()

        return run(both(), **options)

    asyncio.run = watched  # type: ignore[assignment]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
