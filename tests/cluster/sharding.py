"""Releases in namespaces of every shard, and the progress of the processes that divide them.

Invariant: each shard has as many namespaces as any other, so that each process has releases to do.
"""

import asyncio
from dataclasses import replace

import yaml

from controller.domain.shards import shard_of
from demo.stage import NAMESPACE
from localcluster.audit import AuditRecord
from tests.cluster import manifests
from tests.cluster.in_turn.test_fence import APP, healthy
from tests.cluster.manifests import Application
from tests.cluster.replicas import Replicas

BUSY = 12
"""After this number of writes in its namespaces, a process is in the middle of its work."""
LOOK_SECONDS = 0.02


def namespaces(kind: str, shards: int) -> list[str]:
    """Two for each shard."""
    found = {shard: list[str]() for shard in range(shards)}
    number = 0
    while any(len(of_shard) < 2 for of_shard in found.values()):
        number += 1
        of_shard = found[shard_of(f"{kind}-{number}", shards)]
        if len(of_shard) < 2:
            of_shard.append(f"{kind}-{number}")
    return [one for of_shard in found.values() for one in of_shard]


async def releasing(crew: Replicas, kind: str, shards: int) -> list[Application]:
    """An application in each of two namespaces a shard, whose releases go on by themselves."""
    homes = namespaces(kind, shards)
    apps = [replace(APP, name=f"shop-{home}", namespace=home) for home in homes]
    for home in homes:
        await crew.plane.client().create("/api/v1/namespaces", {"metadata": {"name": home}})
    objects = [one for app in apps for one in (*manifests.objects(app), manifests.rollout(app))]
    await crew.plane.apply(yaml.safe_dump_all(objects))
    await healthy(crew, apps)
    changed = [manifests.deployment(app, manifests.NEW_IMAGE) for app in apps]
    await crew.plane.apply(yaml.safe_dump_all(changed))
    return apps


async def busy(crew: Replicas, name: str, mark: int) -> None:
    """Return when a process is in the middle of its releases."""
    async with asyncio.timeout(60):
        while written(crew, name, mark) < BUSY:  # noqa: ASYNC110 - bounded
            await asyncio.sleep(LOOK_SECONDS)


def written(crew: Replicas, name: str, mark: int) -> int:
    """How many writes about users' namespaces a process has sent since the mark."""

    def of_users(record: AuditRecord) -> bool:
        home = record.namespace not in ("", NAMESPACE)
        return record.is_write and home and f"({name})" in record.user_agent

    return len(crew.plane.audit.since(mark, where=of_users))
