"""The number of shards changes during releases: processes with different numbers never write at the same time."""

import asyncio

import pytest

from controller.api.names import LEASE
from controller.domain.shards import common_holder
from localcluster.plane import Plane
from tests.cluster.in_turn.test_fence import released
from tests.cluster.replicas import replicas
from tests.cluster.sharding import busy, releasing
from tests.cluster.tenures import intrusions, writers


@pytest.mark.full
async def test_two_shards_become_three_without_a_second_writer(
    ground: Plane, tmp_path_factory: pytest.TempPathFactory
) -> None:
    flags = dict.fromkeys(("old-1", "old-2"), ("--shards=2",)) | dict.fromkeys(
        ("new-1", "new-2", "new-3"), ("--shards=3",)
    )
    counted = {name: int(of[0].partition("=")[2]) for name, of in flags.items()}
    folder = tmp_path_factory.mktemp("turned")
    async with replicas(ground, folder, names=tuple(flags), own=flags, begin=2) as crew:
        old, new = crew.members[:2], crew.members[2:]
        await crew.holding(2, lambda now: set(now) == {"old-1", "old-2"})
        mark = crew.plane.audit.mark()
        apps = await releasing(crew, "turned", 3)
        await asyncio.gather(*(busy(crew, one.name, mark) for one in old))
        # As a rolling update does it: a new one is ready, an old one is asked to end.
        for joins, leaves in zip(new, (None, *old), strict=True):
            await joins.component.start()
            crew.front.ends.append(joins.webhook_port)
            if leaves is not None:
                assert await crew.holder(LEASE) == common_holder(2)
                crew.front.take_out(leaves.webhook_port)
                await leaves.component.terminate()
        holders = await crew.holding(3, lambda now: set(now) == {one.name for one in new})
        await released(crew, apps)
        records = crew.plane.audit.since()
        assert await crew.holder(LEASE) == common_holder(3)
    assert len(set(holders)) == 3
    assert intrusions(records, counted) == []
    assert {one for of_home in writers(records, counted).values() for one in of_home} >= {
        "old-1",
        "old-2",
    }
