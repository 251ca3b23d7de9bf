"""The change that follows a deletion in the watch: the object's end, the mark on it, or no change that is certain."""

import msgspec
import pytest

from controller.api.meta import Key
from controller.effects.writes import Writes
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
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def wrote(self, resource_name: str, key: Key, resource_version: str) -> None:
        self.told.append(("wrote", resource_version))

    def deleted(self, resource_name: str, key: Key, uid: str) -> None:
        self.told.append(("deleted", uid))


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
async def test_a_deletion_waits_for_what_the_watch_will_show(
    answer: Object, awaited: list[tuple[str, str]]
) -> None:
    ledger = Remembering()
    await Writes(Answering(answer), ledger).delete(DEPLOYMENTS, EXTRA, "u1", "Foreground")
    assert ledger.told == awaited
