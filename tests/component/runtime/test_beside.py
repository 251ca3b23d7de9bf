"""A loop beside a block of code: neither goes on without the other."""

import asyncio

import pytest

from controller.errors import BadConfiguration
from controller.runtime.beside import beside


async def _forever() -> None:
    await asyncio.Event().wait()


class Lasting:
    """A loop that shows whether it has ended."""

    ended = False

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            await _forever()
        finally:
            self.ended = True


async def test_a_loop_that_fails_ends_the_block_with_its_failure() -> None:
    async def broken() -> None:
        await asyncio.sleep(0)
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as caught:
        async with beside(broken, "a loop"):
            await _forever()
    assert caught.value.subgroup(ZeroDivisionError)


async def test_a_loop_that_ends_by_itself_ends_the_block_too() -> None:
    async def short() -> None:
        await asyncio.sleep(0)

    with pytest.raises(ExceptionGroup) as caught:
        async with beside(short, "a loop"):
            await _forever()
    assert "a loop ended by itself" in str(caught.value.exceptions[0])


async def test_a_block_that_is_over_at_once_leaves_nothing_behind() -> None:
    others = asyncio.all_tasks()
    async with beside(_forever, "a loop"):
        meanwhile = asyncio.all_tasks() - others
    assert len(meanwhile) == 1
    assert asyncio.all_tasks() & meanwhile == set()


async def test_a_failure_of_the_block_keeps_its_type_and_ends_the_loop() -> None:
    loop = Lasting()

    async def misconfigured() -> None:
        await asyncio.sleep(0)
        raise BadConfiguration("no such port")

    with pytest.raises(BadConfiguration):
        async with beside(loop.run, "a loop"):
            await misconfigured()
    assert loop.ended


async def test_a_block_that_is_cancelled_ends_the_loop() -> None:
    loop, entered = Lasting(), asyncio.Event()

    async def block() -> None:
        async with beside(loop.run, "a loop"):
            await asyncio.sleep(0)  # the loop begins
            entered.set()
            await _forever()

    task = asyncio.create_task(block())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert loop.ended
