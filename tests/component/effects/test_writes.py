"""The change that follows a deletion in the watch: the object's end, the mark on it, or no change that is certain."""

import msgspec
import pytest

from controller.api.meta import Key
from controller.effects.writes import Writes
from controller.errors import Conflict
from controller.kube.client import Propagation
from controller.kube.resources import DEPLOYMENTS, Resource
from tests.component.effects.api_double import ApiDouble, LedgerDouble, Object

EXTRA = Key("shop", "web-extra")
MARKED: Object = {"resourceVersion": "8", "deletionTimestamp": "2026-11-21T10:00:00Z"}


class Answering(ApiDouble):
    """Answers every deletion alike."""

    def __init__(self, answer: Object) -> None:
        super().__init__()
        self.answer = answer

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation = "Background",
        dry_run: bool = False,
    ) -> bytes:
        return msgspec.json.encode(self.answer)


class Remembering(LedgerDouble):
    """Stores its arguments."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, str]] = []

    def wrote(self, resource_name: str, key: Key, resource_version: str) -> None:
        self.noted.append(("wrote", resource_version))

    def deleted(self, resource_name: str, key: Key, uid: str) -> None:
        self.noted.append(("deleted", uid))


@pytest.mark.parametrize(
    ("answer", "awaited"),
    [
        pytest.param({"kind": "Status"}, [("deleted", "u1")], id="gone: its end"),
        pytest.param(
            {
                "kind": "Deployment",
                "metadata": {**MARKED, "finalizers": ["foregroundDeletion"]},
            },
            [("wrote", "8")],
            id="held by a finalizer: the mark",
        ),
        pytest.param(
            {"kind": "Deployment", "metadata": MARKED},
            [],
            id="marked, and gone any moment: nothing",
        ),
    ],
)
async def test_a_deletion_waits_until_the_watch_shows_the_change(
    answer: Object, awaited: list[tuple[str, str]]
) -> None:
    ledger = Remembering()
    await Writes(Answering(answer), ledger).delete(DEPLOYMENTS, EXTRA, "u1", "Foreground")
    assert ledger.noted == awaited


async def test_every_write_is_waited_for_in_the_version_that_it_made() -> None:
    api, ledger = ApiDouble(), Remembering()
    writes = Writes(api, ledger)
    versions = []
    await writes.create(DEPLOYMENTS, EXTRA, b'{"metadata": {"name": "web-extra"}, "spec": {}}')
    versions.append(api.one(DEPLOYMENTS, "web-extra")["metadata"]["resourceVersion"])
    versions.append(await writes.merge(DEPLOYMENTS, EXTRA, {"spec": {"paused": True}}))
    paused = [{"op": "remove", "path": "/spec/paused"}]
    versions.append(await writes.patch(DEPLOYMENTS, EXTRA, paused))
    assert ledger.noted == [("wrote", version) for version in versions]
    assert len({*versions}) == 3


async def test_a_deletion_takes_the_object_that_was_seen_and_no_namesake() -> None:
    api = ApiDouble()
    api.put(DEPLOYMENTS, {"metadata": {"name": "web-extra", "uid": "made-again"}})
    with pytest.raises(Conflict):
        await Writes(api, LedgerDouble()).delete(DEPLOYMENTS, EXTRA, "seen")
    assert api.one(DEPLOYMENTS, "web-extra")["metadata"]["uid"] == "made-again"
