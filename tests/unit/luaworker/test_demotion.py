"""When a call yields, by the CPU time its child has used; the child is scripted, the clock is real and not asserted."""

import asyncio
import math
from collections.abc import Iterable
from typing import cast

import pytest

from luaworker.demotion import Demotion
from luaworker.heavy_tenants import HeavyTenants
from luaworker.spawn import Child

AFTER = 0.008


class Scripted:
    """A child with a given CPU time at each look. It records every call of its methods."""

    def __init__(self, used: Iterable[float]) -> None:
        self._used = [0.0, *used]
        self.done: list[str] = []
        self.demoted = False
        self.over = asyncio.Event()

    @property
    def cpu_seconds(self) -> float:
        """The next figure; the look that takes the last one ends the test."""
        if len(self._used) == 1:
            asyncio.get_running_loop().call_soon(self.over.set)
        return self._used.pop(0)

    def yield_most(self) -> None:
        self.done.append("yields")

    def demote(self) -> bool:
        self.done.append("demoted")
        self.demoted = True
        return True


async def watched(*used: float, staged: bool, heavy: bool = False) -> list[str]:
    """The calls on a child that has the given CPU times, look after look."""
    child = Scripted(used)
    demotion = Demotion(
        cast("Child", child),
        AFTER,
        lambda: child.done.append("counted"),
        staged=staged,
        heavy=heavy,
    )
    async with asyncio.timeout(10):
        await child.over.wait()
    demotion.stop()
    if demotion.over:
        child.done.append("over")
    return child.done


@pytest.mark.parametrize(
    ("used", "staged", "heavy", "done"),
    [
        ((AFTER * 2,), True, False, ["demoted", "counted", "over"]),
        ((AFTER / 2, AFTER), True, False, ["yields", "demoted", "counted", "over"]),
        ((AFTER / 2, AFTER / 2, AFTER), True, False, ["yields", "demoted", "counted", "over"]),
        ((AFTER / 2, AFTER), False, False, ["demoted", "counted", "over"]),
        ((AFTER / 8, AFTER / 8, AFTER / 8), True, False, []),
        ((AFTER / 8, AFTER / 8), True, True, ["yields"]),
        ((AFTER / 2, AFTER / 2), True, True, ["yields", "demoted", "counted"]),
        ((AFTER / 2, AFTER), True, True, ["yields", "demoted", "counted", "over"]),
        ((AFTER * 2,), True, True, ["yields", "demoted", "counted", "over"]),
        ((AFTER / 2, AFTER), False, True, ["demoted", "counted", "over"]),
        ((AFTER / 8, math.inf), True, False, []),
    ],
    ids=[
        "at once", "in stages", "each stage once", "recycled", "waits",
        "heavy tenant, light call", "heavy tenant, honest call", "heavy tenant, heavy call",
        "heavy tenant, at once", "heavy tenant, recycled", "gone meanwhile",
    ],
)  # fmt: skip
async def test_a_call_yields_by_the_cpu_it_used_and_by_the_call_before_it(
    used: tuple[float, ...], staged: bool, heavy: bool, done: list[str]
) -> None:
    assert await watched(*used, staged=staged, heavy=heavy) == done


def test_a_tenant_is_heavy_until_one_of_its_calls_is_over_in_time() -> None:
    known = HeavyTenants()
    assert not known.is_heavy("a")
    known.note("a", heavy=True)
    known.note("b", heavy=False)
    assert (known.is_heavy("a"), known.is_heavy("b")) == (True, False)
    known.note("a", heavy=False)
    assert not known.is_heavy("a")


def test_only_so_many_names_are_remembered() -> None:
    known = HeavyTenants(most=2)
    for tenant in ("a", "b", "a", "c"):
        known.note(tenant, heavy=True)
    assert [known.is_heavy(tenant) for tenant in "abc"] == [True, False, True]
