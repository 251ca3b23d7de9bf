"""OpenKruise's real manager on a plane: the behaviour that tests of its workloads rely on."""

from collections.abc import Callable
from typing import Any

from localcluster.api import JsonObject
from localcluster.history import Change, Kind
from localcluster.plane import Plane

CLONE_SETS = Kind("apps.kruise.io", "v1alpha1", "clonesets")
STATEFUL_SETS = Kind("apps.kruise.io", "v1beta1", "statefulsets")
PODS = Kind("", "v1", "pods")


def workload(kind: Kind, replicas: int, image: str = "shop:1", **spec: Any) -> JsonObject:
    names = {CLONE_SETS: "CloneSet", STATEFUL_SETS: "StatefulSet"}
    template = {
        "metadata": {"labels": {"app": "shop"}},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }
    return {
        "apiVersion": f"{kind.group}/{kind.version}",
        "kind": names[kind],
        "metadata": {"name": "shop"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "shop"}},
            "template": template,
            **spec,
        },
    }


def image_of(pod: JsonObject) -> str:
    return str(pod["spec"]["containers"][0]["image"])


def settled(namespace: str, ready: int, updated: int) -> Callable[[Change], bool]:
    """Judge a workload's own status: all `ready`, of them `updated` of the new template."""

    def judge(change: Change) -> bool:
        if change.key.namespace != namespace or change.key.kind == PODS:
            return False
        status = change.object.get("status", {})
        seen = {
            name: status.get(name, 0) for name in ("replicas", "readyReplicas", "updatedReplicas")
        }
        current = status.get("observedGeneration") == change.object["metadata"]["generation"]
        return current and seen == {
            "replicas": ready,
            "readyReplicas": ready,
            "updatedReplicas": updated,
        }

    return judge


async def pods_by_image(plane: Plane, namespace: str) -> dict[str, set[str]]:
    found = (await plane.client().get(f"/api/v1/namespaces/{namespace}/pods"))["items"]
    images: dict[str, set[str]] = {}
    for pod in found:
        if "deletionTimestamp" not in pod["metadata"]:
            images.setdefault(image_of(pod), set()).add(pod["metadata"]["name"])
    return images


async def test_a_partition_update_of_a_clone_set_moves_exactly_the_pods_asked_for(
    kruise_plane: Plane, namespace_of_kruise: str
) -> None:
    path = f"/apis/apps.kruise.io/v1alpha1/namespaces/{namespace_of_kruise}/clonesets"
    client = kruise_plane.client("developer")
    async with kruise_plane.recorder(CLONE_SETS) as recorder:
        await client.create(path, workload(CLONE_SETS, 4))
        await recorder.until(settled(namespace_of_kruise, 4, 4), 30)
        before = await pods_by_image(kruise_plane, namespace_of_kruise)
        assert {image: len(names) for image, names in before.items()} == {"shop:1": 4}
        spec = workload(CLONE_SETS, 4, "shop:2", updateStrategy={"partition": 3})["spec"]
        await client.patch(f"{path}/shop", {"spec": spec})
        await recorder.until(settled(namespace_of_kruise, 4, 1), 30)
        after = await pods_by_image(kruise_plane, namespace_of_kruise)
        assert {image: len(names) for image, names in after.items()} == {"shop:1": 3, "shop:2": 1}
        assert after["shop:1"] < before["shop:1"]
        await client.patch(f"{path}/shop", {"spec": {"updateStrategy": {"partition": "50%"}}})
        await recorder.until(settled(namespace_of_kruise, 4, 2), 30)


async def test_a_partition_update_of_an_advanced_stateful_set_moves_the_highest_ordinals(
    kruise_plane: Plane, namespace_of_kruise: str
) -> None:
    path = f"/apis/apps.kruise.io/v1beta1/namespaces/{namespace_of_kruise}/statefulsets"
    client = kruise_plane.client("developer")
    async with kruise_plane.recorder(STATEFUL_SETS) as recorder:
        await client.create(path, workload(STATEFUL_SETS, 3, serviceName="shop"))
        await recorder.until(settled(namespace_of_kruise, 3, 3), 30)
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
        spec = workload(STATEFUL_SETS, 3, "shop:2", updateStrategy=strategy)["spec"]
        await client.patch(f"{path}/shop", {"spec": spec})
        await recorder.until(settled(namespace_of_kruise, 3, 1), 30)
        assert await pods_by_image(kruise_plane, namespace_of_kruise) == {
            "shop:1": {"shop-0", "shop-1"},
            "shop:2": {"shop-2"},
        }


async def test_the_older_version_of_a_stateful_set_is_converted_by_openkruises_own_webhook(
    kruise_plane: Plane, namespace_of_kruise: str
) -> None:
    base = f"/apis/apps.kruise.io/{{}}/namespaces/{namespace_of_kruise}/statefulsets"
    client = kruise_plane.client("developer")
    made = workload(STATEFUL_SETS, 1, serviceName="shop")
    await client.create(base.format("v1alpha1"), {**made, "apiVersion": "apps.kruise.io/v1alpha1"})
    read = await client.get(f"{base.format('v1beta1')}/shop")
    assert read["spec"]["replicas"] == 1
    # The mutating webhook writes the default, so it answers, too.
    assert read["spec"]["updateStrategy"]["rollingUpdate"]["podUpdatePolicy"] == "ReCreate"
