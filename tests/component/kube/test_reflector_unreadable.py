"""An object that cannot be read costs the reflector one list, and delays no other object."""

import json

import pytest

from controller.api.depth import DEEPEST
from controller.api.meta import Key
from tests.component.kube.faulty_server import (
    FaultyServer,
    answering,
    event,
    listing,
    names,
    silent,
    thing,
)
from tests.component.kube.reflecting import Thing, reflecting, settled
from tests.component.runtime.virtual_time import virtual_time


@virtual_time
async def test_an_unreadable_object_costs_one_list_and_keeps_its_last_readable_view() -> None:
    broken = thing("a", "11", size="many")
    server = FaultyServer(
        lists=[listing("10", thing("a", "5", size=3)), listing("12", broken, thing("b", "6"))],
        watches=[
            silent(event("MODIFIED", broken)),
            silent(
                event("MODIFIED", thing("a", "13", size="more")),
                event("MODIFIED", thing("b", "14", size=8)),
            ),
        ],
    )
    complaints: list[Key] = []
    async with reflecting(server, on_undecodable=lambda key, why: complaints.append(key)) as scene:
        await settled(10)
        assert len(server.listed) == 2
        assert scene.size("a") == 3
        assert scene.size("b") == 8
        assert set(complaints) == {Key("shop", "a")}
        assert scene.reflector.undecodable.keys() == {Key("shop", "a")}
        assert scene.metrics.unreadable == 3


@virtual_time
async def test_an_object_that_becomes_readable_again_is_taken_in() -> None:
    broken = thing("a", "11", size="many")
    server = FaultyServer(
        lists=[listing("12", broken)],
        watches=[silent(event("MODIFIED", thing("a", "13", size=4)))],
    )
    async with reflecting(server) as scene:
        await settled(1)
        assert scene.size("a") == 4
        assert scene.reflector.undecodable == {}


@virtual_time
async def test_a_line_that_is_not_json_leads_to_one_list() -> None:
    server = FaultyServer(lists=[listing("10")], watches=[silent(b"{oops\n"), silent()])
    async with reflecting(server) as scene:
        await settled(30)
        assert scene.metrics.lists == ["start", "undecodable"]
        assert scene.reflector.healthy


@virtual_time
async def test_a_list_that_is_not_json_is_tried_again() -> None:
    server = FaultyServer(
        lists=[answering(200, b"<html>log in</html>"), listing("10", thing("a", "5"))],
        watches=[silent()],
    )
    async with reflecting(server) as scene:
        await settled(0.1)
        assert "could not be read" in (scene.reflector.problem or "")
        await settled(5)
        assert names(scene.store.values()) == ["a"]


@virtual_time
async def test_an_unreadable_object_that_is_deleted_is_gone() -> None:
    server = FaultyServer(
        lists=[listing("10", thing("a", "5"))],
        watches=[silent(event("DELETED", thing("a", "11", size="many")))],
    )
    async with reflecting(server) as scene:
        await settled(1)
        assert len(scene.store) == 0
        assert scene.reflector.undecodable == {}
        assert len(server.listed) == 1


@virtual_time
async def test_an_object_without_a_readable_name_does_not_stop_the_others() -> None:
    server = FaultyServer(
        lists=[listing("10", {"metadata": {"name": 5}}, thing("a", "5"))], watches=[silent()]
    )
    async with reflecting(server) as scene:
        await settled(1)
        assert names(scene.store.values()) == ["a"]
        assert scene.metrics.unreadable == 1


def too_deep(version: str) -> bytes:
    """An object that no decoder reads: a server accepts ten thousand levels."""
    whole = thing("a", version)
    whole["deep"] = "DEEP"
    return json.dumps(whole).encode().replace(b'"DEEP"', b"[" * 5000 + b"]" * 5000)


def page(continued: str, *items: bytes) -> bytes:
    """A page of a list; `continued` leads to the next one."""
    head = b'{"metadata": {"resourceVersion": "10", "continue": "%s"}' % continued.encode()
    return head + b', "items": [%s]}' % b", ".join(items)


@virtual_time
async def test_an_object_that_is_nested_too_deeply_in_a_list_hides_no_other() -> None:
    first = page("more", json.dumps(thing("b", "6", size=6)).encode(), too_deep("5"))
    rest = page("", json.dumps(thing("c", "7", size=7)).encode())
    server = FaultyServer(lists=[answering(200, first), answering(200, rest)], watches=[silent()])
    async with reflecting(server) as scene:
        await settled(30)
        assert scene.metrics.lists == ["start"]
        assert (scene.size("b"), scene.size("c")) == (6, 7)
        assert scene.reflector.undecodable == {Key("shop", "a"): "it is nested too deeply"}
        assert scene.reflector.healthy


@virtual_time
async def test_an_object_that_becomes_nested_too_deeply_does_not_interrupt_the_watch() -> None:
    """No list would show it otherwise: somebody could make the process list the kind again and again."""
    deep = (b'{"type": "MODIFIED", "object": %s}\n' % too_deep(str(v)) for v in range(11, 14))
    server = FaultyServer(
        lists=[listing("10", thing("a", "5", size=3))],
        watches=[silent(*deep, event("ADDED", thing("b", "14", size=8)))],
    )
    async with reflecting(server) as scene:
        await settled(5)
        assert scene.metrics.lists == ["start"]
        assert (scene.size("a"), scene.size("b")) == (3, 8)
        assert scene.reflector.undecodable.keys() == {Key("shop", "a")}
        assert scene.reflector.healthy


@virtual_time
async def test_a_view_that_is_nested_too_deeply_hides_no_other() -> None:
    def transform(view: Thing) -> Thing:
        if view.metadata.name == "a":
            raise RecursionError
        return view

    server = FaultyServer(
        lists=[listing("10", thing("a", "5"), thing("b", "6"))],
        watches=[silent(event("MODIFIED", thing("a", "13")), event("ADDED", thing("c", "14")))],
    )
    async with reflecting(server, transform=transform) as scene:
        await settled(1)
        assert names(scene.store.values()) == ["b", "c"]
        assert scene.reflector.undecodable.keys() == {Key("shop", "a")}


def walked(version: str, levels: int) -> bytes:
    """An object that the decoder reads, and through which no decision may walk."""
    whole = thing("a", version, size=1)
    whole["note"] = "DEEP"
    return json.dumps(whole).encode().replace(b'"DEEP"', b"[" * levels + b"]" * levels)


@virtual_time
async def test_our_own_kinds_are_never_deeper_than_decisions_walk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("controller.kube.reflector.GROUP", "example.com")
    deep = b'{"type": "MODIFIED", "object": %s}\n' % walked("11", DEEPEST)
    server = FaultyServer(
        lists=[answering(200, page("", walked("5", DEEPEST - 1)))],
        watches=[silent(deep, event("ADDED", thing("b", "14", size=8)))],
    )
    async with reflecting(server) as scene:
        await settled(5)
        assert scene.metrics.lists == ["start"]
        assert (scene.size("a"), scene.size("b")) == (1, 8)
        assert scene.reflector.undecodable == {Key("shop", "a"): "it is nested too deeply"}
