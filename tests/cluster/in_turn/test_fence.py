"""A leader that was frozen until its Lease expired writes nothing more; a leader that gets SIGTERM hands its Lease
over."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import yaml

from controller.api.names import IN_PROGRESSING, LEASE
from demo.stage import NAMESPACE
from localcluster.api import JsonObject
from localcluster.audit import AuditRecord, resource_name
from localcluster.history import Change, Kind
from localcluster.plane import Plane
from tests.cluster import manifests
from tests.cluster.kinds import DEPLOYMENTS, ROLLOUTS
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.replicas import Replica, Replicas, replicas

LEASES = Kind("coordination.k8s.io", "v1", "leases")
SHOPS = "shops"
APPS = 8
BUSY = 30
"""Writes of the leader after which it is frozen, in the middle of its work."""
LOOK_SECONDS = 0.02
SETTLED_SECONDS = 90.0
STEPS = tuple(StepPlan(pods, pause=1) for pods in (1, 2, 3))
APP = Application("", SHOPS, False, (*STEPS, StepPlan(4)))


@pytest.fixture(scope="module")
async def pair(ground: Plane, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Replicas]:
    """Two controllers."""
    async with replicas(ground, tmp_path_factory.mktemp("replicas")) as running:
        await ground.client().create("/api/v1/namespaces", {"metadata": {"name": SHOPS}})
        yield running


def writes_of(pair: Replicas, replica: Replica, mark: int) -> list[AuditRecord]:
    """The writes that a replica has sent to the API server since the mark."""
    agent = f"({replica.name})"
    return pair.plane.audit.since(mark, where=lambda r: r.is_write and agent in r.user_agent)


async def releasing(pair: Replicas, kind: str) -> list[Application]:
    """Some applications whose releases continue without approvals."""
    apps = [replace(APP, name=f"{kind}-{number}") for number in range(APPS)]
    objects = [one for app in apps for one in (*manifests.objects(app), manifests.rollout(app))]
    await pair.plane.apply(yaml.safe_dump_all(objects))
    await healthy(pair, apps)
    changed = [manifests.deployment(app, manifests.NEW_IMAGE) for app in apps]
    await pair.plane.apply(yaml.safe_dump_all(changed))
    return apps


def is_ours(change: Change) -> bool:
    return change.key.name == LEASE and change.key.namespace == NAMESPACE


def holder(change: Change) -> str:
    return str(change.object["spec"].get("holderIdentity") or "")


async def healthy(pair: Replicas, apps: list[Application]) -> None:
    """Return when each Rollout is Healthy and its workload is at rest."""
    names = {app.name for app in apps}
    async with pair.plane.recorder(ROLLOUTS) as recorder:
        await recorder.until_state(
            lambda now: names <= {key.name for key, one in now.items() if phase(one) == "Healthy"},
            SETTLED_SECONDS,
        )


def phase(rollout: JsonObject) -> str:
    return str(rollout.get("status", {}).get("phase", ""))


async def released(pair: Replicas, apps: list[Application]) -> None:
    """Return when each workload is restored and has its new template."""
    names = {app.name for app in apps}
    async with pair.plane.recorder(DEPLOYMENTS) as recorder:
        await recorder.until_state(
            lambda now: names <= {key.name for key, one in now.items() if is_released(one)},
            SETTLED_SECONDS,
        )


def is_released(deployment: JsonObject) -> bool:
    spec = deployment["spec"]
    new = spec["template"]["spec"]["containers"][0]["image"] == manifests.NEW_IMAGE
    held = IN_PROGRESSING in deployment["metadata"].get("annotations", {})
    return bool(new and not held and deployment["status"].get("updatedReplicas") == APP.replicas)


async def ended(replica: Replica) -> None:
    """Return when the process is gone."""
    async with asyncio.timeout(60):
        while replica.component.running:  # noqa: ASYNC110 - bounded
            await asyncio.sleep(LOOK_SECONDS)


async def test_a_leader_that_was_frozen_past_its_lease_writes_nothing_more(pair: Replicas) -> None:
    leader = await pair.leader()
    mark = pair.plane.audit.mark()
    apps = await releasing(pair, "frozen")
    begun = pair.plane.audit.mark()
    async with asyncio.timeout(60):
        while len(writes_of(pair, leader, begun)) < BUSY:  # noqa: ASYNC110 - bounded
            await asyncio.sleep(LOOK_SECONDS)
    await leader.component.stop()
    pair.front.take_out(leader.webhook_port)
    follower = await pair.leader(besides=leader.name)
    await leader.component.cont()
    await ended(leader)
    acquired = next(r for r in writes_of(pair, follower, mark) if r.resource == "leases")
    assert acquired.code == 200
    late = [r for r in writes_of(pair, leader, mark) if r.received_at > acquired.at]
    refused = [r for r in late if r.resource == "leases" and r.code == 409]
    await released(pair, apps)
    await leader.component.start()
    pair.front.ends.append(leader.webhook_port)
    assert [f"{r.verb} {resource_name(r)} {r.name}" for r in late if r not in refused] == []


async def test_a_leader_that_is_asked_to_stop_gives_the_lease_up_before_the_other_one_takes_it(
    pair: Replicas,
) -> None:
    leader = await pair.leader()
    mark = pair.plane.audit.mark()
    async with pair.plane.recorder(LEASES) as leases:
        pair.front.take_out(leader.webhook_port)
        await leader.component.terminate()
        given = await leases.until(lambda c: is_ours(c) and not holder(c))
        taken = await leases.until(lambda c: is_ours(c) and holder(c) == pair.other(leader).name)
    freed = [r for r in writes_of(pair, leader, mark) if r.resource == "leases"][-1]
    late = [r for r in writes_of(pair, leader, mark) if r.received_at > freed.at]
    await leader.component.start()
    pair.front.ends.append(leader.webhook_port)
    # A Lease that was taken after it had expired would have had a holder all the time.
    assert given.resource_version < taken.resource_version
    assert [f"{r.verb} {resource_name(r)}" for r in late] == []
