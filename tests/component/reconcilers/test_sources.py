"""The state of the caches decides when passes may begin, and which Rollouts are stopped."""

import asyncio

from controller.domain.availability import (
    Availability,
    Failing,
    Forbidden,
    Loading,
    NotServed,
    Synced,
)
from controller.kube.resources import (
    CONFIG_MAPS,
    CONTROLLER_REVISIONS,
    PODS,
    ROLLOUTS,
    TRAFFIC_ROUTINGS,
    Resource,
)
from controller.reconcilers.sources import Sources


class Cache:
    """A watch of one kind."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.availability: Availability = Loading("not yet")

    async def run(self) -> None:
        """Nothing is watched."""


class Scene:
    """The caches under test, and their notifications."""

    def __init__(self) -> None:
        self.turns = 0
        self.filled = 0
        self.gauge: dict[str, bool] = {}
        self.sources = Sources(self.turned, self)
        self.sources.once_filled(self.full)
        kinds = (ROLLOUTS, CONFIG_MAPS, PODS, CONTROLLER_REVISIONS, TRAFFIC_ROUTINGS)
        self.caches = {kind: Cache(kind) for kind in kinds}
        self.sources.follow([*self.caches.values()])
        self.settling = asyncio.ensure_future(self.sources.settled())

    def turned(self) -> None:
        self.turns += 1

    def full(self) -> None:
        self.filled += 1

    def cache_synced(self, resource: str, synced: bool) -> None:
        self.gauge[resource] = synced

    async def stands(self, kind: Resource, availability: Availability) -> bool:
        """Set this state; return whether passes may begin."""
        self.caches[kind].availability = availability
        self.sources.availability_changed()
        for _ in range(3):
            await asyncio.sleep(0)
        return self.settling.done()


async def test_passes_wait_for_rollouts_and_scripts_and_for_a_word_about_every_other_cache() -> (
    None
):
    scene = Scene()
    for kind, availability in (
        (ROLLOUTS, Forbidden("no")),
        (CONFIG_MAPS, Synced()),
        (PODS, Synced()),
        (CONTROLLER_REVISIONS, Forbidden("no")),
        (TRAFFIC_ROUTINGS, Failing("503")),
        (TRAFFIC_ROUTINGS, NotServed("no CRD")),
    ):
        assert not await scene.stands(kind, availability)
    assert scene.turns == 0
    assert await scene.stands(ROLLOUTS, Synced())


async def test_a_cache_that_cannot_be_read_stops_only_those_that_depend_on_it() -> None:
    scene = Scene()
    for kind in scene.caches:
        await scene.stands(kind, Synced())
    await scene.stands(CONTROLLER_REVISIONS, Forbidden("revisions"))
    assert scene.sources.unavailable((PODS,)) is None
    assert scene.sources.unavailable((PODS, CONTROLLER_REVISIONS)) == Forbidden("revisions")
    assert scene.gauge[CONTROLLER_REVISIONS.name] is False
    before = scene.turns
    await scene.stands(CONTROLLER_REVISIONS, Synced())
    assert scene.turns == before + 1, "everybody looks again"
    assert all(scene.gauge.values())


async def test_full_caches_are_logged_once_on_every_replica() -> None:
    scene = Scene()
    scene.settling.cancel()  # no pass begins here: another process leads
    *others, last = scene.caches
    for kind in others:
        await scene.stands(kind, Synced())
    assert scene.filled == 0
    for availability in (Synced(), Failing("503"), Synced()):
        await scene.stands(last, availability)
    assert scene.filled == 1
