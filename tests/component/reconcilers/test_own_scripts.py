"""A ConfigMap with a namespace's scripts is watched while somebody names it, by its name. Times are virtual."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from random import Random
from typing import Any

from controller.api.meta import Key
from controller.domain.availability import Failing, Forbidden, Loading, Synced
from controller.kube.reflector import PROBE
from controller.reconcilers.own_scripts import BOUNDS, OwnScripts
from tests.component.kube.faulty_server import (
    FaultyServer,
    Responder,
    answering,
    connected,
    event,
    listing,
    silent,
    status,
)
from tests.component.kube.reflecting import settled
from tests.component.runtime.virtual_time import virtual_time

SCRIPTS = Key("shop", "scripts")
WEB, API = Key("shop", "web"), Key("shop", "api")


def stored(version: str, text: str) -> dict[str, Any]:
    head = {"name": "scripts", "namespace": "shop", "uid": "u", "resourceVersion": version}
    return {"metadata": head, "data": {"k": text}}


@contextlib.asynccontextmanager
async def watching(server: FaultyServer) -> AsyncIterator[tuple[OwnScripts, list[Key]]]:
    woken: list[Key] = []
    async with server.running(), connected(server) as client:
        scripts = OwnScripts(client, woken.append, Random(1))
        task = asyncio.create_task(scripts.run())
        try:
            yield scripts, woken
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def serving(*items: dict[str, Any], watch: Responder | None = None) -> FaultyServer:
    return FaultyServer(lists=[listing("10", *items)], watches=[watch or silent()])


@virtual_time
async def test_one_watch_by_name_serves_all_and_ends_with_the_last() -> None:
    server = serving(stored("5", "one"))
    async with watching(server) as (scripts, woken):
        await settled(60)
        assert server.requests == []
        scripts.keep_watched(WEB, [SCRIPTS])
        scripts.keep_watched(API, [SCRIPTS])
        assert isinstance(scripts.availability(SCRIPTS), Loading)
        await settled(1)
        assert scripts.data(SCRIPTS) == {"k": "one"}
        assert set(woken) == {WEB, API}
        (listed,) = server.listed
        assert listed.path == "/api/v1/namespaces/shop/configmaps"
        assert listed.query["fieldSelector"] == "metadata.name=scripts"
        scripts.keep_watched(WEB, ())
        assert isinstance(scripts.availability(SCRIPTS), Synced)
        scripts.keep_watched(API, ())
        assert isinstance(scripts.data(SCRIPTS), Failing)
        asked = len(server.requests)
        await settled(3600)
        assert len(server.requests) == asked


@virtual_time
async def test_a_change_wakes_those_who_name_it() -> None:
    server = serving(stored("5", "one"), watch=silent(event("MODIFIED", stored("11", "two"))))
    async with watching(server) as (scripts, woken):
        scripts.keep_watched(WEB, [SCRIPTS])
        await settled(1)
        assert scripts.data(SCRIPTS) == {"k": "two"}
        assert woken[-1] == WEB


@virtual_time
async def test_an_absent_config_map_is_no_script_and_no_failure() -> None:
    async with watching(serving()) as (scripts, _):
        scripts.keep_watched(WEB, [SCRIPTS])
        await settled(1)
        assert scripts.data(SCRIPTS) is None


@virtual_time
async def test_a_forbidden_config_map_is_requested_again_and_wakes_its_rollouts_when_granted() -> (
    None
):
    refused = answering(403, status(403, "Forbidden", "no right"))
    server = FaultyServer(
        lists=[refused, refused, listing("10", stored("5", "one"))], watches=[silent()]
    )
    async with watching(server) as (scripts, woken):
        scripts.keep_watched(WEB, [SCRIPTS])
        await settled(0.1)
        assert isinstance(scripts.data(SCRIPTS), Forbidden)
        assert woken == [WEB]
        await settled(2 * PROBE)
        assert scripts.data(SCRIPTS) == {"k": "one"}
        assert woken[-1] == WEB


@virtual_time
async def test_a_namespace_names_a_limited_number_and_a_left_out_name_gets_its_turn_later() -> None:
    async with watching(serving()) as (scripts, woken):
        several = [Key("shop", f"c{number}") for number in range(BOUNDS.of_a_namespace)]
        scripts.keep_watched(WEB, several)
        scripts.keep_watched(API, [SCRIPTS])
        assert isinstance(stands := scripts.availability(SCRIPTS), Failing)
        assert "name fewer" in stands.message
        scripts.keep_watched(WEB, several[1:])
        assert API in woken
        scripts.keep_watched(API, [SCRIPTS])
        await settled(1)
        assert isinstance(scripts.availability(SCRIPTS), Synced)
