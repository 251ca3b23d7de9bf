"""Copies of ConfigMaps and Secrets, and restoring from them: only the chosen content, and always all of it."""

import base64

import pytest

from controller.api.config import ConfigKind, content_digest
from controller.api.meta import Key, ObjectMeta, OwnerReference
from controller.api.names import FIELD_MANAGER, KEPT_CONFIG_OF, ROLLOUT_UID
from controller.api.rollout import Rollout
from controller.api.workload_kinds import KindName
from controller.domain import reasons
from controller.domain.decision import (
    Action,
    DeleteObject,
    Done,
    KeepConfig,
    Outcome,
    Refusal,
    RestoreConfig,
)
from controller.effects.apply import Pass
from controller.effects.writes import Writes
from controller.errors import Conflict
from controller.kube.resources import CONFIG_MAPS, SECRETS, Resource
from tests.component.effects.api_double import ApiDouble, LedgerDouble, Object

ROLLOUT = Rollout(metadata=ObjectMeta(name="web", namespace="shop", uid="r1"))
OWNER = OwnerReference("rollouts.kruise.io/v1beta1", "Rollout", "web", "r1")
COPY = "web-config-x"
SOURCE = Key("shop", "web")
ONE, TWO = {"index": "b25l"}, {"index": "dHdv", "more": "dHdv"}
KINDS = pytest.mark.parametrize(
    ("kind", "resource"), [(ConfigKind.CONFIG_MAP, CONFIG_MAPS), (ConfigKind.SECRET, SECRETS)]
)


async def apply(api: ApiDouble, action: Action) -> Outcome:
    """One action of a pass; routes, histories and kinds are not asked."""
    unused: dict[str, object] = {}
    writes = Writes(api, LedgerDouble())
    return await Pass(ROLLOUT, writes, *[unused] * 6).apply(action)  # type: ignore[arg-type] # not asked


def body(name: str, data: dict[str, str], **fields: object) -> Object:
    return {"metadata": {"name": name}, "data": data, **fields}


def copied(resource: Resource, data: dict[str, str], uid: str = "r1") -> Object:
    labels = {ROLLOUT_UID: uid}
    return {"kind": resource.kind, "metadata": {"name": COPY, "labels": labels}, "data": data}


def keep(kind: ConfigKind, data: dict[str, str]) -> KeepConfig:
    return KeepConfig(kind, SOURCE, content_digest(data, None), COPY, OWNER)


def restore(kind: ConfigKind, live: Object, data: dict[str, str]) -> RestoreConfig:
    version = live["metadata"]["resourceVersion"]
    return RestoreConfig(kind, SOURCE, version, content_digest(data, None), COPY)


@KINDS
async def test_a_copy_is_of_the_same_kind_and_belongs_to_the_rollout(
    kind: ConfigKind, resource: Resource
) -> None:
    api = ApiDouble()
    api.put(resource, body("web", ONE, type="kubernetes.io/tls", immutable=True))
    assert await apply(api, keep(kind, ONE)) == Done(wrote=True)
    made = api.one(resource, COPY)
    assert (made["kind"], made["data"]) == (kind.value, ONE)
    assert made["metadata"]["labels"] == {ROLLOUT_UID: "r1"}
    assert made["metadata"]["annotations"] == {KEPT_CONFIG_OF: f"{kind.value}/web"}
    assert made["metadata"]["ownerReferences"][0]["uid"] == "r1"
    # No controller of the cluster acts on a copy, and it can be written again.
    assert made.get("type") in (None, "moonshift.dev/kept-config")
    assert "immutable" not in made


@KINDS
async def test_a_copy_is_written_again_for_the_next_stable_content(
    kind: ConfigKind, resource: Resource
) -> None:
    api = ApiDouble()
    api.put(resource, copied(resource, TWO))
    api.put(resource, body("web", ONE))
    assert await apply(api, keep(kind, ONE)) == Done(wrote=True)
    assert api.one(resource, COPY)["data"] == ONE


