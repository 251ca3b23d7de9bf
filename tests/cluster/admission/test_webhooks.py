"""Admission on a real API server and a real Deployment controller."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from controller.api.names import (
    ADMISSION_PAUSE,
    FIELD_MANAGER,
    FREEZE_MIN_READY_SECONDS,
    IN_PROGRESSING,
    ORIGINAL_STRATEGY,
    PIN,
    PINNED,
    STABLE_REVISION,
    WORKLOAD_TYPE,
)
from controller.domain.admission.service import pin_annotation
from localcluster.errors import RequestRefused
from localcluster.plane import Plane
from tests.cluster.admission.installed import write_status

Json = dict[str, Any]


def manifest(name: str, image: str, **spec: object) -> Json:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {WORKLOAD_TYPE: "deployment"}},
        "spec": {
            "replicas": 4,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
            **spec,
        },
    }


def rollout(name: str) -> Json:
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    plan = {
        "steps": [{"replicas": 1}],
        "trafficRoutings": [{"service": name, "gateway": {"httpRouteName": name}}],
    }
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": name},
        "spec": {"workloadRef": workload, "strategy": {"canary": plan}},
    }


class Shop:
    """A namespace with a Deployment under a Rollout."""

    def __init__(self, plane: Plane, namespace: str, name: str = "web") -> None:
        self.plane = plane
        self.client = plane.client()
        self.namespace = namespace
        self.name = name
        self.deployments = f"/apis/apps/v1/namespaces/{namespace}/deployments"
        self.rollouts = f"/apis/rollouts.kruise.io/v1beta1/namespaces/{namespace}/rollouts"

    async def open(self, **spec: object) -> None:
        await self.client.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        await self.client.create(self.deployments, manifest(self.name, "shop:1", **spec))
        await self.client.create(self.rollouts, rollout(self.name))
        await self.until(lambda seen: seen["status"].get("availableReplicas") == 4)

    async def get(self) -> Json:
        return await self.client.get(f"{self.deployments}/{self.name}")

    async def patch(self, body: Json) -> Json:
        return await self.client.patch(f"{self.deployments}/{self.name}", body)

    async def image(self, image: str) -> Json:
        containers = [{"name": "main", "image": image}]
        return await self.patch({"spec": {"template": {"spec": {"containers": containers}}}})

    async def until(self, holds: Callable[[Json], bool]) -> Json:
        async with asyncio.timeout(60):
            while True:
                seen = await self.get()
                observed = seen["status"].get("observedGeneration", 0)
                if observed >= seen["metadata"]["generation"] and holds(seen):
                    return seen
                await asyncio.sleep(0.05)

    async def pods(self) -> list[int]:
        path = f"/apis/apps/v1/namespaces/{self.namespace}/replicasets"
        sets = (await self.client.get(path))["items"]
        by_age = sorted(
            sets,
            key=lambda one: int(
                one["metadata"]["annotations"]["deployment.kubernetes.io/revision"]
            ),
        )
        return [one["spec"]["replicas"] for one in by_age]

    async def pace(self) -> None:
        """Write the controller's first change: remove the admission pause, and set the rolling update limits of a
        batch."""
        own = self.plane.client_for_token(
            await self.plane.service_account_token(
                "kruise-rollout", "kruise-rollout-controller-manager"
            )
        )
        async with own:
            await own.patch(
                f"{self.deployments}/{self.name}?fieldManager={FIELD_MANAGER}",
                {
                    "metadata": {"annotations": {ADMISSION_PAUSE: None}},
                    "spec": {
                        "paused": False,
                        "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "50%"}},
                    },
                },
            )
        await self.until(lambda seen: seen["status"].get("updatedReplicas") == 2)


@pytest.fixture
async def shop(own_plane: Plane) -> Shop:
    opened = Shop(own_plane, f"shop-{uuid.uuid4().hex[:8]}")
    await opened.open()
    return opened


async def test_a_change_is_admission_paused_and_held_and_nothing_moves(shop: Shop) -> None:
    changed = await shop.image("shop:2")
    assert changed["spec"]["paused"] is True
    assert changed["spec"]["minReadySeconds"] == FREEZE_MIN_READY_SECONDS
    assert {IN_PROGRESSING, ADMISSION_PAUSE, ORIGINAL_STRATEGY} <= changed["metadata"][
        "annotations"
    ].keys()
    assert changed["metadata"]["labels"][STABLE_REVISION]
    await shop.until(lambda seen: True)
    assert await shop.pods() == [4]


async def test_undo_during_a_release_is_admission_paused_without_the_freeze(shop: Shop) -> None:
    await shop.image("shop:2")
    await shop.pace()
    assert sum(await shop.pods()) == 4
    await shop.plane.kubectl("rollout", "undo", "deployment/web", "-n", shop.namespace)
    seen = await shop.get()
    assert seen["spec"]["paused"] is True
    assert seen["spec"].get("minReadySeconds", 0) == 0
    assert seen["spec"]["progressDeadlineSeconds"] == 600
    assert seen["metadata"]["annotations"][ADMISSION_PAUSE]
    seen = await shop.until(lambda now: True)
    assert seen["status"]["availableReplicas"] == 2


async def test_a_manifest_applied_again_keeps_hold_and_admission_pause(shop: Shop) -> None:
    await shop.image("shop:2")
    before = await shop.get()
    whole = manifest("web", "shop:2", minReadySeconds=3)
    await shop.client.replace(f"{shop.deployments}/web", whole)
    after = await shop.get()
    assert after["spec"]["minReadySeconds"] == FREEZE_MIN_READY_SECONDS
    assert after["spec"]["paused"] is True
    assert after["spec"]["strategy"] == before["spec"]["strategy"]
    assert (
        after["metadata"]["annotations"][ADMISSION_PAUSE]
        == before["metadata"]["annotations"][ADMISSION_PAUSE]
    )
    assert '"minReadySeconds":3' in after["metadata"]["annotations"][ORIGINAL_STRATEGY]
    assert '"maxSurge":"25%"' in after["metadata"]["annotations"][ORIGINAL_STRATEGY]


async def test_the_label_stays_during_a_release_while_a_rollout_governs(shop: Shop) -> None:
    await shop.image("shop:2")
    before = await shop.get()
    after = await shop.patch({"metadata": {"labels": {WORKLOAD_TYPE: None}}})
    assert after["metadata"]["labels"][WORKLOAD_TYPE] == "deployment"
    assert after["metadata"]["annotations"] == before["metadata"]["annotations"]
    assert after["spec"] == before["spec"]


async def test_taking_the_label_off_leaves_nothing_behind_where_no_rollout_governs(
    shop: Shop,
) -> None:
    await shop.image("shop:2")
    await shop.client.delete(f"{shop.rollouts}/{shop.name}")
    out = await shop.patch({"metadata": {"labels": {WORKLOAD_TYPE: None}}})
    assert "paused" not in out["spec"]
    assert out["spec"]["strategy"]["rollingUpdate"]["maxSurge"] == "25%"
    assert (
        not {IN_PROGRESSING, ADMISSION_PAUSE, ORIGINAL_STRATEGY}
        & out["metadata"]["annotations"].keys()
    )
    await shop.until(lambda seen: seen["status"].get("updatedReplicas") == 4)


async def test_strategy_recreate_is_refused(own_plane: Plane) -> None:
    shop = Shop(own_plane, "recreate")
    await shop.open(strategy={"type": "Recreate"})
    with pytest.raises(RequestRefused, match="forbids two versions side by side"):
        await shop.image("shop:2")


async def test_a_second_rollout_on_the_workload_is_refused(shop: Shop) -> None:
    other = rollout("web")
    other["metadata"]["name"] = "other"
    with pytest.raises(RequestRefused, match="Rollout web releases Deployment web already"):
        await shop.client.create(shop.rollouts, other)


async def test_the_fields_that_a_release_depends_on_are_frozen(shop: Shop) -> None:
    path = f"{shop.rollouts}/web"
    await write_status(shop.plane, path, {"phase": "Progressing"})
    steps = {"spec": {"strategy": {"canary": {"steps": [{"replicas": 3}, {"replicas": 4}]}}}}
    with pytest.raises(
        RequestRefused, match="the number of steps may change during a release only"
    ):
        await shop.client.patch(path, steps)
    more = {"spec": {"strategy": {"paused": True, "canary": {"steps": [{"replicas": 2}]}}}}
    await shop.client.patch(path, more)


async def test_a_pin_survives_a_manifest_applied_over_it(shop: Shop) -> None:
    services = f"/api/v1/namespaces/{shop.namespace}/services"
    await write_status(shop.plane, f"{shop.rollouts}/web", {"phase": "Progressing"})
    text = f"""
