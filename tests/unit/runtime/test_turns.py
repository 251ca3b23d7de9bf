"""One piece of work begins in each turn of the event loop."""

import asyncio
from itertools import pairwise

from controller.runtime.turns import Turns


async def test_one_waiter_begins_in_each_turn_in_order_of_arrival() -> None:
    turns, begun = Turns(), list[int]()

    async def piece(number: int) -> None:
        await turns.next()
        begun.append(number)

    pieces = [asyncio.create_task(piece(number)) for number in range(20)]
    counts = [0]
    while len(begun) < len(pieces):
        await asyncio.sleep(0)
        counts.append(len(begun))
    assert begun == [*range(20)]
    assert max(after - before for before, after in pairwise(counts)) == 1


async def test_a_cancelled_waiter_loses_no_other_waiters_turn() -> None:
    turns = Turns()
    await turns.next()
    waiting = [asyncio.create_task(turns.next()) for _ in range(3)]
    await asyncio.sleep(0)  # the first of them has been given the turn by now, or waits for it
    waiting[0].cancel()
    waiting[1].cancel()
    await asyncio.wait_for(waiting[2], 5)
    await asyncio.wait_for(turns.next(), 5)


async def test_a_lone_caller_does_not_wait() -> None:
    turns = Turns()
    for _ in range(3):
        began = asyncio.ensure_future(turns.next())
        await asyncio.sleep(0)
        assert began.done()
        await asyncio.sleep(0)
