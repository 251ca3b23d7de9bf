"""The script worker is lost, or stops, in every script call of a release, which ends as if nothing had happened."""

import asyncio
import os
import signal
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace

import pytest

from localcluster.usage import descendants
from tests.kill.lanes import Laboratory
from tests.kill.releases import STYLES, end_of, release

VICTIMS = ("the worker", "the worker's zygote and children", "a worker that stops for a while")
STOPPED_SECONDS = 8.0
"""Longer than a call is waited for, and its repetition."""


class Attack:
    """Ends a part of the worker; a worker that has ended is started again."""

    def __init__(self, laboratory: Laboratory, victim: str) -> None:
        self._worker = laboratory.product.worker
        self._victim = victim
        self.times = 0

    async def __call__(self) -> None:
        """Kill, with a call under way."""
        self.times += 1
        if self._victim == VICTIMS[0]:
            await self._worker.restart()
            return
        if self._victim == VICTIMS[2]:
            os.kill(self._worker.pid, signal.SIGSTOP)
            asyncio.get_running_loop().call_later(STOPPED_SECONDS, self._go_on, self._worker.pid)
            return
        for pid in descendants(self._worker.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @staticmethod
    def _go_on(pid: int) -> None:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize(("style", "victim"), list(zip(STYLES, VICTIMS, strict=True)))
async def test_a_worker_lost_in_the_first_or_last_script_call_costs_that_call_only(
    laboratory: Laboratory, style: str, victim: str
) -> None:
    await attacked(laboratory, style, victim, "sample", lambda count: {1, count})


@pytest.mark.full
@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("style", STYLES)
async def test_a_worker_lost_in_any_script_call_costs_that_call_only(
    laboratory: Laboratory, style: str, victim: str
) -> None:
    await attacked(laboratory, style, victim, "full", lambda count: range(1, count + 1))


async def attacked(
    laboratory: Laboratory,
    style: str,
    victim: str,
    title: str,
    chosen: Callable[[int], Collection[int]],
) -> None:
    lane, calls = laboratory.lanes[0], laboratory.script_calls
    # A name that the campaigns do not use, because the history of a name is checked.
    title = f"call-{title}-{style[0]}{VICTIMS.index(victim)}-"
    calls.watch()
    golden = await release(laboratory, lane, replace(STYLES[style], name=f"{title}0"), None)
    wanted, count = end_of(golden), calls.calls
    await golden.remove()
    assert count > 0
    attacks = 0
    for number in sorted(chosen(count)):
        attack = Attack(laboratory, victim)
        calls.watch(number, attack)
        app = replace(STYLES[style], name=f"{title}{number}")
        story = await release(laboratory, lane, app, None)
        calls.watch()
        found = await story.violations()
        assert not found, f"call {number}: " + "\n".join(map(str, found)) + story.report()
        assert end_of(story) == wanted
        attacks += attack.times
        await story.remove()
    assert attacks > 0
    print(f"\n{style}: {victim}, in {attacks} of {count} script calls")  # noqa: T201