async def test_binary_content_is_kept_and_restored() -> None:
    api = ApiDouble()
    binary = {"logo": base64.b64encode(b"\xff").decode()}
    digest = content_digest(ONE, binary)
    api.put(CONFIG_MAPS, body("web", ONE, binaryData=binary))
    await apply(api, KeepConfig(ConfigKind.CONFIG_MAP, SOURCE, digest, COPY, OWNER))
    live = api.put(CONFIG_MAPS, body("web", TWO))
    version = live["metadata"]["resourceVersion"]
    await apply(api, RestoreConfig(ConfigKind.CONFIG_MAP, SOURCE, version, digest, COPY))
    assert api.one(CONFIG_MAPS, "web")["binaryData"] == binary


async def test_content_that_is_another_by_now_is_not_kept() -> None:
    api = ApiDouble()
    api.put(CONFIG_MAPS, body("web", TWO))
    assert await apply(api, keep(ConfigKind.CONFIG_MAP, ONE)) == Done()
    api.storage.remove(("", "configmaps"), SOURCE)
    assert await apply(api, keep(ConfigKind.CONFIG_MAP, ONE)) == Done()
    assert api.writes == []


async def test_an_object_that_only_has_a_copys_name_is_kept_and_named() -> None:
    api = ApiDouble()
    api.put(SECRETS, copied(SECRETS, TWO, uid="other"))
    api.put(SECRETS, body("web", ONE))
    refusal = await apply(api, keep(ConfigKind.SECRET, ONE))
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.object) == (reasons.CONFIG_NOT_OURS, f"shop/{COPY}")
    assert api.one(SECRETS, COPY)["data"] == TWO


@KINDS
async def test_the_content_is_restored_whole_and_our_field_manager_leaves(
    kind: ConfigKind, resource: Resource
) -> None:
    api = ApiDouble()
    api.put(resource, copied(resource, ONE))
    managed = [{"manager": "owner"}, {"manager": FIELD_MANAGER}]
    two = body("web", TWO, binaryData={"more": "dHdv"})
    live = api.put(resource, {**two, "metadata": {"name": "web", "managedFields": managed}})
    assert await apply(api, restore(kind, live, ONE)) == Done(wrote=True)
    restored = api.one(resource, "web")
    assert restored["data"] == ONE
    assert "binaryData" not in restored
    assert restored["metadata"]["managedFields"] == [{"manager": "owner"}]


async def test_a_change_in_between_is_never_overwritten() -> None:
    api = ApiDouble()
    api.put(CONFIG_MAPS, copied(CONFIG_MAPS, ONE))
    action = restore(ConfigKind.CONFIG_MAP, api.put(CONFIG_MAPS, body("web", TWO)), ONE)
    api.put(CONFIG_MAPS, body("web", {"index": "three"}))
    with pytest.raises(Conflict):
        await apply(api, action)
    assert api.one(CONFIG_MAPS, "web")["data"] == {"index": "three"}


async def test_a_copy_of_another_content_is_not_restored() -> None:
    api = ApiDouble()
    live = api.put(CONFIG_MAPS, body("web", TWO))
    assert await apply(api, restore(ConfigKind.CONFIG_MAP, live, ONE)) == Done()
    api.put(CONFIG_MAPS, copied(CONFIG_MAPS, {"index": "other"}))
    assert await apply(api, restore(ConfigKind.CONFIG_MAP, live, ONE)) == Done()
    assert api.writes == []


@pytest.mark.parametrize("verb", ["get", "create", "patch"])
async def test_a_missing_right_is_reported_without_the_content(verb: str) -> None:
    api = ApiDouble()
    api.forbidden.add((verb, "secrets"))
    live = api.put(SECRETS, body("web", TWO))
    if verb == "patch":
        api.put(SECRETS, copied(SECRETS, ONE))
        refusal = await apply(api, restore(ConfigKind.SECRET, live, ONE))
    else:
        refusal = await apply(api, keep(ConfigKind.SECRET, TWO))
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "Forbidden"
    assert refusal.retry_after is not None
    assert not {*ONE.values(), *TWO.values()} & set(str(refusal).split("'"))


async def test_a_useless_copy_goes_and_one_that_is_gone_is_as_good() -> None:
    api = ApiDouble()
    stored = api.put(SECRETS, copied(SECRETS, ONE))
    secret, uid = KindName("v1", "Secret"), stored["metadata"]["uid"]
    drop = DeleteObject(secret, Key("shop", COPY), uid, alone=True)
    assert await apply(api, drop) == Done(wrote=True)
    assert await apply(api, drop) == Done(wrote=True)
    assert api.writes == [f"delete {COPY}"]
