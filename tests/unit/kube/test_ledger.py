"""Whether the cache shows our own writes; in virtual time."""

import asyncio

import msgspec
import pytest

from controller.api.meta import Key, ObjectMeta
from controller.kube.ledger import (
    REMEMBERED,
    UNSEEN_WRITE_SECONDS,
    LateEvents,
    WriteLedger,
)
from controller.kube.store import Store
from tests.component.runtime.virtual_time import virtual_time

WEB = Key("shop", "web")
ROLLOUT = Key("shop", "rollout")
OTHER = Key("shop", "other")


class View(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


def view(version: str, name: str = "web", uid: str = "u") -> View:
    return View(ObjectMeta(name=name, namespace="shop", uid=uid, resource_version=version))


class Scene:
    def __init__(self) -> None:
        self.requeued: list[Key] = []
        self.ledger = WriteLedger(self.requeued.append)
        self.store: Store[View] = Store()
        self.ledger.follow("deployments.apps", self.store)
        self.mine = self.ledger.scoped(ROLLOUT)

    def wrote(self, version: str, key: Key = WEB) -> None:
        self.mine.wrote("deployments.apps", key, version)


@virtual_time
async def test_a_write_is_pending_until_its_version_arrives() -> None:
    scene = Scene()
    scene.wrote("7")
    assert scene.mine.pending() == UNSEEN_WRITE_SECONDS
    scene.store.put(view("7"))
    assert scene.mine.pending() == 0
    assert scene.requeued == [ROLLOUT]


@virtual_time
async def test_another_version_proves_nothing() -> None:
    scene = Scene()
    scene.wrote("7")
    scene.store.put(view("6"))
    assert scene.mine.pending() > 0


@virtual_time
async def test_a_version_that_came_and_was_overtaken_before_the_answer_counts_as_seen() -> None:
    scene = Scene()
    scene.store.put(view("7"))
    scene.store.put(view("8"))
    scene.wrote("7")
    assert scene.mine.pending() == 0


@virtual_time
async def test_a_write_that_changed_nothing_is_not_waited_for_however_old_its_version() -> None:
    scene = Scene()
    scene.store.put(view("7"))
    for number in range(REMEMBERED + 10):
        scene.store.put(view(str(1000 + number), name="noise"))
    scene.wrote("7")
    assert scene.mine.pending() == 0


@virtual_time
async def test_a_deletion_ends_the_wait() -> None:
    scene = Scene()
    scene.store.put(view("6"))
    scene.wrote("7")
    scene.store.remove(WEB)
    assert scene.mine.pending() == 0


@virtual_time
async def test_patience_ends_the_wait() -> None:
    scene = Scene()
    scene.wrote("7")
    await asyncio.sleep(UNSEEN_WRITE_SECONDS - 0.1)
    assert scene.mine.pending() == pytest.approx(0.1)
    await asyncio.sleep(0.2)
    assert scene.mine.pending() == 0


@virtual_time
async def test_only_the_last_of_several_writes_to_an_object_counts() -> None:
    scene = Scene()
    scene.wrote("7")
    scene.wrote("8")
    scene.store.put(view("7"))
    assert scene.mine.pending() > 0
    scene.store.put(view("8"))
    assert scene.mine.pending() == 0


@virtual_time
async def test_all_objects_written_must_be_seen() -> None:
    scene = Scene()
    scene.wrote("7")
    scene.wrote("9", Key("shop", "canary"))
    scene.store.put(view("7"))
    assert scene.mine.pending() > 0
    assert scene.requeued == []
    scene.store.put(view("9", name="canary"))
    assert scene.requeued == [ROLLOUT]


@virtual_time
async def test_a_key_that_did_not_wait_is_not_requeued() -> None:
    scene = Scene()
    scene.wrote("7")
    scene.store.put(view("7"))
    assert scene.requeued == []


@virtual_time
async def test_kinds_that_are_not_cached_are_never_waited_for() -> None:
    scene = Scene()
    scene.mine.wrote("widgets.example.com", WEB, "7")
    assert scene.mine.pending() == 0


@virtual_time
async def test_scopes_wait_for_their_own_writes_only() -> None:
    scene = Scene()
    scene.wrote("7")
    assert scene.ledger.pending(OTHER) == 0
    scene.ledger.wrote("deployments.apps", WEB, "8", scope=OTHER)
    scene.store.put(view("7"))
    assert scene.mine.pending() == 0
    assert scene.ledger.pending(OTHER) > 0


@virtual_time
async def test_a_deletion_of_ours_is_pending_until_it_is_seen() -> None:
    scene = Scene()
    scene.store.put(view("6"))
    scene.mine.deleted("deployments.apps", WEB, "u")
    scene.store.put(view("7"))
    assert scene.mine.pending() > 0
    scene.store.remove(WEB)
    assert scene.mine.pending() == 0


@virtual_time
async def test_a_deletion_seen_before_its_answer_is_not_waited_for() -> None:
    scene = Scene()
    scene.store.put(view("6"))
    scene.store.remove(WEB)
    scene.mine.deleted("deployments.apps", WEB, "u")
    assert scene.mine.pending() == 0


@virtual_time
async def test_a_scope_that_is_gone_leaves_nothing_behind() -> None:
    scene = Scene()
    scene.wrote("7")
    assert scene.mine.pending() > 0
    scene.ledger.forget(ROLLOUT)
    assert scene.mine.pending() == 0
    assert scene.ledger._scopes == {}
    scene.store.put(view("7"))
    assert scene.requeued == []


@virtual_time
async def test_two_ledgers_of_a_process_remember_each_event_once() -> None:
    seen, store = LateEvents(), Store[View]()
    ledgers = [WriteLedger(seen=seen) for _ in range(2)]
    for ledger in ledgers:
        ledger.follow("deployments.apps", store)
    store.put(view("7"))
    store.put(view("8"))
    for ledger in ledgers:
        ledger.wrote("deployments.apps", WEB, "7", scope=ROLLOUT)
        assert ledger.pending(ROLLOUT) == 0
    assert len(seen) == 2


def test_the_events_that_came_last_are_remembered() -> None:
    seen = LateEvents()
    for number in range(REMEMBERED + 10):
        for _ in range(2):
            seen.add(f"deployments.apps shop/web +{number}")
    assert len(seen) == len(seen._order) == REMEMBERED
    assert "deployments.apps shop/web +9" not in seen
    assert "deployments.apps shop/web +10" in seen
