"""Long computations, off the event loop.

Invariant: of one `Offload`, one runs at a time (admission and conversion have one each): the interpreter runs one
thread at a time, and a second would only take turns away from the loop; a short computation runs at once, because
handing it to a thread takes longer.
"""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec

from controller.webhook.trees import values_in

FEW = 2_000
"""Values that are judged or converted in a few milliseconds."""

T = TypeVar("T")


class Offload:
    """One thread, and a queue before it; the intake limits the length of the queue."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="webhook")

    async def run(self, about: Iterable[msgspec.Raw], work: Callable[[], T]) -> T:
        """The result of `work`; `about` are the texts that it works on."""
        if sum(map(values_in, about)) <= FEW:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
