"""The tenant that gets the next place."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from luaworker.errors import Overloaded
from luaworker.fairness import FairQueue


async def test_a_tenant_never_has_more_than_its_part() -> None:
    queue = FairQueue(running=4, per_tenant=2, limit=8)
    async with AsyncExitStack() as held:
        for _ in range(2):
            await held.enter_async_context(queue.place("a", 1))
        with pytest.raises(Overloaded, match="no free place within 0 ms"):
            await held.enter_async_context(queue.place("a", 0))
        await held.enter_async_context(queue.place("b", 1))
        assert queue.running == 3
    assert (queue.running, queue.waiting) == (0, 0)


async def test_heavy_tenants_together_have_a_part_of_the_places_only() -> None:
    heavy = {"hog", "boar"}
    queue = FairQueue(running=4, per_tenant=2, limit=8, heavy=1, is_heavy=heavy.__contains__)
    order: list[str] = []

    async def work(tenant: str) -> None:
        async with queue.place(tenant, 5):
            order.append(tenant)

    async with asyncio.TaskGroup() as tasks, AsyncExitStack() as held:
        await held.enter_async_context(queue.place("hog", 1))
        tasks.create_task(work("boar"))
        await asyncio.sleep(0)
        assert queue.waiting == 1
        for tenant in ("a", "a", "b"):
            await held.enter_async_context(queue.place(tenant, 0))
        assert (queue.running, order) == (4, [])
    assert order == ["boar"]


async def test_a_tenant_that_is_heavy_no_more_has_its_part_again() -> None:
    heavy = {"hog"}
    queue = FairQueue(running=4, per_tenant=2, limit=8, heavy=1, is_heavy=heavy.__contains__)
    async with queue.place("hog", 1):
        with pytest.raises(Overloaded):
            async with queue.place("hog", 0):
                pass
        heavy.clear()
        async with queue.place("hog", 0):
            assert queue.running == 2


async def test_tenants_take_turns() -> None:
    queue = FairQueue(running=1, per_tenant=1, limit=8)
    order: list[str] = []

    async def work(tenant: str) -> None:
        async with queue.place(tenant, 5):
            order.append(tenant)

    async with asyncio.TaskGroup() as tasks, queue.place("x", 1):
        for tenant in ("a", "a", "a", "b", "c"):
            tasks.create_task(work(tenant))
        await asyncio.sleep(0)
        assert queue.waiting == 5
    assert order == ["a", "b", "c", "a", "a"]


async def test_a_full_queue_refuses_at_once() -> None:
    queue = FairQueue(running=1, per_tenant=1, limit=1)
    async with queue.place("a", 1), asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(_hold(queue, "b"))
        await asyncio.sleep(0)
        with pytest.raises(Overloaded, match="1 calls are waiting already"):
            await _hold(queue, "c")
        waiting.cancel()


async def test_a_full_queue_has_room_for_a_tenant_that_is_not_in_it() -> None:
    queue = FairQueue(running=1, per_tenant=1, limit=4)
    order: list[str] = []

    async def work(tenant: str, name: str) -> None:
        async with queue.place(tenant, 5):
            order.append(name)

    async with queue.place("x", 1):
        crowd = [asyncio.create_task(work("a", f"a{number}")) for number in range(4)]
        await asyncio.sleep(0)
        newcomer = asyncio.create_task(work("b", "b0"))
        await asyncio.sleep(0)
        assert queue.waiting == 4
        with pytest.raises(Overloaded, match="4 calls are waiting already"):
            await work("a", "a4")
    ends = await asyncio.gather(*crowd, newcomer, return_exceptions=True)
    assert [type(end) for end in ends] == [type(None)] * 3 + [Overloaded, type(None)]
    assert order == ["a0", "b0", "a1", "a2"]
    assert (queue.running, queue.waiting) == (0, 0)


async def test_a_caller_that_is_refused_while_giving_up_keeps_no_place() -> None:
    queue = FairQueue(running=1, per_tenant=1, limit=2)
    async with queue.place("x", 1):
        crowd = [asyncio.create_task(_hold(queue, "a")) for _ in range(2)]
        await asyncio.sleep(0)
        newcomer = asyncio.create_task(_hold(queue, "b"))
        crowd[1].cancel()
        await asyncio.gather(crowd[1], return_exceptions=True)
        assert queue.waiting == 2
    await asyncio.gather(*crowd, newcomer, return_exceptions=True)
    assert (queue.running, queue.waiting) == (0, 0)
    async with queue.place("c", 0):
        assert queue.running == 1


async def test_a_caller_that_gives_up_leaves_no_trace() -> None:
    queue = FairQueue(running=1, per_tenant=1, limit=4)
    async with queue.place("a", 1):
        tasks = [asyncio.create_task(_hold(queue, tenant)) for tenant in "bbc"]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert queue.waiting == 0
    await _hold(queue, "d")
    assert queue.running == 0


async def test_a_place_given_to_somebody_who_left_at_that_moment_is_not_lost() -> None:
    queue = FairQueue(running=1, per_tenant=1, limit=4)
    async with queue.place("a", 1):
        task = asyncio.create_task(_hold(queue, "b"))
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert queue.running == 0
    await _hold(queue, "c")


async def test_a_place_is_not_given_to_somebody_who_has_just_given_up() -> None:
    queue = FairQueue(running=1, per_tenant=1, limit=4)
    async with queue.place("a", 1):
        leaving = asyncio.create_task(_hold(queue, "b"))
        staying = asyncio.create_task(_hold(queue, "b"))
        await asyncio.sleep(0)
        leaving.cancel()
        # The place becomes free before the one that leaves has noticed that it does.
    await asyncio.gather(leaving, staying, return_exceptions=True)
    assert (leaving.cancelled(), staying.exception()) == (True, None)
    assert (queue.running, queue.waiting) == (0, 0)


async def _hold(queue: FairQueue, tenant: str) -> None:
    async with queue.place(tenant, 5):
        pass
