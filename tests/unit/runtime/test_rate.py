"""The token bucket, in virtual time."""

import asyncio

import pytest

from controller.runtime.rate import TokenBucket
from tests.component.runtime.virtual_time import now, virtual_time


@virtual_time
async def test_a_burst_passes_at_once_and_the_rest_at_the_rate() -> None:
    bucket = TokenBucket(rate=10, burst=5)
    times: list[float] = []

    async def one() -> None:
        await bucket.take()
        times.append(round(now(), 3))

    await asyncio.gather(*(one() for _ in range(8)))
    assert times == [0, 0, 0, 0, 0, 0.1, 0.2, 0.3]


@virtual_time
async def test_tokens_come_back_with_time_but_never_more_than_the_burst() -> None:
    bucket = TokenBucket(rate=10, burst=2)
    await bucket.take()
    await asyncio.sleep(1000)
    for _ in range(2):
        await bucket.take()
    assert now() == 1000
    await bucket.take()
    assert now() == pytest.approx(1000.1)


@virtual_time
async def test_a_caller_that_gives_up_returns_its_token() -> None:
    bucket = TokenBucket(rate=1, burst=1)
    await bucket.take()
    waiting = [asyncio.create_task(bucket.take()) for _ in range(5)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    await bucket.take()
    assert now() == pytest.approx(1)


def test_a_bucket_that_would_never_let_anyone_pass_is_refused() -> None:
    with pytest.raises(ValueError, match="rate above 0"):
        TokenBucket(rate=0, burst=1)
    with pytest.raises(ValueError, match="burst of at least 1"):
        TokenBucket(rate=1, burst=0)
