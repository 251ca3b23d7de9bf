"""The leader ends during fifty releases: the time until the other replica's first write.

Invariant: all times are from the API server's log and this machine's clock; the other controller has filled caches.
It must not judge more than its rows say.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from localcluster.audit import AuditRecord
from localcluster.plane import Plane
from localcluster.progress import Reporter
from tests.bench.figures import p50
from tests.bench.fleet import Fleet, fleet
from tests.bench.follow import Follower
from tests.bench.ground import VIRTUAL_SERVICE_CRD, Ground
from tests.bench.objects import DEPLOYMENTS, ROLLOUTS, Style
from tests.bench.registry import Row
from tests.bench.requests import LEASES
from tests.bench.scale.again import release_again
from tests.cluster.replicas import Replica, Replicas, replicas

TOGETHER = 50
REPLICAS = 2
TIMES = 3
BUSY = 100
"""The leader ends after this number of writes."""
LOOK_SECONDS = 0.2
GONE_SECONDS = 120.0
KILLED_LIMIT, ASKED_LIMIT = 20.0, 5.0
"""A Lease lasts 15 s; a leader that gets SIGTERM releases it."""


async def measure(
    folder: Path, reporter: Reporter, count: int = TOGETHER, times: int = TIMES
) -> list[Row]:
    """The leader gets SIGKILL and SIGTERM, each this number of times."""
    killed, asked = [], []
    async with (
        _pair(folder, reporter) as (ground, pair),
        fleet(ground, "failover", Style.PARTITION, count, replicas=REPLICAS) as made,
    ):
        for number in range(times):
            killed.append(await _gone(ground, pair, made, f"killed-{number}", kill=True))
            asked.append(await _gone(ground, pair, made, f"asked-{number}", kill=False))
    return [
        _row(f"leader killed during {count} releases", killed, KILLED_LIMIT),
        _row(f"leader gets SIGTERM during {count} releases", asked, ASKED_LIMIT),
    ]


def _row(what: str, seconds: list[float], limit: float) -> Row:
    each = ", ".join(f"{one:.2f}" for one in seconds)
    name = f"{what}: until the other replica's first write, p50"
    return Row(name, "-", limit, p50(seconds), "s", f"each: {each} s")


@asynccontextmanager
async def _pair(folder: Path, reporter: Reporter) -> AsyncIterator[tuple[Ground, Replicas]]:
    async with Plane.start(folder / "plane", reporter=reporter) as plane:
        await plane.apply(await asyncio.to_thread(VIRTUAL_SERVICE_CRD.read_text), server_side=True)
        admin = plane.client()
        async with (
            replicas(plane, folder / "product") as pair,
            Follower.start(admin, f"{ROLLOUTS}/rollouts") as rollouts,
            Follower.start(admin, f"{DEPLOYMENTS}/deployments") as deployments,
        ):
            yield Ground(plane, pair.product, reporter, rollouts, deployments), pair


async def _gone(ground: Ground, pair: Replicas, made: Fleet, version: str, *, kill: bool) -> float:
    """Seconds from the signal to the other replica's first write."""
    leader = await pair.leader()
    other, mark = pair.other(leader), ground.plane.audit.mark()
    with ground.reporter.phase(f"{made.namespace}: {version}"):
        async with asyncio.TaskGroup() as group:
            group.create_task(release_again(ground, made, version))
            await _written(pair, leader, mark, BUSY)
            mark, begun = ground.plane.audit.mark(), datetime.now(UTC)
            pair.front.take_out(leader.webhook_port)
            await (leader.component.kill() if kill else leader.component.terminate())
            first = await _written(pair, other, mark, 1)
            await leader.component.start()
            pair.front.ends.append(leader.webhook_port)
    return (first[0].received_at - begun).total_seconds()


async def _written(pair: Replicas, replica: Replica, mark: int, count: int) -> list[AuditRecord]:
    """The first writes of a replica, as soon as it has sent this number."""

    def its(record: AuditRecord) -> bool:
        about_work = record.is_write and record.resource != LEASES
        return about_work and f"({replica.name})" in record.user_agent

    async with asyncio.timeout(GONE_SECONDS):
        while len(found := pair.plane.audit.since(mark, where=its)) < count:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
    return found