apiVersion: v1
kind: Service
metadata: {{name: web, namespace: {shop.namespace}}}
spec: {{selector: {{app: web}}, ports: [{{port: 80}}]}}
"""
    await shop.plane.apply(text, server_side=True)
    mark = {
        "labels": {PINNED: "true"},
        "annotations": {PIN: pin_annotation("pod-template-hash", "h1")},
    }
    pinned = {"metadata": mark, "spec": {"selector": {"pod-template-hash": "h1"}}}
    await shop.client.patch(f"{services}/web", pinned)
    await shop.plane.apply(text, server_side=True)
    seen = await shop.client.get(f"{services}/web")
    assert seen["spec"]["selector"] == {"app": "web", "pod-template-hash": "h1"}
    whole = {
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    }
    await shop.client.replace(f"{services}/web", whole)
    seen = await shop.client.get(f"{services}/web")
    assert seen["spec"]["selector"]["pod-template-hash"] == "h1"
    assert PINNED in seen["metadata"]["labels"]


async def test_the_controllers_account_has_the_needed_rights_and_no_more(own_plane: Plane) -> None:
    account = "system:serviceaccount:kruise-rollout:kruise-rollout-controller-manager"

    async def may(verb: str, group: str, resource: str, namespace: str, **more: str) -> bool:
        wanted = {"verb": verb, "group": group, "resource": resource, "namespace": namespace}
        spec = {"user": account, "resourceAttributes": {**wanted, **more}}
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        return bool((await own_plane.client().create(path, {"spec": spec}))["status"]["allowed"])

    own = "kruise-rollout"
    kinds = "rollouts.kruise.io"
    assert await may("patch", "apps", "deployments", "any")
    assert await may("patch", kinds, "rollouts", "any", subresource="status")
    assert await may("get", "", "secrets", own, name="kruise-rollout-webhook-certs")
    for group, resource in (("apps", "deployments"), ("", "services"), (kinds, "rollouts")):
        assert not await may("update", group, resource, "any")  # patches only
    assert not await may("list", "", "secrets", own)
    assert not await may("get", "", "secrets", "any", name="kruise-rollout-webhook-certs")
    assert await may("delete", "", "pods", "any")  # node by node, for DaemonSets
    assert await may("create", "apps", "controllerrevisions", "any")  # what a release keeps
    assert not await may("patch", "apps", "controllerrevisions", "any")
    assert not await may("create", "", "pods", "any")
    assert not await may("deletecollection", "", "pods", "any")
    assert not await may("create", "", "pods", "any", subresource="exec")
    assert not await may("list", "", "configmaps", "any")
    assert not await may("delete", kinds, "rollouts", "any")
