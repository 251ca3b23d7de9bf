"""Waits until a file of a folder changes.

It polls, since there is no portable notification; a folder of scripts has a few dozen files.
Invariant: every change of a script or a case that lasts is noticed, renames and deletions included.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

PAUSE = 0.3
_ENDINGS = (".lua", ".yaml", ".yml")

Snapshot = dict[Path, tuple[int, int]]


def snapshot(folder: Path) -> Snapshot:
    """All relevant files, with the values that show a change."""
    found: Snapshot = {}
    for path in folder.rglob("*"):
        if path.suffix in _ENDINGS:
            try:
                state = path.stat()
            except OSError:
                continue
            found[path] = (state.st_mtime_ns, state.st_size)
    return found


async def changed(
    folder: Path,
    before: Snapshot,
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> tuple[Path, ...]:
    """The files that differ from `before`; waits until there are some."""
    while True:
        now = snapshot(folder)
        differing = {path for path, state in now.items() if before.get(path) != state}
        differing |= before.keys() - now.keys()
        if differing:
            return tuple(sorted(differing))
        await pause(PAUSE)
