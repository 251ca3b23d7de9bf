"""Measuring processes."""

import asyncio
import os
import sys

from localcluster.usage import ResourceUse, descendants, start_time, usage


def test_this_process_is_measured() -> None:
    used = usage(os.getpid(), children=False)
    assert used.cpu_seconds > 0
    assert used.rss_bytes >= used.pss_bytes > 0
    assert used.processes == 1


def test_a_process_that_is_not_there_uses_nothing() -> None:
    assert usage(2**22 + 1) == ResourceUse()
    assert start_time(2**22 + 1) is None


async def test_the_memory_of_children_counts() -> None:
    script = "import subprocess; p = subprocess.Popen(['/bin/sleep', '60']); print('up', flush=True); p.wait()"
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    assert await child.stdout.readline() == b"up\n"
    assert usage(child.pid).processes == 2
    assert usage(child.pid, children=False).processes == 1
    assert child.pid in descendants(os.getpid())
    (grandchild,) = descendants(child.pid)
    os.kill(grandchild, 9)
    await child.wait()
