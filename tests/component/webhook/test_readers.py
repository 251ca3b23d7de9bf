"""The live reads of admission are bounded: a forged review must not spend the controller's requests."""

from collections.abc import AsyncIterator
from typing import Any

from controller.api.rollout import Rollout
from controller.api.workloads import ReplicaSet
from controller.kube.store import Store
from controller.webhook.readers import LIVE_BURST, CachedReader


class Lists:
    """Counts the lists of an API server without Rollouts."""

    def __init__(self) -> None:
        self.asked = 0

    async def list_pages(self, *_: object) -> AsyncIterator[bytes]:
        self.asked += 1
        yield b'{"items": []}'


async def asked(filled: bool) -> int:
    """Lists that 200 reviews lead to."""
    lists: Any = Lists()
    reader = CachedReader(lists, Store[Rollout](), Store[ReplicaSet](), lambda: filled)
    for index in range(200):
        assert await reader.latest(f"n-{index}") == []
    found: int = lists.asked
    return found


async def test_beyond_a_burst_the_filled_cache_answers() -> None:
    assert LIVE_BURST <= await asked(filled=True) < LIVE_BURST + 20


async def test_an_unfilled_cache_never_answers() -> None:
    assert await asked(filled=False) == 200
