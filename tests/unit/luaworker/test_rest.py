"""When the looks of a rest come, and that they end; the clock is real and not asserted."""

import asyncio

from luaworker.rest import Rest

SHORT = 0.005


class Seen:
    """Looks, and whether each found nobody calling; a call comes during each of the first `busy` looks."""

    def __init__(self, busy: int) -> None:
        self.resting: list[bool] = []
        self.over = asyncio.Event()
        self._busy = busy
        self.rest = Rest(SHORT, self._looked)

    def _looked(self, _since: float) -> None:
        self.resting.append(self.rest.resting)
        if len(self.resting) <= self._busy:
            self.rest.disturb()
        elif self.rest.resting:
            self.over.set()


async def looks(busy: int) -> Seen:
    seen = Seen(busy)
    async with asyncio.timeout(60):
        await seen.over.wait()
    return seen


async def test_the_looks_stop_after_a_while_without_calls() -> None:
    seen = await looks(0)
    assert seen.resting[-1]
    assert not any(seen.resting[:-1])
    assert seen.rest.resting


async def test_a_call_after_a_rest_is_followed_by_another_rest() -> None:
    seen = await looks(3)
    assert len(seen.resting) >= 4
    assert seen.resting[-1]


async def test_a_call_ends_the_rest_at_once() -> None:
    seen = await looks(0)
    seen.rest.disturb()
    assert not seen.rest.resting
    seen.rest.end()


async def test_memory_used_since_the_last_look_is_not_released() -> None:
    loop, heard = asyncio.get_running_loop(), asyncio.Event()
    began, since = loop.time(), []

    def looked(unused_since: float) -> None:
        since.append(loop.time() - unused_since >= SHORT and unused_since >= began)
        heard.set()

    rest = Rest(SHORT, looked)
    async with asyncio.timeout(60):
        await heard.wait()
    rest.end()
    assert since == [True]


async def test_no_child_rests_if_resting_is_switched_off() -> None:
    called: list[float] = []
    rest = Rest(0, called.append)
    rest.disturb()
    rest.end()
    assert not rest.resting
    assert called == []
