"""Long computations of the webhook leave the event loop free, and only one runs at a time."""

import asyncio
import threading

import msgspec

from controller.webhook import offload
from controller.webhook.offload import FEW, Offload

SHORT = msgspec.Raw(b"[1,2,3]")
LONG = msgspec.Raw(msgspec.json.encode([0] * (FEW + 1)))


async def test_a_short_computation_runs_on_the_loop_at_once() -> None:
    assert await Offload().run([SHORT], threading.get_ident) == threading.get_ident()


async def test_a_long_computation_runs_in_the_thread_of_the_webhook() -> None:
    assert await Offload().run([LONG], threading.get_ident) != threading.get_ident()


async def test_several_texts_count_together() -> None:
    half = msgspec.Raw(msgspec.json.encode([0] * (FEW // 2 + 1)))
    assert await Offload().run([half, half], threading.get_ident) != threading.get_ident()


async def test_the_loop_goes_on_while_one_long_computation_runs_and_the_next_one_waits() -> None:
    only, begun, may_end = Offload(), threading.Event(), threading.Event()
    order: list[str] = []

    def first() -> None:
        begun.set()
        may_end.wait()
        order.append("first")

    one = asyncio.create_task(only.run([LONG], first))
    two = asyncio.create_task(only.run([LONG], lambda: order.append("second")))
    await asyncio.to_thread(begun.wait)
    assert order == []
    may_end.set()
    await asyncio.gather(one, two)
    assert order == ["first", "second"]


async def test_one_long_value_runs_in_the_thread_too() -> None:
    text = msgspec.Raw(msgspec.json.encode("x" * offload.SHORT))
    assert await Offload().run([text], threading.get_ident) != threading.get_ident()
