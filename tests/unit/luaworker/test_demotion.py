"""When a call yields, by the CPU time its child has used; the child is scripted, the clock is real and not asserted."""

import asyncio
from collections.abc import Iterable
from typing import cast

import pytest

from luaworker.demotion import Demotion
from luaworker.spawn import Child

AFTER = 0.008


class Scripted:
    """A child with a given CPU time at each look. It records every deed that was done to it."""

    def __init__(self, used: Iterable[float]) -> None:
        self._used = iter((0.0, *used))
        self.done: list[str] = []
        self.over = asyncio.Event()

    @property
    def cpu_seconds(self) -> float:
        """The next figure; the last look ends the test."""
        used = next(self._used, None)
        if used is None:
            self.over.set()
            return 0.0
        return used

    def yield_most(self) -> None:
        self.done.append("yields")

    def demote(self) -> bool:
        self.done.append("demoted")
        self.over.set()
        return True


async def watched(*used: float, staged: bool) -> list[str]:
    """The deeds done to a child with the given CPU times, look after look."""
    child = Scripted(used)
    demotion = Demotion(
        cast("Child", child), AFTER, lambda: child.done.append("counted"), staged=staged
    )
    async with asyncio.timeout(60):
        await child.over.wait()
    demotion.stop()
    return child.done


@pytest.mark.parametrize(
    ("used", "staged", "done"),
    [
        ((AFTER * 2,), True, ["demoted", "counted"]),
        ((AFTER / 2, AFTER), True, ["yields", "demoted", "counted"]),
        ((AFTER / 2, AFTER / 2, AFTER), True, ["yields", "demoted", "counted"]),
        ((AFTER / 2, AFTER), False, ["demoted", "counted"]),
        ((AFTER / 8, AFTER / 8, AFTER / 8), True, []),
    ],
    ids=["at once", "in stages", "each stage once", "recycled", "waits"],
)
async def test_a_call_yields_by_the_cpu_it_used(
    used: tuple[float, ...], staged: bool, done: list[str]
) -> None:
    assert await watched(*used, staged=staged) == done
