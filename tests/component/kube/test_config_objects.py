"""ConfigMaps and Secrets are watched from the first question on, and no byte of them is kept. Times are virtual."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from random import Random
from typing import Any

from controller.api.config import ConfigKind, ConfigObject, content_digest
from controller.api.meta import Key
from controller.api.names import ROLLOUT_UID, TRACK_CONFIG
from controller.domain.availability import Forbidden, Loading, Synced
from controller.kube.config_objects import ConfigObjects
from controller.kube.reflector import PROBE
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

BOTH = frozenset(ConfigKind)
ONE = frozenset({ConfigKind.CONFIG_MAP})
WEB = Key("shop", "web")


def stored(version: str, text: str, name: str = "web", **metadata: Any) -> dict[str, Any]:
    head = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "resourceVersion": version}
    return {"metadata": {**head, **metadata}, "data": {"index": text}}


class Scene:
    """Objects of a server, and the reported changes."""

    def __init__(self) -> None:
        self.changed: list[tuple[ConfigKind, str, str]] = []
        self.ready = asyncio.Event()

    def note(self, kind: ConfigKind, found: ConfigObject) -> None:
        self.changed.append((kind, found.metadata.name, found.digest))


@contextlib.asynccontextmanager
async def watching(
    server: FaultyServer, kinds: frozenset[ConfigKind] = ONE
) -> AsyncIterator[tuple[ConfigObjects, Scene]]:
    scene = Scene()
    async with server.running(), connected(server) as client:
        objects = ConfigObjects(
            client,
            kinds,
            namespace=None,
            changed=scene.note,
            ready=scene.ready.set,
            follow=lambda name, store: lambda: None,
            random=Random(1),
        )
        task = asyncio.create_task(objects.run())
        try:
            yield objects, scene
        finally:
            assert not task.done()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def serving(*items: dict[str, Any], watch: Responder | None = None) -> FaultyServer:
    return FaultyServer(lists=[listing("10", *items)], watches=[watch or silent()])


@virtual_time
async def test_nothing_is_requested_before_somebody_asks() -> None:
    server = serving(stored("5", "one"))
    async with watching(server) as (objects, scene):
        await settled(3600)
        assert server.requests == []
        assert isinstance(objects.availability, Loading)
        objects.keep_watched(WEB)
        await scene.ready.wait()
        assert isinstance(objects.availability, Synced)
        assert [request.path for request in server.listed] == ["/api/v1/configmaps"]


@virtual_time
async def test_both_kinds_are_watched_where_both_are_tracked() -> None:
    server = serving(stored("5", "one"))
    async with watching(server, BOTH) as (objects, scene):
        objects.keep_watched(WEB)
        await scene.ready.wait()
        paths = {request.path for request in server.listed}
        assert paths == {"/api/v1/configmaps", "/api/v1/secrets"}


@virtual_time
async def test_digests_are_kept_and_no_content() -> None:
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"data": "hush"})}
    server = serving(stored("5", "hush", annotations=applied))
    async with watching(server) as (objects, scene):
        objects.keep_watched(WEB)
        await scene.ready.wait()
        found = objects.find(ConfigKind.CONFIG_MAP, WEB)
        assert found is not None
        assert found.digest == content_digest({"index": "hush"}, None)
        assert "hush" not in str(found)


@virtual_time
async def test_only_changes_of_content_are_reported() -> None:
    changes = (
        event("MODIFIED", stored("11", "one", labels={"touched": "1"})),
        event("MODIFIED", stored("12", "two")),
        event("MODIFIED", stored("13", "two", annotations={TRACK_CONFIG: "false"})),
        event("DELETED", stored("14", "two")),
    )
    server = serving(stored("5", "one"), watch=silent(*changes))
    async with watching(server) as (objects, scene):
        objects.keep_watched(WEB)
        await scene.ready.wait()
        await settled()
        one, two = (content_digest({"index": text}, None) for text in ("one", "two"))
        found = [digest for _, _, digest in scene.changed]
        assert found == [one, one, two, two, two, two]
        assert objects.find(ConfigKind.CONFIG_MAP, WEB) is None


@virtual_time
async def test_copies_are_found_by_their_rollout() -> None:
    ours = stored("6", "one", "web-config-x", labels={ROLLOUT_UID: "r1"})
    server = serving(stored("5", "one"), ours)
    async with watching(server) as (objects, scene):
        objects.keep_watched(WEB)
        await scene.ready.wait()
        found = [(kind, copy.metadata.name) for kind, copy in objects.made_for("r1")]
        assert found == [(ConfigKind.CONFIG_MAP, "web-config-x")]
        assert not [*objects.made_for("r2")]


@virtual_time
async def test_a_missing_right_is_reported_and_is_over_once_it_is_given() -> None:
    refusing = answering(403, status(403, "Forbidden", "configmaps is forbidden"))
    allowing = listing("10", stored("5", "one"))
    server = FaultyServer(lists=[refusing, allowing], watches=[silent()])
    async with watching(server) as (objects, _):
        objects.keep_watched(WEB)
        await asyncio.wait_for(forbidden_words(objects), 60)
        await settled(PROBE)
        assert isinstance(objects.availability, Synced)


async def forbidden_words(objects: ConfigObjects) -> None:
    while not isinstance(stands := objects.availability, Forbidden):  # noqa: ASYNC110 - virtual time
        await asyncio.sleep(0.001)
    assert "configmaps is forbidden" in stands.message


@virtual_time
async def test_the_watch_ends_with_the_last_rollout_that_asks_and_begins_again() -> None:
    server = serving(stored("5", "one"))
    async with watching(server) as (objects, scene):
        for holder in (WEB, Key("shop", "api")):
            objects.keep_watched(holder)
        await scene.ready.wait()
        objects.release(WEB)
        await settled()
        assert isinstance(objects.availability, Synced)
        objects.release(Key("shop", "api"))
        await settled(3600)
        assert len(server.requests) == 2
        assert isinstance(objects.availability, Loading)
        scene.ready.clear()
        objects.keep_watched(WEB)
        await scene.ready.wait()
        assert objects.find(ConfigKind.CONFIG_MAP, WEB) is not None
