"""A flood of oversized and forged reviews costs little memory, and honest reviews are answered in between."""

import asyncio
import io
from pathlib import Path

import pytest

from tests.component.webhook.forged import (
    DEPLOYMENTS,
    FLOOD,
    JSON,
    ROLLOUTS,
    connected,
    flood,
    review,
)
from tests.component.webhook.served import Served, served
from tests.unit.domain.admission.objects import deployment

MOST = 100 << 20
"""Bytes that a flood may add to the process: 512 MiB are its limit, and it has 100 before the first request."""
HONEST = 60


async def honest(server: Served) -> None:
    """Some honest reviews are answered, one after the other."""
    async with connected() as session:
        for _ in range(HONEST):
            body = review(deployment("v2"), deployment())
            async with session.post(
                f"https://127.0.0.1:{server.port}{DEPLOYMENTS}", json=body
            ) as answer:
                assert answer.status == 200, await answer.text()
                assert (await answer.json())["response"]["patch"]


async def test_a_flood_costs_little_memory_and_honest_reviews_are_answered_in_between(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as server:
        await honest(server)
        before, over = server.peak(), asyncio.Event()
        flooding = [
            asyncio.create_task(flood(server.port, first, over)) for first in (*range(5), *range(5))
        ]
        await honest(
            server
        )  # the flood does not end before; how long each takes is measured by `make bench`
        assert not any(one.done() for one in flooding)
        over.set()
        statuses = set().union(*await asyncio.gather(*flooding))
        assert server.alive
        assert server.peak() - before < MOST
    assert 413 in statuses
    assert 500 not in statuses


@pytest.mark.parametrize("name", FLOOD)
async def test_one_large_body_costs_little_memory(name: str, tmp_path: Path) -> None:
    async with served(tmp_path) as server, connected() as session:
        await honest(server)
        before = server.peak()
        for path in (DEPLOYMENTS, ROLLOUTS, "/convert"):
            url = f"https://127.0.0.1:{server.port}{path}"
            async with session.post(url, data=io.BytesIO(FLOOD[name]), headers=JSON) as answer:
                assert await answer.text()
        assert server.peak() - before < MOST // 2
