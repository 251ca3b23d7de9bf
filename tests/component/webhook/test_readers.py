"""The live reads of admission are bounded: a forged review must not spend the controller's requests."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from controller.api.meta import ObjectMeta
from controller.api.podsets import ControllerRevision
from controller.api.rollout import Rollout
from controller.api.workloads import ReplicaSet
from controller.kube.store import Store
from controller.webhook.readers import LIVE_BURST, LIVE_SECONDS, CachedReader
from tests.component.runtime.virtual_time import now, virtual_time
from tests.unit.builders import NAMESPACE, make_rollout


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
    reader = CachedReader(
        lists, Store[Rollout](), Store[ReplicaSet](), Store[ControllerRevision](), lambda: filled
    )
    for index in range(200):
        assert await reader.latest(f"n-{index}") == []
    found: int = lists.asked
    return found


async def test_beyond_a_burst_the_filled_cache_answers() -> None:
    assert LIVE_BURST <= await asked(filled=True) < LIVE_BURST + 20


async def test_an_unfilled_cache_never_answers() -> None:
    assert await asked(filled=False) == 200


class Silent:
    """An API server that answers no list."""

    async def list_pages(self, *_: object) -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""


def reader_of(filled: bool) -> CachedReader:
    """A reader on a server that is silent, with a Rollout in its cache."""
    silent: Any = Silent()
    known = Store[Rollout]()
    known.put(make_rollout())
    return CachedReader(
        silent, known, Store[ReplicaSet](), Store[ControllerRevision](), lambda: filled
    )


@virtual_time
async def test_a_filled_cache_answers_where_the_api_server_takes_long() -> None:
    # Creating the 900th Rollout of a namespace failed: its list took longer than a review may.
    reader = reader_of(filled=True)
    found = await asyncio.gather(*(reader.latest(NAMESPACE) for _ in range(20)))
    assert [len(one) for one in found] == [1] * 20
    assert now() == pytest.approx(LIVE_SECONDS, abs=0.1)


@virtual_time
async def test_an_unfilled_cache_does_not_answer_however_long_the_api_server_takes() -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reader_of(filled=False).latest(NAMESPACE), 100)


class Holding(Lists):
    """An API server with one Rollout."""

    async def list_pages(self, *_: object) -> AsyncIterator[bytes]:
        yield b'{"items": [{"metadata": {"name": "web", "namespace": "shop"}}]}'


async def test_a_cache_that_is_not_filled_is_not_taken_for_an_empty_cluster() -> None:
    lists: Any = Holding()
    reader = CachedReader(
        lists, Store[Rollout](), Store[ReplicaSet](), Store[ControllerRevision](), lambda: False
    )
    assert [found.metadata.name for found in await reader.rollouts("shop")] == ["web"]


class HoldingOneUnreadable(Lists):
    """An API server with three Rollouts, of which two cannot be read."""

    async def list_pages(self, *_: object) -> AsyncIterator[bytes]:
        broken = b'{"metadata": {"name": "%s", "namespace": "shop"}, "spec": 7}'
        yield b'{"items": [%s, {"metadata": {"name": "web", "namespace": "shop"}}, %s]}' % (
            broken % b"known",
            broken % b"unknown",
        )


async def test_a_rollout_that_cannot_be_read_hides_no_other_and_keeps_its_last_view() -> None:
    lists: Any = HoldingOneUnreadable()
    cache = Store[Rollout]()
    cache.put(Rollout(metadata=ObjectMeta(name="known", namespace="shop")))
    reader = CachedReader(
        lists, cache, Store[ReplicaSet](), Store[ControllerRevision](), lambda: True
    )
    assert [found.metadata.name for found in await reader.latest("shop")] == ["known", "web"]


class HoldingOneTooDeep(Lists):
    """An API server with a Rollout that is nested deeper than any decoder goes."""

    async def list_pages(self, *_: object) -> AsyncIterator[bytes]:
        deep = b'{"spec": %s, "metadata": {"name": "deep", "namespace": "shop"}}' % (
            b"[" * 9_000 + b"]" * 9_000
        )
        yield b'{"items": [%s, {"metadata": {"name": "web", "namespace": "shop"}}]}' % deep


async def test_a_rollout_that_is_nested_too_deeply_blocks_no_write_of_its_neighbours() -> None:
    lists: Any = HoldingOneTooDeep()
    reader = CachedReader(
        lists, Store[Rollout](), Store[ReplicaSet](), Store[ControllerRevision](), lambda: False
    )
    assert [found.metadata.name for found in await reader.latest("shop")] == ["web"]
