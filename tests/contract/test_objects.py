"""Making, reading, changing and deleting objects: the same from a real API server and from the one in memory."""

from typing import Any

import pytest

from controller.errors import AlreadyExists, Conflict, Invalid, NotFound
from controller.kube.resources import CONFIG_MAPS, DEPLOYMENTS
from tests.contract.conftest import Ground
from tests.contract.port import body, config_map, deployment, read

FINALIZER = "contract.test/keep"


async def make(ground: Ground, name: str = "one", **metadata: Any) -> dict[str, Any]:
    given = config_map(name, {"a": "1"}, **metadata)
    return read(await ground.api.create(CONFIG_MAPS, ground.namespace, given))


async def present(ground: Ground, name: str = "one") -> dict[str, Any]:
    return read(await ground.api.get(CONFIG_MAPS, ground.namespace, name))


async def test_a_new_object_has_an_identity_of_its_own(ground: Ground) -> None:
    made = await make(ground)
    meta = made["metadata"]
    assert (meta["name"], meta["namespace"]) == ("one", ground.namespace)
    assert meta.keys() >= {"uid", "resourceVersion", "creationTimestamp"}
    assert await present(ground) == made


async def test_a_name_is_taken_once(ground: Ground) -> None:
    await make(ground)
    with pytest.raises(AlreadyExists):
        await make(ground)


async def test_an_object_without_a_name_is_refused(ground: Ground) -> None:
    with pytest.raises(Invalid):
        await make(ground, "")


async def test_an_object_that_is_not_there_is_not_found(ground: Ground) -> None:
    with pytest.raises(NotFound):
        await present(ground, "nobody")
    with pytest.raises(NotFound):
        await ground.api.merge_patch(CONFIG_MAPS, ground.namespace, "nobody", {"data": {}})
    with pytest.raises(NotFound):
        await ground.api.delete(CONFIG_MAPS, ground.namespace, "nobody")


async def test_a_dry_run_stores_nothing(ground: Ground) -> None:
    await ground.api.create(CONFIG_MAPS, ground.namespace, config_map("one"), dry_run=True)
    with pytest.raises(NotFound):
        await present(ground)
    made = await make(ground)
    answer = await ground.api.merge_patch(
        CONFIG_MAPS, ground.namespace, "one", {"data": {"a": "2"}}, dry_run=True
    )
    assert read(answer)["data"] == {"a": "2"}
    assert await present(ground) == made


async def test_a_merge_patch_changes_fields_and_null_takes_them_out(ground: Ground) -> None:
    await make(ground, labels={"x": "1", "y": "2"})
    patch = {"metadata": {"labels": {"x": None, "z": "3"}}, "data": {"b": "2"}}
    await ground.api.merge_patch(CONFIG_MAPS, ground.namespace, "one", patch)
    found = await present(ground)
    assert found["metadata"]["labels"] == {"y": "2", "z": "3"}
    assert found["data"] == {"a": "1", "b": "2"}


async def test_a_patch_that_changes_nothing_keeps_the_resource_version(ground: Ground) -> None:
    made = await make(ground)
    patch = {"data": {"a": "1"}}
    answer = read(await ground.api.merge_patch(CONFIG_MAPS, ground.namespace, "one", patch))
    assert answer["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_a_patch_for_another_resource_version_is_a_conflict(ground: Ground) -> None:
    made = await make(ground)
    await ground.api.merge_patch(CONFIG_MAPS, ground.namespace, "one", {"data": {"a": "2"}})
    stale = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {}}
    with pytest.raises(Conflict):
        await ground.api.merge_patch(
            CONFIG_MAPS, ground.namespace, "one", {**stale, "data": {"a": "3"}}
        )
    assert (await present(ground))["data"] == {"a": "2"}


async def test_a_json_patch_is_applied_whole_or_not_at_all(ground: Ground) -> None:
    made = await make(ground)
    operations = [
        {"op": "add", "path": "/data/b", "value": "2"},
        {"op": "test", "path": "/data/a", "value": "other"},
    ]
    with pytest.raises(Conflict):
        await ground.api.json_patch(CONFIG_MAPS, ground.namespace, "one", operations)
    assert await present(ground) == made


async def test_a_json_patch_whose_tests_hold_is_applied(ground: Ground) -> None:
    await make(ground, annotations={"a/b": "1"})
    operations = [
        {"op": "test", "path": "/metadata/annotations/a~1b", "value": "1"},
        {"op": "remove", "path": "/metadata/annotations/a~1b"},
        {"op": "replace", "path": "/data/a", "value": "2"},
    ]
    await ground.api.json_patch(CONFIG_MAPS, ground.namespace, "one", operations)
    found = await present(ground)
    assert found["data"] == {"a": "2"}
    assert not found["metadata"].get("annotations")


async def test_a_json_patch_that_removes_a_missing_field_is_refused(ground: Ground) -> None:
    await make(ground)
    with pytest.raises(Invalid):
        await ground.api.json_patch(
            CONFIG_MAPS, ground.namespace, "one", [{"op": "remove", "path": "/data/nothing"}]
        )


async def test_a_replacement_for_another_resource_version_is_a_conflict(ground: Ground) -> None:
    made = await make(ground)
    changed = {**made, "data": {"a": "2"}}
    changed.pop("managedFields", None)
    await ground.api.replace(CONFIG_MAPS, ground.namespace, "one", body(**changed))
    with pytest.raises(Conflict):
        await ground.api.replace(CONFIG_MAPS, ground.namespace, "one", body(**changed, extra=1))


