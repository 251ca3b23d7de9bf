"""Controllers divide the namespaces: only the holder writes in a namespace, also when a process dies or freezes."""

from collections import Counter
from collections.abc import AsyncIterator

import pytest

from controller.domain.shards import shard_of
from localcluster.plane import Plane
from tests.cluster.in_turn.test_fence import ended, released
from tests.cluster.replicas import Replicas, replicas
from tests.cluster.sharding import busy, releasing
from tests.cluster.tenures import intrusions, writers

SHARDS = 3
NAMES = ("one", "two", "three")
COUNTED = dict.fromkeys(NAMES, SHARDS)


def everyone_has_one(holders: list[str]) -> bool:
    """Each process holds a shard."""
    return set(holders) == set(NAMES)


@pytest.fixture(scope="module")
async def crew(ground: Plane, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Replicas]:
    """Three controllers that divide three shards."""
    folder = tmp_path_factory.mktemp("shards")
    async with replicas(ground, folder, f"--shards={SHARDS}", names=NAMES) as running:
        yield running


@pytest.fixture
async def ready(crew: Replicas) -> AsyncIterator[Replicas]:
    """All three processes run, and each holds a shard; a process that a test has stopped is started again."""
    await crew.holding(SHARDS, everyone_has_one)
    yield crew
    for one in crew.members:
        await one.component.cont()
        if not one.component.running:
            await one.component.start()
        if one.webhook_port not in crew.front.ends:
            crew.front.ends.append(one.webhook_port)


async def test_each_process_writes_about_the_namespaces_of_its_shard_alone(ready: Replicas) -> None:
    mark = ready.plane.audit.mark()
    begun = await ready.holders(SHARDS)
    apps = await releasing(ready, "calm", SHARDS)
    await released(ready, apps)
    records = ready.plane.audit.since()
    assert await ready.holders(SHARDS) == begun
    # A Rollout of an earlier test may still be being deleted in another namespace.
    wrote = writers(ready.plane.audit.since(mark), COUNTED)
    assert {app.namespace: wrote[app.namespace] for app in apps} == {
        app.namespace: {begun[shard_of(app.namespace, SHARDS)]} for app in apps
    }
    assert intrusions(records, COUNTED) == []


@pytest.mark.full
async def test_the_namespaces_of_a_killed_process_are_released_by_the_others(
    ready: Replicas,
) -> None:
    mark = ready.plane.audit.mark()
    apps = await releasing(ready, "killed", SHARDS)
    gone = (await ready.holders(SHARDS))[0]
    await busy(ready, gone, mark)
    ready.front.take_out(ready.named(gone).webhook_port)
    await ready.named(gone).component.kill()
    await released(ready, apps)
    holders = await ready.holding(SHARDS, lambda now: gone not in now)
    assert sorted(Counter(holders).values()) == [1, 2]
    assert intrusions(ready.plane.audit.since(), COUNTED) == []


async def test_a_process_that_was_frozen_past_its_leases_writes_nothing_more(
    ready: Replicas,
) -> None:
    mark = ready.plane.audit.mark()
    apps = await releasing(ready, "frozen", SHARDS)
    frozen = (await ready.holders(SHARDS))[1]
    await busy(ready, frozen, mark)
    await ready.named(frozen).component.stop()
    ready.front.take_out(ready.named(frozen).webhook_port)
    await ready.holding(SHARDS, lambda now: frozen not in now)
    await ready.named(frozen).component.cont()
    await ended(ready.named(frozen))
    await released(ready, apps)
    assert intrusions(ready.plane.audit.since(), COUNTED) == []
