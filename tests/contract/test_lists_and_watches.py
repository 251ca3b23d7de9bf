"""Lists and watches: the same from a real API server and from the one in memory."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from controller.api.config import ConfigObject
from controller.errors import Gone, Invalid, NotFound
from controller.kube.reflector import Reflector
from controller.kube.resources import CONFIG_MAPS, DEPLOYMENTS
from controller.kube.store import Store
from controller.simulation.api_server.server import MemoryApi
from controller.simulation.api_server.storage import Storage
from tests.contract.conftest import Ground
from tests.contract.port import config_map, read

MINE = "contract.test/mine"


async def make(ground: Ground, name: str, **labels: str) -> str:
    given = config_map(name, labels={MINE: "yes", **labels})
    made = read(await ground.api.create(CONFIG_MAPS, ground.namespace, given))
    return str(made["metadata"]["resourceVersion"])


async def change(ground: Ground, name: str, **labels: str | None) -> None:
    patch = {"metadata": {"labels": labels}}
    await ground.api.merge_patch(CONFIG_MAPS, ground.namespace, name, patch)


async def listed(ground: Ground, labels: str = MINE, fields: str = "", limit: int = 500) -> Any:
    names: list[str] = []
    pages = 0
    async for page in ground.api.list_pages(CONFIG_MAPS, ground.namespace, labels, fields, limit):
        pages += 1
        names += [item["metadata"]["name"] for item in read(page)["items"] or ()]
    return names, pages


async def next_events(lines: AsyncIterator[bytes], number: int) -> list[tuple[str, str]]:
    """Return the next events of a watch that are no bookmarks."""
    found: list[tuple[str, str]] = []
    async for line in lines:
        event = read(line)
        if event["type"] != "BOOKMARK":
            found.append((event["type"], event["object"]["metadata"].get("name", "")))
        if len(found) == number:
            break
    return found


async def test_a_list_is_sorted_and_comes_in_pages(ground: Ground) -> None:
    for name in ("c", "a", "b"):
        await make(ground, name)
    assert await listed(ground, limit=2) == (["a", "b", "c"], 2)


async def test_an_item_of_a_list_has_no_kind_and_a_single_object_has_one(
    ground: Ground,
) -> None:
    await make(ground, "a")
    (page,) = [read(p) async for p in ground.api.list_pages(CONFIG_MAPS, ground.namespace, MINE)]
    (item,) = page["items"]
    assert not {"apiVersion", "kind"} & item.keys()
    assert read(await ground.api.get(CONFIG_MAPS, ground.namespace, "a"))["kind"] == "ConfigMap"
    version = page["metadata"]["resourceVersion"]
    await change(ground, "a", team="red")
    async with ground.api.watch(CONFIG_MAPS, ground.namespace, version, MINE) as lines:
        heard = read(await anext(lines))
    assert heard["object"]["kind"] == "ConfigMap"


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("team=red", ["a"]),
        ("team!=red," + MINE, ["b", "c"]),
        ("team in (red, blue)", ["a", "b"]),
        (f"team notin (red),{MINE}", ["b", "c"]),
        ("team", ["a", "b"]),
        (f"!team,{MINE}", ["c"]),
    ],
)
async def test_labels_select(ground: Ground, selector: str, names: list[str]) -> None:
    await make(ground, "a", team="red")
    await make(ground, "b", team="blue")
    await make(ground, "c")
    assert (await listed(ground, selector))[0] == names


async def test_fields_select(ground: Ground) -> None:
    await make(ground, "a")
    await make(ground, "b")
    assert (await listed(ground, fields="metadata.name=b"))[0] == ["b"]
    assert (await listed(ground, fields="metadata.name!=b"))[0] == ["a"]


async def test_a_selector_that_cannot_be_read_is_refused(ground: Ground) -> None:
    with pytest.raises(Invalid):
        await listed(ground, "a b c")


async def test_a_watch_delivers_the_changes_after_its_version_in_order(ground: Ground) -> None:
    start = await make(ground, "a")
    await make(ground, "b")
    async with ground.api.watch(CONFIG_MAPS, ground.namespace, start, MINE) as lines:
        assert await next_events(lines, 1) == [("ADDED", "b")]
        await change(ground, "a", x="1")
        await ground.api.delete(CONFIG_MAPS, ground.namespace, "b")
        assert await next_events(lines, 2) == [("MODIFIED", "a"), ("DELETED", "b")]


async def test_an_object_that_enters_a_selection_is_added_and_one_that_leaves_is_deleted(
    ground: Ground,
) -> None:
    start = await make(ground, "a")
    async with ground.api.watch(CONFIG_MAPS, ground.namespace, start, "team=red") as lines:
        await change(ground, "a", team="red")
        await change(ground, "a", team="red", x="1")
        await change(ground, "a", team="blue")
        assert await next_events(lines, 3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_a_watch_of_one_namespace_gets_no_event_of_others(ground: Ground) -> None:
    start = await make(ground, "a")
    async with ground.api.watch(CONFIG_MAPS, "default", start, MINE) as lines:
        await make(ground, "b")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(next_events(lines, 1), 0.5)


async def test_a_reflector_keeps_a_store_equal_to_the_server(ground: Ground) -> None:
    await make(ground, "a")
    store: Store[ConfigObject] = Store()
    seen = asyncio.Event()
    store.subscribe(lambda old, new: seen.set())
    reflector = Reflector(
        ground.api,
        CONFIG_MAPS,
        store,
        ConfigObject,
        namespace=ground.namespace,
        label_selector=MINE,
    )
    task = asyncio.create_task(reflector.run())
    try:
        await reflector.synced.wait()
        assert [found.metadata.name for found in store.values()] == ["a"]
        await make(ground, "b")
        await ground.api.delete(CONFIG_MAPS, ground.namespace, "a")
        while [found.metadata.name for found in store.values()] != ["b"]:
            seen.clear()
            await seen.wait()
    finally:
        task.cancel()


async def test_kinds_are_discovered_by_group_and_version(ground: Ground) -> None:
    kinds = await ground.api.discover("apps/v1")
    assert DEPLOYMENTS in kinds
    assert "apps/v1" in await ground.api.versions("apps")
    with pytest.raises(NotFound):
        await ground.api.discover("nobody.test/v1")
    assert await ground.api.versions("nobody.test") == ()


# --- behaviour that only the server in memory can show within a test --------------------------------


async def test_a_watch_from_a_forgotten_version_is_gone() -> None:
    api = MemoryApi(lambda: datetime.now(UTC))
    start = await make(Ground(api, "contract"), "a")
    api.forget_changes()
    async with api.watch(CONFIG_MAPS, "contract", start) as lines:
        event = read(await anext(lines))
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


async def test_a_history_of_few_changes_forgets_the_oldest() -> None:
    api = MemoryApi(lambda: datetime.now(UTC))
    api.storage = Storage(kept_changes=2)
    ground = Ground(api, "contract")
    versions = [await make(ground, name) for name in ("a", "b", "c")]
    assert [change.key.name for change in api.storage.since(int(versions[0]))] == ["b", "c"]
    with pytest.raises(Gone):
        list(api.storage.since(int(versions[0]) - 1))


async def test_a_watch_that_the_server_closes_ends_without_an_error() -> None:
    api = MemoryApi(lambda: datetime.now(UTC))
    async with api.watch(CONFIG_MAPS, None, "") as lines:
        api.close_watches()
        assert [line async for line in lines] == []
