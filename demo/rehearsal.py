"""The same release, played by the simulation while the control plane is being built.

Why: a first build takes minutes, and users want to see a release in the meantime. Invariants: the rehearsal plays the
example's own manifests, by the users' own command; if the rehearsal fails, the build continues. It must not start a
cluster or delay one.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from demo.screen import Screen

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = Path("examples") / "istio-canary"
MANIFESTS = ("app.yaml", "rollout.yaml", "scripts-configmap.yaml")

_T = TypeVar("_T")


async def rehearse_while(screen: Screen, work: Coroutine[Any, Any, _T]) -> _T:
    """Show the simulated release while the work is done; return what the work returns."""
    done = asyncio.ensure_future(work)
    rehearsal = asyncio.create_task(rehearse(screen))
    try:
        result = await done
        await rehearsal
    finally:
        for task in (done, rehearsal):
            task.cancel()
        await asyncio.gather(done, rehearsal, return_exceptions=True)
    return result


async def rehearse(screen: Screen) -> None:
    """Show the simulated release, step by step."""
    arguments = [part for name in MANIFESTS for part in ("-f", str(EXAMPLE / name))]
    screen.command(f"moonshift simulate {' '.join(arguments)}")
    screen.note(
        "The control plane is being built; meanwhile, what it will show, played by the simulation: the controller's "
        "own decisions, the real scripts, no cluster."
    )
    async for block in _blocks(arguments):
        screen.note(f"\n{block}")
        await screen.let_read()
    screen.note(
        "\nThat was the simulation. The same on the real thing follows as soon as it is built."
    )


async def _blocks(arguments: list[str]) -> AsyncIterator[str]:
    """The output of the simulation, a step at a time."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "controller.cli.main", "simulate", *arguments),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        printed, _ = await process.communicate()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    for block in printed.decode().strip().split("\n\n"):
        yield block
