"""Long computations, off the event loop.

Invariant: of one `Offload`, one runs at a time: the interpreter runs one thread at a time, and many would only take
turns away from the loop; a short computation runs at once, because handing it to a thread takes longer. Three
kinds of reviews do not wait for each other, and have an `Offload` each: conversions, Rollouts, and workloads with their
Services. A computation cannot be ended, so a review that its API server has given up keeps its thread until its end.
"""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec

from controller.webhook.trees import values_in

FEW = 2_000
"""Values that are judged or converted in a few milliseconds."""

SHORT = 64 << 10
"""Characters that are judged in a few milliseconds; a single value can be as long as the object."""

T = TypeVar("T")


class Offload:
    """One thread, and a queue before it; the intake limits the length of the queue."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="webhook")

    async def run(self, about: Iterable[msgspec.Raw], work: Callable[[], T]) -> T:
        """The result of `work`; `about` are the texts that it works on."""
        texts = tuple(about)
        if sum(map(_length, texts)) <= SHORT and sum(map(values_in, texts)) <= FEW:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _length(text: msgspec.Raw) -> int:
    return memoryview(text).nbytes
