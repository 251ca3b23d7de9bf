"""ControllerRevisions of ours: only what the Rollout owns, with the expected template, is read from them."""

from typing import Any

import msgspec
import pytest

from controller.api.meta import Key, ObjectMeta, OwnerReference
from controller.api.names import KEPT_FOR, POD_TEMPLATE_HASH, V1BETA1
from controller.api.podsets import KeptFacts
from controller.api.rollout import Rollout
from controller.api.workloads import template_hash
from controller.domain.decision import (
    CONTROLLER_REVISION,
    DeleteObject,
    Done,
    KeepRelease,
    RebuildReplicaSet,
    Refusal,
)
from controller.effects.kept_revisions import keep, read
from controller.effects.objects import delete
from controller.effects.rebuilding import rebuild
from controller.effects.writes import Writes
from controller.kube.resources import CONTROLLER_REVISIONS, REPLICA_SETS
from tests.component.effects.api_double import ApiDouble, LedgerDouble

OWNER = OwnerReference(V1BETA1, "Rollout", "web", "rollout-uid", controller=True)
NAME = "web-kept-x"
KEPT = Key("shop", NAME)
STABLE: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "img:v0"}]},
}
FACTS = KeptFacts("workload-uid", "old", template_hash(msgspec.json.encode(STABLE)), "{}")


def owner() -> Rollout:
    """The Rollout that owns what is kept."""
    return Rollout(metadata=ObjectMeta(name="web", namespace="shop", uid="rollout-uid"))


def keeping(source: Key | None = None) -> KeepRelease:
    template = {**STABLE, "metadata": {"labels": {"app": "web", POD_TEMPLATE_HASH: "old"}}}
    raw = msgspec.Raw(b"" if source is not None else msgspec.json.encode(template))
    revision = KEPT if source is None else Key("shop", "web-kept-y")
    return KeepRelease(revision, OWNER, 1, FACTS, raw, source)


async def test_what_is_kept_can_be_read_and_dropped() -> None:
    api = ApiDouble()
    writes = Writes(api, LedgerDouble())
    assert await keep(writes, keeping()) == Done(wrote=True)
    assert await keep(writes, keeping()) == Done(wrote=False)
    found = await read(writes, KEPT, OWNER)
    assert found is not None
    assert template_hash(msgspec.json.encode(found)) == FACTS.stable_template
    uid = api.one(CONTROLLER_REVISIONS, NAME)["metadata"]["uid"]
    assert await delete(
        writes, CONTROLLER_REVISIONS, DeleteObject(CONTROLLER_REVISION, KEPT, uid)
    ) == Done(wrote=True)
    assert await read(writes, KEPT, OWNER) is None


@pytest.mark.parametrize("there", [True, False])
async def test_a_second_one_takes_its_template_from_the_first(there: bool) -> None:
    writes = Writes(ApiDouble(), LedgerDouble())
    if there:
        await keep(writes, keeping())
    await keep(writes, keeping(source=KEPT))
    assert (await read(writes, Key("shop", "web-kept-y"), OWNER) is not None) is there


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found["metadata"]["ownerReferences"][0].update(uid="another"),
        lambda found: found["metadata"]["ownerReferences"][0].update(controller=False),
        lambda found: found["metadata"]["labels"].update({KEPT_FOR: "another"}),
        lambda found: found["metadata"]["labels"].clear(),
        lambda found: found["data"]["spec"]["template"]["spec"].update(hostPID=True),
        lambda found: found["data"].update(kept="text"),
        lambda found: found["data"]["kept"].update(stableTemplate=""),
    ],
)
async def test_another_template_or_owner_is_not_read(change: Any) -> None:
    api = ApiDouble()
    writes = Writes(api, LedgerDouble())
    await keep(writes, keeping())
    change(api.one(CONTROLLER_REVISIONS, NAME))
    assert await read(writes, KEPT, OWNER) is None


REBUILT = RebuildReplicaSet(
    Key("shop", "web-old"),
    OwnerReference("apps/v1", "Deployment", "web", "workload-uid", controller=True),
    msgspec.Raw(b'{"matchLabels":{"app":"web"}}'),
    "old",
    3,
    5,
    KEPT,
)


async def test_a_replica_set_is_made_as_the_deployments_controller_makes_it() -> None:
    api = ApiDouble()
    writes = Writes(api, LedgerDouble())
    await keep(writes, keeping())
    assert await rebuild(writes, REBUILT, owner()) == Done(wrote=True)
    made = api.one(REPLICA_SETS, "web-old")
    labels = {"app": "web", POD_TEMPLATE_HASH: "old"}
    assert made["metadata"]["labels"] == labels
    assert made["metadata"]["ownerReferences"][0]["uid"] == "workload-uid"
    assert made["spec"]["selector"] == {"matchLabels": labels}
    assert made["spec"]["template"]["metadata"]["labels"] == labels
    assert (made["spec"]["replicas"], made["spec"]["minReadySeconds"]) == (0, 5)


async def test_a_replica_set_whose_template_is_gone_or_whose_name_is_taken_is_reported() -> None:
    api = ApiDouble()
    writes = Writes(api, LedgerDouble())
    gone = await rebuild(writes, REBUILT, owner())
    assert isinstance(gone, Refusal)
    assert gone.reason == "TemplateGone"
    await keep(writes, keeping())
    api.put(REPLICA_SETS, {"metadata": {"name": "web-old"}})
    taken = await rebuild(writes, REBUILT, owner())
    assert isinstance(taken, Refusal)
    assert "delete it" in taken.message