async def test_the_identity_of_an_object_cannot_be_changed(ground: Ground) -> None:
    made = await make(ground)
    patch = {"metadata": {"creationTimestamp": None, "labels": {"x": "1"}}}
    await ground.api.merge_patch(CONFIG_MAPS, ground.namespace, "one", patch)
    meta = (await present(ground))["metadata"]
    assert meta["uid"] == made["metadata"]["uid"]
    assert meta["creationTimestamp"] == made["metadata"]["creationTimestamp"]


async def test_the_generation_grows_with_the_spec_alone(ground: Ground) -> None:
    made = read(await ground.api.create(DEPLOYMENTS, ground.namespace, deployment("web")))
    assert made["metadata"]["generation"] == 1
    labelled = {"metadata": {"labels": {"x": "1"}}}
    answer = await ground.api.merge_patch(DEPLOYMENTS, ground.namespace, "web", labelled)
    assert read(answer)["metadata"]["generation"] == 1
    changed = {"spec": {"minReadySeconds": 5}}
    answer = await ground.api.merge_patch(DEPLOYMENTS, ground.namespace, "web", changed)
    assert read(answer)["metadata"]["generation"] == 2


async def test_status_and_spec_are_written_apart(ground: Ground) -> None:
    await ground.api.create(DEPLOYMENTS, ground.namespace, deployment("web"))
    both = {"spec": {"minReadySeconds": 5}, "status": {"observedGeneration": 7}}
    answer = read(await ground.api.merge_patch(DEPLOYMENTS, ground.namespace, "web", both))
    assert answer["spec"]["minReadySeconds"] == 5
    assert answer.get("status", {}).get("observedGeneration") != 7
    both = {"spec": {"minReadySeconds": 9}, "status": {"observedGeneration": 7}}
    answer = read(
        await ground.api.merge_patch(DEPLOYMENTS, ground.namespace, "web", both, "status")
    )
    assert answer["spec"]["minReadySeconds"] == 5
    assert answer["status"]["observedGeneration"] == 7


async def test_a_writer_is_among_the_field_managers_until_it_takes_itself_off(
    ground: Ground,
) -> None:
    made = await make(ground)
    managers = [entry["manager"] for entry in made["metadata"]["managedFields"]]
    assert managers == ["moonshift"]
    operations = [
        {"op": "test", "path": "/metadata/managedFields/0/manager", "value": "moonshift"},
        {"op": "remove", "path": "/metadata/managedFields/0"},
    ]
    answer = await ground.api.json_patch(CONFIG_MAPS, ground.namespace, "one", operations)
    left = read(answer)["metadata"].get("managedFields") or []
    assert [entry["manager"] for entry in left] == []


async def test_a_manager_that_removes_its_mark_and_itself_manages_nothing_more(
    ground: Ground,
) -> None:
    made = await make(ground)
    marked = {"metadata": {"annotations": {"example.com/mark": "1"}}}
    await ground.api.merge_patch(CONFIG_MAPS, ground.namespace, "one", marked)
    operations = [
        {"op": "remove", "path": "/metadata/annotations/example.com~1mark"},
        {"op": "remove", "path": "/metadata/managedFields/0"},
    ]
    answer = read(await ground.api.json_patch(CONFIG_MAPS, ground.namespace, "one", operations))
    assert not answer["metadata"].get("annotations")
    assert not answer["metadata"].get("managedFields")
    assert answer["data"] == made["data"]


# --- deletion -----------------------------------------------------------------------------------


async def test_an_object_with_a_finalizer_is_marked_and_goes_with_the_last_one(
    ground: Ground,
) -> None:
    await make(ground, finalizers=[FINALIZER])
    await ground.api.delete(CONFIG_MAPS, ground.namespace, "one")
    assert (await present(ground))["metadata"]["deletionTimestamp"]
    await ground.api.merge_patch(
        CONFIG_MAPS, ground.namespace, "one", {"metadata": {"finalizers": None}}
    )
    with pytest.raises(NotFound):
        await present(ground)


async def test_a_deletion_of_another_object_of_that_name_is_a_conflict(ground: Ground) -> None:
    made = await make(ground)
    with pytest.raises(Conflict):
        await ground.api.delete(CONFIG_MAPS, ground.namespace, "one", uid="another")
    with pytest.raises(Conflict):
        await ground.api.delete(CONFIG_MAPS, ground.namespace, "one", resource_version="1")
    await ground.api.delete(CONFIG_MAPS, ground.namespace, "one", uid=made["metadata"]["uid"])
    with pytest.raises(NotFound):
        await present(ground)


async def test_owned_objects_go_with_their_owner(ground: Ground) -> None:
    owner = await make(ground, "owner")
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    owned = await make(ground, "owned", ownerReferences=[reference])
    async with ground.api.watch(
        CONFIG_MAPS, ground.namespace, owned["metadata"]["resourceVersion"]
    ) as lines:
        await ground.api.delete(CONFIG_MAPS, ground.namespace, "owner")
        async for line in lines:
            event = read(line)
            if (event["type"], event["object"]["metadata"]["name"]) == ("DELETED", "owned"):
                break
    with pytest.raises(NotFound):
        await present(ground, "owned")
