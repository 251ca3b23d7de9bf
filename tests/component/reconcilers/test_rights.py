"""Refused writers are woken when the right may be there. One question serves all. Times are virtual."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from controller.api.meta import Key
from controller.errors import Right, Unreachable
from controller.reconcilers.rights import MAX_AT_ONCE, PROBE, MissingRights
from tests.component.kube.reflecting import settled
from tests.component.runtime.virtual_time import virtual_time

PATCH = Right("patch", "networking.istio.io", "virtualservices", "", "shop", "web")
WEB, API = Key("shop", "web"), Key("shop", "api")


class Cluster:
    """Grants, policies, and passes of Rollouts that try again when they are woken."""

    def __init__(self) -> None:
        self.granted = False
        self.away = False
        self.policy = False
        """A cause other than a missing right refuses the write."""
        self.reviews: list[Right] = []
        self.woken: list[Key] = []
        self.rights = MissingRights(self.review, self.wake)

    async def review(self, right: Right) -> bool:
        self.reviews.append(right)
        if self.away:
            raise Unreachable("away")
        return self.granted

    def wake(self, key: Key) -> None:
        self.woken.append(key)
        if self.policy:
            self.rights.wait(key, PATCH)


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[Cluster]:
    cluster = Cluster()
    task = asyncio.create_task(cluster.rights.run())
    try:
        yield cluster
    finally:
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@virtual_time
async def test_nothing_is_asked_while_nobody_waits() -> None:
    async with running() as cluster:
        await settled(3600)
        assert cluster.reviews == []
        cluster.rights.wait(WEB, PATCH)
        await settled(PROBE)
        cluster.granted = True
        await settled(PROBE)
        mark = len(cluster.reviews)
        await settled(3600)
        assert len(cluster.reviews) == mark


@virtual_time
async def test_all_who_wait_for_a_right_are_woken_within_ten_seconds_by_one_question_a_round() -> (
    None
):
    async with running() as cluster:
        many = [Key("shop", f"r{number}") for number in range(500)]
        for key in many:
            cluster.rights.wait(key, PATCH)
        await settled(40)
        assert len(cluster.reviews) <= 40 / PROBE
        assert cluster.woken == []
        cluster.granted = True
        await settled(10)
        assert cluster.woken == many


@virtual_time
async def test_a_refusal_that_no_right_explains_is_tried_by_one_rollout_and_then_by_all() -> None:
    async with running() as cluster:
        cluster.granted = cluster.policy = True
        cluster.rights.wait(WEB, PATCH)
        cluster.rights.wait(API, PATCH)
        await settled(4 * PROBE)
        assert cluster.woken == [WEB, API, WEB, API]
        cluster.policy = False
        cluster.woken.clear()
        await settled(10)
        assert sorted(cluster.woken) == [API, WEB]
        await settled(3600)
        assert len(cluster.woken) == 2


@virtual_time
async def test_an_api_server_that_is_away_grants_nothing() -> None:
    async with running() as cluster:
        cluster.away = True
        cluster.rights.wait(WEB, PATCH)
        await settled(60)
        assert cluster.woken == []


@virtual_time
async def test_rights_beyond_one_round_take_turns_within_ten_seconds() -> None:
    async with running() as cluster:
        places = [f"ns{number:03}" for number in range(2 * MAX_AT_ONCE)]
        for place in places:
            cluster.rights.wait(Key(place, "web"), PATCH._replace(namespace=place))
        await settled(PROBE)
        assert len(cluster.reviews) == MAX_AT_ONCE
        await settled(PROBE)
        assert sorted(right.namespace for right in cluster.reviews) == places
        assert len(places) > 100
        assert 2 * PROBE < 10


@virtual_time
async def test_no_question_is_asked_for_a_deleted_rollout() -> None:
    async with running() as cluster:
        cluster.rights.wait(WEB, PATCH)
        cluster.rights.wait(API, PATCH)
        cluster.rights.forget(WEB)
        await settled(PROBE)
        assert cluster.reviews == [PATCH]
        cluster.rights.forget(API)
        await settled(3600)
        assert cluster.reviews == [PATCH]
        assert cluster.woken == []
