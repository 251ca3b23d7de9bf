"""The reflector against every way a watch can go wrong. Times are virtual."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from itertools import pairwise
from typing import Any

import msgspec

from controller.api.meta import Key
from controller.domain.availability import Synced
from controller.kube.reflector import EVENTS_BETWEEN_YIELDS, STALE, Reflector
from controller.kube.store import Store
from tests.component.kube.faulty_server import (
    FaultyServer,
    Reply,
    Request,
    answering,
    bookmark,
    error_event,
    event,
    listing,
    names,
    resetting,
    silent,
    status,
    streaming,
    thing,
)
from tests.component.kube.reflecting import (
    THINGS,
    RecordedChanges,
    Thing,
    reflecting,
    settled,
)
from tests.component.runtime.virtual_time import now, virtual_time


@virtual_time
async def test_a_list_fills_the_store_and_the_watch_follows_from_its_version() -> None:
    server = FaultyServer(
        lists=[listing("10", thing("a", "5"))],
        watches=[silent(event("ADDED", thing("b", "11")), event("DELETED", thing("a", "12")))],
    )
    async with reflecting(server) as scene:
        await scene.reflector.synced.wait()
        await settled()
        assert names(scene.store.values()) == ["b"]
        assert server.watched[0].query["resourceVersion"] == "10"
        assert server.watched[0].query["allowWatchBookmarks"] == "true"
        assert 300 <= int(server.watched[0].query["timeoutSeconds"]) <= 600
        assert scene.heard.changes == [("added", "a"), ("added", "b"), ("deleted", "a")]
        assert scene.reflector.healthy


@virtual_time
async def test_pages_are_read_to_the_end_before_the_store_changes() -> None:
    server = FaultyServer(
        lists=[listing("10", thing("a", "5"), following="more"), listing("10", thing("b", "6"))],
        watches=[silent()],
    )
    async with reflecting(server) as scene:
        await scene.reflector.synced.wait()
        assert names(scene.store.values()) == ["a", "b"]
        assert [request.query.get("continue") for request in server.listed] == [None, "more"]


@virtual_time
async def test_an_expired_page_starts_the_list_again() -> None:
    server = FaultyServer(
        lists=[
            listing("10", thing("a", "5"), following="more"),
            answering(410, status(410, "Expired", "continue token too old")),
            listing("20", thing("b", "15")),
        ],
        watches=[silent()],
    )
    async with reflecting(server) as scene:
        await scene.reflector.synced.wait()
        assert names(scene.store.values()) == ["b"]


@virtual_time
async def test_somebody_is_told_when_a_store_is_relied_on_no_longer_and_when_it_is_again() -> None:
    healed = asyncio.Event()

    async def watch(request: Request, reply: Reply) -> None:
        await (silent() if healed.is_set() else answering(500, status(500)))(request, reply)

    told: list[tuple[float, bool]] = []
    server = FaultyServer(lists=[listing("10", thing("a", "5"))], watches=[watch])

    def note() -> None:
        told.append((round(now()), isinstance(scene.reflector.availability, Synced)))

    async with reflecting(server, notify=note) as scene:
        await settled(25)
        assert told == [(0, True)], "an interruption is no news"
        await settled(95)
        assert told == [(0, True), (STALE, False)]
        healed.set()
        await settled(40)
        assert [synced for _, synced in told] == [True, False, True]
        await settled(120)
        assert len(told) == 3


@virtual_time
async def test_gone_in_the_stream_lists_again_without_a_storm() -> None:
    server = FaultyServer(lists=[listing("10")], watches=[streaming(error_event(410))])
    async with reflecting(server) as scene:
        await settled(60)
        # pauses grow from 0.2 s to 30 s: a handful of lists in a minute, not a thousand a second
        assert 5 <= len(server.listed) <= 12
        assert set(scene.metrics.lists[1:]) == {"gone"}


@virtual_time
async def test_gone_as_a_status_lists_again_and_finds_missed_changes() -> None:
    server = FaultyServer(
        lists=[
            listing("10", thing("a", "5"), thing("b", "6")),
            listing("30", thing("a", "25", size=7)),
        ],
        watches=[answering(410, status(410, "Gone", "too old")), silent()],
    )
    async with reflecting(server) as scene:
        await settled(1)
        assert scene.size("a") == 7
        assert scene.heard.changes[-2:] == [("deleted", "b"), ("changed", "a")]
        assert server.watched[-1].query["resourceVersion"] == "30"


@virtual_time
async def test_a_next_line_character_in_an_annotation_does_not_break_the_watch() -> None:
    strange = "a\u0085b\u2028c\u2029d"
    line = event("ADDED", thing("a", "11", note=strange))
    assert "\u0085".encode() in line
    server = FaultyServer(lists=[listing("10")], watches=[silent(line)])
    async with reflecting(server) as scene:
        await settled(1)
        view = scene.store.get(Key("shop", "a"))
        assert view is not None
        assert view.metadata.annotations["note"] == strange
        assert len(server.watched) == 1
        assert scene.metrics.unreadable == 0


@virtual_time
async def test_a_line_cut_into_single_bytes_is_put_together() -> None:
    line = event("ADDED", thing("a", "11", note="ü\u0085"))
    pieces = [line[i : i + 1] for i in range(len(line))]
    server = FaultyServer(lists=[listing("10")], watches=[silent(*pieces)])
    async with reflecting(server) as scene:
        await settled(1)
        assert scene.size("a") == 1


@virtual_time
async def test_a_silent_peer_is_given_up_after_two_minutes_and_the_watch_resumes() -> None:
    server = FaultyServer(
        lists=[listing("10")],
        watches=[silent(event("ADDED", thing("a", "11"))), silent()],
    )
    async with reflecting(server) as scene:
        await settled(119)
        assert len(server.watched) == 1
        await settled(5)
        assert [request.query["resourceVersion"] for request in server.watched] == ["10", "11"]
        assert len(server.listed) == 1
        assert scene.reflector.healthy


@virtual_time
async def test_bookmarks_keep_a_quiet_watch_alive_and_move_its_version() -> None:
    async def ticking(reply: Reply) -> None:
        for number in range(4):
            await asyncio.sleep(60)
            await reply.send(bookmark(str(20 + number)))
        await reply.end_stream()

    server = FaultyServer(lists=[listing("10")], watches=[streaming(then=ticking), silent()])
    async with reflecting(server) as scene:
        await settled(239)
        assert len(server.watched) == 1
        await settled(2)
        assert server.watched[1].query["resourceVersion"] == "23"
        assert scene.heard.changes == []


@virtual_time
async def test_a_reset_in_the_middle_of_a_line_loses_and_invents_nothing() -> None:
    whole, half = event("ADDED", thing("a", "11")), event("ADDED", thing("b", "12"))[:40]

    async def cut(reply: Reply) -> None:
        reply.reset()

    server = FaultyServer(
        lists=[listing("10")],
        watches=[streaming(whole, half, then=cut), silent(event("ADDED", thing("b", "12")))],
    )
    async with reflecting(server) as scene:
        await settled(1)
        assert names(scene.store.values()) == ["a", "b"]
        assert server.watched[1].query["resourceVersion"] in ("10", "11")
        assert len(server.listed) == 1
        assert scene.metrics.unreadable == 0


@virtual_time
async def test_a_clean_close_resumes_at_once_from_the_last_version() -> None:
    async def after_ten_minutes(reply: Reply) -> None:
        await asyncio.sleep(100)
        await reply.end_stream()

    server = FaultyServer(
        lists=[listing("10")],
        watches=[streaming(event("ADDED", thing("a", "11")), then=after_ten_minutes), silent()],
    )
    async with reflecting(server):
        await settled(100)
        assert [request.query["resourceVersion"] for request in server.watched] == ["10", "11"]
        assert len(server.listed) == 1


@virtual_time
async def test_a_server_that_closes_at_once_every_time_is_not_hammered() -> None:
    server = FaultyServer(lists=[listing("10")], watches=[streaming()])
    async with reflecting(server):
        await settled(60)
        assert len(server.watched) <= 12


@virtual_time
async def test_duplicate_events_are_delivered_once() -> None:
    line = event("MODIFIED", thing("a", "11", size=2))
    server = FaultyServer(
        lists=[listing("10", thing("a", "5"))], watches=[silent(line, line, line)]
    )
    async with reflecting(server) as scene:
        await settled(1)
        assert scene.heard.changes == [("added", "a"), ("changed", "a")]


@virtual_time
async def test_the_late_deletion_of_a_predecessor_does_not_remove_its_successor() -> None:
    server = FaultyServer(
        lists=[listing("10", thing("a", "9", uid="new"))],
        watches=[silent(event("DELETED", thing("a", "8", uid="old")))],
    )
    async with reflecting(server) as scene:
        await settled(1)
        assert scene.size("a") == 1


@virtual_time
async def test_an_object_created_again_under_its_name_arrives_as_deleted_and_added() -> None:
    server = FaultyServer(
        lists=[listing("10", thing("a", "5", uid="old"))],
        watches=[silent(event("MODIFIED", thing("a", "12", uid="new")))],
    )
    async with reflecting(server) as scene:
        await settled(1)
        assert scene.heard.changes == [("added", "a"), ("deleted", "a"), ("added", "a")]


@virtual_time
async def test_a_kind_that_is_not_served_is_reported_and_found_when_it_appears() -> None:
    absent = answering(404, b"404 page not found\n")
    server = FaultyServer(
        lists=[absent, absent, absent, listing("10", thing("a", "5"))], watches=[silent()]
    )
    async with reflecting(server) as scene:
        await settled(0.1)
        assert not scene.reflector.healthy
        assert "things.example.com is not served" in (scene.reflector.problem or "")
        await settled(5)
        assert scene.reflector.healthy
        assert names(scene.store.values()) == ["a"]


@virtual_time
async def test_a_kind_that_vanishes_is_listed_again_when_it_returns() -> None:
    server = FaultyServer(
        lists=[listing("10", thing("a", "5")), listing("3", thing("b", "2"))],
        watches=[answering(404), silent()],
    )
    async with reflecting(server) as scene:
        await settled(5)
        assert names(scene.store.values()) == ["b"]
        assert server.watched[-1].query["resourceVersion"] == "3"


@virtual_time
async def test_a_kind_that_returns_after_a_long_absence_is_followed_within_seconds() -> None:
    absent = [answering(404, b"404 page not found\n")] * 20
    initializing = answering(429, status(429, "TooManyRequests", "storage is (re)initializing"))
    server = FaultyServer(
        lists=[*absent, initializing, listing("10"), listing("10")],
        # publishing an authority in the definition ends the watches of the kind
        watches=[streaming(), silent(event("ADDED", thing("a", "11")))],
    )
    async with reflecting(server) as scene:
        while len(server.listed) <= len(absent):
            await settled(1)
        await settled(2)
        assert names(scene.store.values()) == ["a"]


@virtual_time
async def test_a_kind_that_comes_and_goes_is_not_asked_for_without_a_pause() -> None:
    absent = answering(404, b"404 page not found\n")
    fault = answering(500, status(500, "InternalError", "no"))
    server = FaultyServer(lists=[absent, fault] * 200)
    async with reflecting(server):
        await settled(60)
        assert len(server.listed) <= 60


@virtual_time
async def test_a_missing_right_is_reported_in_the_servers_words_and_healed_when_granted() -> None:
    message = 'things.example.com is forbidden: User "x" cannot list resource "things"'
    denied = answering(403, status(403, "Forbidden", message))
    server = FaultyServer(lists=[denied, denied, listing("10")], watches=[silent()])
    async with reflecting(server) as scene:
        await settled(0.1)
        assert scene.reflector.problem == message
        assert not scene.reflector.healthy
        await settled(5)
        assert scene.reflector.healthy


@virtual_time
async def test_retry_after_is_honoured_by_the_watch() -> None:
    server = FaultyServer(
        lists=[listing("10")],
        watches=[
            answering(429, status(429, "TooManyRequests", "busy"), Retry_After="17"),
            silent(),
        ],
    )
    async with reflecting(server):
        await settled(16.9)
        assert len(server.watched) == 1
        await settled(0.2)
        assert len(server.watched) == 2
        assert len(server.listed) == 1


@virtual_time
async def test_an_error_event_other_than_gone_resumes_without_a_list() -> None:
    server = FaultyServer(
        lists=[listing("10")],
        watches=[streaming(error_event(500, "InternalError", "etcd is away")), silent()],
    )
    async with reflecting(server):
        await settled(5)
        assert len(server.listed) == 1
        assert len(server.watched) == 2


@virtual_time
async def test_a_server_that_resets_every_connection_is_asked_ever_more_rarely() -> None:
    server = FaultyServer(lists=[resetting], watches=[resetting])
    async with reflecting(server) as scene:
        await settled(120)
        # each attempt is two requests: the transport repeats a GET once
        assert len(server.requests) <= 30
        assert not scene.reflector.healthy
        assert scene.reflector.problem


@virtual_time
async def test_a_transform_sees_every_object_before_the_store_does() -> None:
    def doubled(view: Thing) -> Thing:
        return msgspec.structs.replace(view, size=view.size * 2)

    server = FaultyServer(
        lists=[listing("10", thing("a", "5", size=2))],
        watches=[silent(event("ADDED", thing("b", "11", size=3)))],
    )
    async with reflecting(server, transform=doubled) as scene:
        await settled(1)
        assert (scene.size("a"), scene.size("b")) == (4, 6)


class Instant:
    """A client that has all answers at once, without any I/O."""

    def __init__(self, items: int, lines: list[bytes]) -> None:
        self._items = [thing(f"t{n}", str(n)) for n in range(items)]
        self._lines = lines
        self.exhausted = False

    async def list_pages(self, *_: object) -> AsyncGenerator[bytes, None]:
        page = {"metadata": {"resourceVersion": "10"}, "items": self._items}
        yield msgspec.json.encode(page)

    @contextlib.asynccontextmanager
    async def watch(self, *_: object) -> AsyncIterator[AsyncIterator[bytes]]:
        async def lines() -> AsyncIterator[bytes]:
            for line in self._lines:
                yield line
            self.exhausted = True
            await asyncio.Event().wait()

        yield lines()


@virtual_time
async def test_a_long_list_and_a_burst_of_events_leave_room_for_others() -> None:
    lines = [event("MODIFIED", thing("a", str(n), size=n)) for n in range(11, 2011)]
    client = Instant(2000, lines)
    store: Store[Thing] = Store()
    reflector = Reflector(client, THINGS, store, Thing)
    task = asyncio.create_task(reflector.run())
    turns = [0, 0]
    while not client.exhausted:
        await asyncio.sleep(0)
        turns[reflector.synced.is_set()] += 1
    assert min(turns) >= 49
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@virtual_time
async def test_a_watch_that_cannot_be_opened_is_tried_again_without_a_list() -> None:
    server = FaultyServer(lists=[listing("10")], watches=[resetting, resetting, silent()])
    async with reflecting(server) as scene:
        await settled(5)
        assert len(server.listed) == 1
        assert len(server.watched) == 3
        assert scene.reflector.healthy


@virtual_time
async def test_a_long_list_is_taken_in_piece_by_piece() -> None:
    many = [thing(f"t{number}", str(number)) for number in range(1, 2_001)]
    server = FaultyServer(lists=[listing("3000", *many)], watches=[silent()])
    turns: list[int] = [0]
    async with reflecting(server) as scene:
        while not scene.reflector.synced.is_set():
            await asyncio.sleep(0)
            turns.append(len(scene.heard.changes))
    assert turns[-1] == len(many)
    assert max(after - before for before, after in pairwise(turns)) <= EVENTS_BETWEEN_YIELDS


class InstantTwice(Instant):
    """Its first watch has expired; the second list is another one."""

    def __init__(self, second: list[Any]) -> None:
        super().__init__(2_000, [error_event(410)])
        self._second = second
        self.lists = 0

    async def list_pages(self, *_: object) -> AsyncGenerator[bytes, None]:
        self.lists += 1
        if self.lists > 1:
            self._items, self._lines = self._second, []
        async for page in super().list_pages():
            yield page


async def test_a_second_list_is_compared_piece_by_piece_and_its_differences_come_in_one_go() -> (
    None
):
    kept = [thing(f"t{number}", str(number)) for number in range(2, 2_000)]
    client = InstantTwice([*kept, thing("t1", "2001", size=7), thing("new", "2002")])
    store: Store[Thing] = Store()
    reflector = Reflector(client, THINGS, store, Thing)
    task = asyncio.create_task(reflector.run())
    await reflector.synced.wait()
    heard, turns = RecordedChanges(store), 0
    while not heard.changes:
        await asyncio.sleep(0)
        turns += client.lists == 2
    assert sorted(heard.changes) == [("added", "new"), ("changed", "t1"), ("deleted", "t0")]
    assert turns >= 2 * len(kept) / EVENTS_BETWEEN_YIELDS, "taken in, and compared"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
