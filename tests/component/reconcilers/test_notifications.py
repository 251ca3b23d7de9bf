"""Notifications, with the real worker, packaged scripts and a real HTTP receiver; and a process that is killed."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import msgspec
import pytest
import pytest_asyncio
from aiohttp import web
from msgspec import structs

from controller.api.analysis import SecretKey
from controller.api.meta import Key
from controller.api.notification import Notification, NotificationSpec, Occasion, Topic
from controller.api.rollout import Rollout
from controller.domain.availability import Availability, Synced
from controller.domain.decision import Note
from controller.domain.exchange.request import ObjectRequest
from controller.domain.notifications.occasions import occasions
from controller.domain.traffic.tree import Tree
from controller.effects.asking_scripts import FoundInLibrary
from controller.kube.ledger import WriteLedger
from controller.kube.resources import CLUSTER_NOTIFICATIONS, NOTIFICATIONS, Resource
from controller.outbound.exchanging import Exchanging
from controller.outbound.fetching import Failed
from controller.outbound.script_runs import Wanted
from controller.reconcilers.caches import Caches
from controller.reconcilers.notifications import CAN_TELL, NOT_TAKEN, UNUSABLE, Notifying
from controller.scripts.lookup import MissingScript, ScriptLibrary
from controller.scripts.worker_client import ScriptClient
from controller.simulation.api_server.server import MemoryApi
from tests.component.luaworker.process import worker
from tests.component.outbound.pages import Answer, Pages, fetching, served
from tests.unit.builders import KEY, make_rollout, make_world, release, template
from tests.unit.worlds import World

pytestmark = pytest.mark.asyncio(loop_scope="module")
LIBRARY = ScriptLibrary.read()
CHAT = Key(KEY.namespace, "chat")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """One worker for all of these tests."""
    address = f"unix://{tmp_path_factory.mktemp('telling')}/w"
    async with worker(address, "--cpu-ms", "1000"):
        yield address


class Killed(BaseException):
    """The process ends here."""


class Packaged:
    """Packaged scripts, run by the worker."""

    def __init__(self, runner: ScriptClient) -> None:
        self._runner = runner

    def find(self, wanted: Wanted) -> FoundInLibrary:
        found = LIBRARY.resolve_asking(wanted.does, wanted.name, {})
        if isinstance(found, MissingScript):
            raise Failed(found.reason)
        return FoundInLibrary(found, self._runner)

    async def may_use(self, wanted: Wanted, secrets: Iterable[str]) -> None:
        """Always."""

    async def object(self, wanted: Wanted, asked: ObjectRequest) -> Tree | None:
        """None."""
        return None


class NoOwnScripts:
    """Namespaces have no scripts of their own."""

    def keep_watched(self, owner: Key, config_maps: Iterable[Key]) -> None:
        """Nothing to watch."""

    def availability(self, config_map: Key) -> Availability:
        return Synced()


class Time:
    """A clock that a test moves."""

    def __init__(self, now: datetime) -> None:
        self.at = now

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()


class Scene:
    """A Notification in an API server, the caches of one process after another, and a receiver."""

    def __init__(self, exchanging: Callable[[Time], Exchanging], pages: Pages) -> None:
        self.clock = Time(WORLD_NOW)
        self.api = MemoryApi(self.clock.now)
        self.exchanging = exchanging(self.clock)
        self.pages = pages
        self.received: list[tuple[str, Tree]] = []
        self.notes: list[Note] = []
        self.rollout: Rollout | None = None
        self.woken: list[Key] = []
        self.resource = NOTIFICATIONS
        self.key = CHAT
        self.writes = 0
        self.start()

    def put(self, spec: NotificationSpec, key: Key = CHAT) -> None:
        """A person creates the Notification."""
        self.key = key
        self.resource = NOTIFICATIONS if key.namespace else CLUSTER_NOTIFICATIONS
        meta = {"name": key.name, "namespace": key.namespace, "uid": "n", "generation": 1}
        body = {"metadata": meta, "spec": json.loads(msgspec.json.encode(spec))}
        self.api.storage.put(self.resource_kind, key, body)
        self.see()

    @property
    def resource_kind(self) -> tuple[str, str]:
        return (self.resource.group, self.resource.plural)

    def start(self) -> None:
        """A process begins with empty caches, and fills them."""
        self.caches = Caches()
        self.notifying = Notifying(
            caches=self.caches,
            kube=self.api,
            exchanging=self.exchanging,
            ledger=WriteLedger(),
            clock=self.clock,
            events=lambda notification, note: self.notes.append(note),
            wake=self.woken.append,
            home="kruise-rollout",
            own_scripts=NoOwnScripts(),
        )
        if self.rollout is not None:
            self.caches.rollouts.put(self.rollout)
        self.see()
        self.notifying.follow()

    def see(self) -> None:
        """The watch shows the stored Notification."""
        stored = self.api.storage.get(self.resource_kind, self.key)
        if stored is not None:
            found = msgspec.json.decode(msgspec.json.encode(stored), type=Notification)
            own = self.caches.notifications
            (own if self.key.namespace else self.caches.cluster_notifications).put(found)

    @property
    def notification(self) -> Notification:
        """As it is stored."""
        stored = self.api.storage.get(self.resource_kind, self.key)
        return msgspec.json.decode(msgspec.json.encode(stored), type=Notification)

    def show(self, rollout: Rollout) -> None:
        """The watch shows a Rollout."""
        self.rollout = rollout
        self.caches.rollouts.put(rollout)

    async def pass_over(self) -> float | None:
        """One pass; the watch then shows what it wrote."""
        result = await self.notifying.reconcile(self.key)
        self.see()
        return result.wake_after

    @property
    def ids(self) -> list[str]:
        """The ids in the order in which they were received."""
        return [one for one, _ in self.received]


WORLD_NOW = make_world().cluster.now


@asynccontextmanager
async def scene(address: str, *answers: Answer) -> AsyncIterator[Scene]:
    """A receiver, and a process that tells it."""
    client = ScriptClient(address, deadline=30)
    found: list[Scene] = []

    async def receive(request: web.Request) -> web.StreamResponse:
        body = await request.text()
        found[0].received.append((request.headers["Idempotency-Key"], json.loads(body)))
        return web.Response(status=204)

    try:
        async with served(*answers, receive) as pages, fetching(pages.address) as requests:
            found.append(
                Scene(lambda clock: Exchanging(requests, Packaged(client), clock.now), pages)
            )
            yield found[0]
    finally:
        await client.close()


def to(pages: Pages, **fields: object) -> NotificationSpec:
    """The packaged webhook, to the receiver."""
    address = msgspec.Raw(json.dumps(f"{pages.address}/told").encode())
    return structs.replace(
        NotificationSpec(script="webhook", params={"address": address}), **fields
    )


def statuses(*deeds: Callable[[World], None]) -> list[Rollout]:
    """Every version of the Rollout that was stored while these things were done."""
    world = make_world(make_rollout())
    found: list[Rollout] = []

    def look() -> None:
        now = world.cluster.rollouts[KEY]
        if not found or found[-1] != now:
            found.append(now)

    world.watchers.append(look)
    for deed in deeds:
        deed(world)
        world.rest()
    look()
    return found


def approve(world: World) -> None:
    """A person approves."""
    world.run_to(world.cluster.now + timedelta(seconds=10))
    world.people.approve(KEY)


def undo(world: World) -> None:
    """A person rolls back."""
    world.people.undo(KEY, template("v2"))


A_DAY_OF_WORK = statuses(
    release, approve, approve, approve, lambda world: release(world, "v3"), undo
)


def expected(rollouts: Iterable[Rollout], topics: Iterable[Topic]) -> dict[str, Occasion]:
    """The events that have to be sent."""
    chosen = set(topics)
    return {
        one.id: one for rollout in rollouts for one in occasions(rollout) if one.topic in chosen
    }


async def test_each_event_of_a_release_is_told_once_in_its_order(running: str) -> None:
    async with scene(running) as told:
        told.put(to(told.pages, events=tuple(Topic)))
        for rollout in A_DAY_OF_WORK:
            told.show(rollout)
            await told.pass_over()
        assert set(told.ids) == set(expected(A_DAY_OF_WORK, Topic))
        assert Counter(told.ids) == Counter(set(told.ids))
        assert [event["reason"] for _, event in told.received] == [
            "ReleaseStarted",
            "WaitsForApproval",
            "WaitsForApproval",
            "ReleaseCompleted",
            "ReleaseStarted",
            "WaitsForApproval",
            "ReleaseCanceled",
        ]


async def test_a_process_that_is_killed_at_any_write_or_send_loses_no_event(running: str) -> None:
    wanted = expected(A_DAY_OF_WORK, Topic)
    for fatal in range(1, 2 * len(wanted) + 2):
        async with scene(running) as told:
            told.put(to(told.pages, events=tuple(Topic)))
            left = [fatal]
            die_at_the(told, left)
            for rollout in A_DAY_OF_WORK:
                told.show(rollout)
                try:
                    await told.pass_over()
                except Killed:
                    told.start()
                    await told.pass_over()
            counts = Counter(told.ids)
            assert set(counts) == set(wanted), f"killed at {fatal}"
            assert sum(counts.values()) - len(counts) <= 1, "one kill repeats one event at most"
            for name, event in told.received:
                assert event == told.received[told.ids.index(name)][1], "the same event, again"


def die_at_the(told: Scene, left: list[int]) -> None:
    """The process dies before the write, or after the answer of the target, that brings `left` to zero."""
    write, call = told.api.json_patch, told.exchanging.called

    def count() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    async def patched(resource: Resource, *rest: object, **named: object) -> bytes:
        count()
        return await write(resource, *rest, **named)  # type: ignore[arg-type]  # passed on

    async def called(*rest: object) -> object:
        found = await call(*rest)  # type: ignore[arg-type]  # passed on
        count()
        return found

    setattr(told.api, "json_patch", patched)  # noqa: B010  # a method of this one object
    setattr(told.exchanging, "called", called)  # noqa: B010


async def test_a_target_that_refuses_is_asked_again_with_the_same_id(running: str) -> None:
    seen: list[str] = []

    async def busy(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers["Idempotency-Key"])
        return web.Response(status=503, headers={"Retry-After": "40"})

    async with scene(running, busy) as told:
        told.put(to(told.pages, events=(Topic.STARTED,)))
        told.show(A_DAY_OF_WORK[-1])
        told.clock.at = occasions(A_DAY_OF_WORK[-1])[0].at
        assert await told.pass_over() == 40
        status = told.notification.status
        (ready,) = status.conditions
        assert (ready.status, ready.reason) == ("False", NOT_TAKEN)
        assert ready.message == "the webhook answered 503"
        assert [one.tries for one in status.waiting] == [1]
        told.start()  # Another leader knows from the status that it waits
        assert await told.pass_over() == 40
        assert told.received == []
        told.clock.at += timedelta(seconds=40)
        assert await told.pass_over() is None
        assert told.ids == seen
        status = told.notification.status
        assert [(one.status, one.reason) for one in status.conditions] == [("True", CAN_TELL)]
        assert (status.waiting, status.last_told) == ((), told.clock.at)


async def test_at_rest_nothing_is_written(running: str) -> None:
    async with scene(running) as told:
        told.put(to(told.pages))
        told.show(A_DAY_OF_WORK[0])
        await told.pass_over()
        before = told.notification.metadata.resource_version
        await told.pass_over()
        assert told.notification.metadata.resource_version == before
        assert told.woken == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"script": "slak"}, "slak"),
        ({"params": {}}, "the script needs the parameter address (--@params)"),
        ({"secrets": {"key": SecretKey("a", "b")}}, "the script has no secret key"),
    ],
)
async def test_a_notification_that_cannot_be_told_says_why_before_anything_happens(
    running: str, change: dict[str, object], words: str
) -> None:
    async with scene(running) as told:
        told.put(to(told.pages, **change))
        assert await told.pass_over() is None
        (ready,) = told.notification.status.conditions
        assert (ready.status, ready.reason) == ("False", UNUSABLE)
        assert words in ready.message


async def test_a_cluster_notification_tells_of_all_namespaces(running: str) -> None:
    async with scene(running) as told:
        told.put(to(told.pages, events=(Topic.STARTED,)), Key("", "everything"))
        told.show(A_DAY_OF_WORK[-1])
        await told.pass_over()
        assert [event["rollout"] for _, event in told.received] == [KEY.name]


async def test_without_a_notification_no_status_is_looked_at(
    running: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(running) as told:
        monkeypatch.setattr("controller.reconcilers.notifications.occasions", lambda _: 1 / 0)
        for rollout in A_DAY_OF_WORK:
            told.show(rollout)
        assert told.woken == []


async def test_after_a_day_an_event_is_given_up_and_reported(running: str) -> None:
    async def never(request: web.Request) -> web.StreamResponse:
        return web.Response(status=500)

    async with scene(running, never, never) as told:
        told.put(to(told.pages, events=(Topic.STARTED,)))
        told.show(A_DAY_OF_WORK[-1])
        told.clock.at = occasions(A_DAY_OF_WORK[-1])[0].at
        await told.pass_over()
        told.clock.at += timedelta(hours=24, seconds=1)
        await told.pass_over()
        assert [note.reason for note in told.notes] == ["NotificationGivenUp"]
        assert [one.given_up for one in told.notification.status.told] == [True]
        assert told.notification.status.waiting == ()
        assert await told.pass_over() is None
