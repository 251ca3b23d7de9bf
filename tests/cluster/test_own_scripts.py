"""Scripts of a namespace on the real plane: a tenant provides a script for a kind, with the rights of a
ServiceAccount of the namespace."""

import copy
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from controller.api.conversion import to_v1alpha1
from demo.stage import NAMESPACE, Product
from localcluster.api import ApiClient, JsonObject
from localcluster.errors import RequestRefused
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.conftest import fresh_namespace
from tests.cluster.invented import API_VERSION, GROUP, crd, install, kind_of, scripts
from tests.cluster.kinds import RECORDED, ROLLOUTS, TRAFFIC_ROUTINGS, collection, path_of
from tests.cluster.manifests import NEW_IMAGE, Application, StepPlan
from tests.cluster.status_fields import condition
from tests.cluster.story import Story
from tests.cluster.test_warned_input import warned

ROLES = "/apis/rbac.authorization.k8s.io/v1"
LANES = kind_of("TenantLane")
KEY = f"lua.traffic.routing.TenantLane.{GROUP}"
APP = Application("shop", "", True, (StepPlan(1, 20), StepPlan(2, 50)))
SPEC: JsonObject = {"lanes": [{"service": "shop"}, {"service": "help"}], "empty": [], "odd": {}}
FORBIDDEN = 403

DIVIDES = """
--@name A lane that a tenant invented
--@can weight
--@use steps
local step = steps.of(obj)
obj.data.spec.lanes[1].by = "%s"
obj.data.spec.lanes[1].canary = obj.canaryService
obj.data.spec.lanes[1].share = obj.canaryWeight
return obj.data
"""
TELLS_APART = """
obj.data.spec.lanes[1].subset, obj.data.spec.lanes[1].share = "new", obj.canaryWeight
return obj.data
"""
REACHES_OUT = """
obj.object.name, obj.object.namespace, obj.object.kind = "other", "kube-system", "Secret"
obj.data.metadata = {name = "other", namespace = "kube-system"}
obj.data.kind, obj.data.name, obj.data.namespace = "Secret", "other", "kube-system"
obj.data.spec.lanes[1].canary = obj.canaryService
return obj.data
"""
MAKES_ANOTHER = """
return {spec = obj.data.spec, objects = {{apiVersion = obj.object.apiVersion, kind = obj.object.kind,
    metadata = {name = "beside"}, spec = obj.data.spec}}}
"""


class Tenant:
    """A namespace, its editor, and the rights that an administrator gave."""

    def __init__(self, admin: ApiClient, editor: ApiClient, story: Story) -> None:
        self.admin, self.editor, self.story = admin, editor, story

    @property
    def namespace(self) -> str:
        return self.story.app.namespace

    async def give(self, *verbs: str) -> None:
        """Give the account of the script these rights on lanes."""
        await give(self.admin, self.namespace, "router", GROUP, "tenantlanes", verbs, "router")

    async def teach(self, text: str, key: str = KEY) -> None:
        """The editor writes the script."""
        path = f"/api/v1/namespaces/{self.namespace}/configmaps"
        body = {"metadata": {"name": "scripts"}, "data": {key: text}}
        try:
            await self.editor.create(path, body)
        except RequestRefused:
            await self.editor.patch(f"{path}/scripts", {"data": {key: text}})

    async def lane(self) -> JsonObject:
        """The present spec and annotations of the lane."""
        found = await self.admin.get(path_of(self.story.key(LANES)))
        return {"spec": found["spec"], "annotations": found["metadata"].get("annotations")}

    async def governed(self) -> None:
        """The application, released through the lane by the tenant's script."""
        await self.story.install()
        await self.editor.create(collection(ROLLOUTS, self.namespace), rollout(self.story.app))
        await self.story.labelled()

    async def stalled(self, *words: str) -> str:
        """The message of the release that cannot go on."""
        found = await self.story.rollout(
            lambda status: (
                all(w in condition(status, "Stalled").get("message", "") for w in words)
                and condition(status, "Stalled")["status"] == "True"
            )
        )
        return str(condition(found.object["status"], "Stalled")["message"])


async def give(
    admin: ApiClient,
    namespace: str,
    role: str,
    group: str,
    resource: str,
    verbs: tuple[str, ...],
    account: str,
    of: str = "",
) -> None:
    """A Role with these verbs alone, bound to an account."""
    rules = [{"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}] if verbs else []
    path = f"{ROLES}/namespaces/{namespace}"
    try:
        await admin.create(f"{path}/roles", {"metadata": {"name": role}, "rules": rules})
    except RequestRefused:
        await admin.patch(f"{path}/roles/{role}", {"rules": rules})
        return
    binding: JsonObject = {
        "metadata": {"name": role},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": of or namespace}],
    }
    await admin.create(f"{path}/rolebindings", binding)


def lane(namespace: str) -> JsonObject:
    metadata = {"name": "shop", "namespace": namespace, "annotations": manifests.KEPT}
    return {"apiVersion": API_VERSION, "kind": "TenantLane", "metadata": metadata, "spec": SPEC}


def reference(**script: str) -> JsonObject:
    ref = {"name": "scripts", "serviceAccountName": "router", **script}
    return {"apiVersion": API_VERSION, "kind": "TenantLane", "name": "shop", "scriptRef": ref}


def rollout(app: Application, **script: str) -> JsonObject:
    body = manifests.rollout(app)
    body["spec"]["strategy"]["canary"]["trafficRoutings"] = [
        {"service": app.name, "gracePeriodSeconds": 1, "customNetworkRefs": [reference(**script)]}
    ]
    return body


@pytest.fixture(scope="module")
async def world(product: Product) -> AsyncIterator[Recorder]:
    """The kind, the controller's right to it, and a recording of it."""
    right: JsonObject = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": "tenant-lanes",
            "labels": {"moonshift.dev/aggregate-to-controller": "true"},
        },
        "rules": [{"apiGroups": [GROUP], "resources": ["tenantlanes"], "verbs": ["*"]}],
    }
    await install(product.plane, crd("TenantLane"), right)
    async with product.plane.recorder(*RECORDED, LANES) as started:
        yield started


async def settle(product: Product, world: Recorder, namespace: str) -> Tenant:
    """An editor of a namespace with a lane; the controller may read the ConfigMap `scripts` there."""
    admin = product.plane.client()
    binding: JsonObject = {
        "metadata": {"name": "editor"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "edit",
        },
        "subjects": [{"kind": "ServiceAccount", "name": "editor", "namespace": namespace}],
    }
    for account in ("editor", "router"):
        await admin.create(
            f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": account}}
        )
    await admin.create(f"{ROLES}/namespaces/{namespace}/rolebindings", binding)
    await admin.create(collection(LANES, namespace), lane(namespace))
    token = await product.plane.service_account_token(namespace, "editor")
    story = Story(product.plane, world, replace(APP, namespace=namespace))
    return Tenant(admin, product.plane.client_for_token(token), story)


async def let_read(tenant: Tenant) -> None:
    """The namespace lets the controller read its ConfigMap."""
    path = f"{ROLES}/namespaces/{tenant.namespace}"
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["scripts"]}
    role: JsonObject = {
        "metadata": {"name": "reads"},
        "rules": [{**rule, "verbs": ["get", "list", "watch"]}],
    }
    binding: JsonObject = {
        "metadata": {"name": "reads"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reads"},
        "subjects": [
            {
                "kind": "ServiceAccount",
                "name": "kruise-rollout-controller-manager",
                "namespace": NAMESPACE,
            }
        ],
    }
    await tenant.admin.create(f"{path}/roles", role)
    await tenant.admin.create(f"{path}/rolebindings", binding)


@pytest.fixture
async def newcomer(
    product: Product, world: Recorder, namespace_of_product: str
) -> AsyncIterator[Tenant]:
    """A tenant whose namespace gave the controller nothing."""
    settled = await settle(product, world, namespace_of_product)
    yield settled
    await settled.editor.close()


@pytest.fixture
async def tenant(newcomer: Tenant) -> Tenant:
    """A tenant whose namespace gave the controller what it needs."""
    await let_read(newcomer)
    return newcomer


async def share(tenant: Tenant, wanted: int) -> JsonObject:
    """Wait until the lane leads this share."""
    found = await tenant.story.until(LANES, lambda o: o["spec"]["lanes"][0].get("share") == wanted)
    first: JsonObject = found.object["spec"]["lanes"][0]
    return first


async def test_a_tenants_own_script_serves_a_kind_and_the_object_is_restored(
    product: Product, world: Recorder, tenant: Tenant
) -> None:
    await install(product.plane, scripts({}, **{KEY: "error('the script of all namespaces')"}))
    async with fresh_namespace(product.plane) as namespace:
        other = await settle(product, world, namespace)
        await other.teach(DIVIDES % "the other tenant")
        await other.editor.close()
        await tenant.give("get", "patch", "update")
        await tenant.teach(DIVIDES % "the tenant")
        before = await tenant.lane()
        await tenant.governed()
        await tenant.story.release(NEW_IMAGE)
        await tenant.story.paused_at(1)
        first = {"by": "the tenant", "canary": "shop-canary", "service": "shop", "share": 20}
        assert await share(tenant, 20) == first
        await tenant.story.approve(1)
        await share(tenant, 50)
        await tenant.story.paused_at(2)
        await tenant.story.approve(2)
        await tenant.story.completed()
        assert await tenant.lane() == before
        assert await other.lane() == before


async def test_an_account_without_rights_leads_nothing_until_it_has_them(tenant: Tenant) -> None:
    await tenant.give("get")
    await tenant.teach(DIVIDES % "the tenant")
    before = await tenant.lane()
    await tenant.governed()
    await tenant.story.release(NEW_IMAGE)
    account = f"ServiceAccount {tenant.namespace}/router may not patch and update"
    message = await tenant.stalled(account, f"tenantlanes.{GROUP} in namespace {tenant.namespace}")
    assert "kubectl create role router-tenantlanes-patch-update" in message
    assert await tenant.lane() == before
    await tenant.give("get", "patch", "update")
    await share(tenant, 20)


async def test_a_right_that_is_taken_away_stops_writes_and_not_the_way_back(tenant: Tenant) -> None:
    await tenant.give("get", "patch", "update")
    await tenant.teach(DIVIDES % "the tenant")
    before = await tenant.lane()
    await tenant.governed()
    await tenant.story.release(NEW_IMAGE)
    await tenant.story.paused_at(1)
    await tenant.give()
    led = await tenant.lane()
    await tenant.story.approve(1)
    await tenant.stalled("may not get and patch and update")
    assert await tenant.lane() == led
    await tenant.story.delete()
    await tenant.story.gone(ROLLOUTS)
    assert await tenant.lane() == before


async def test_a_user_who_may_not_impersonate_the_account_may_not_name_a_script(
    product: Product, tenant: Tenant
) -> None:
    namespace, paths = tenant.namespace, collection(ROLLOUTS, tenant.namespace)
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    await tenant.admin.create(accounts, {"metadata": {"name": "writer"}})
    verbs = ("get", "create", "patch", "update", "delete")
    for kind in ("rollouts", "trafficroutings"):
        await give(tenant.admin, namespace, f"writes-{kind}", ROLLOUTS.group, kind, verbs, "writer")
    token = await product.plane.service_account_token(namespace, "writer")
    body = rollout(tenant.story.app)
    async with product.plane.client_for_token(token) as writer:
        with pytest.raises(RequestRefused, match="may not impersonate it") as refusal:
            await writer.create(paths, body)
        assert refusal.value.status == FORBIDDEN
        shared = body["spec"]["strategy"]["canary"]["trafficRoutings"]
        routing: JsonObject = {
            "apiVersion": "rollouts.kruise.io/v1alpha1",
            "kind": "TrafficRouting",
            "metadata": {"name": "shop", "namespace": namespace},
            "spec": {"objectRef": shared, "strategy": {"weight": 20}},
        }
        with pytest.raises(RequestRefused, match="may not impersonate it"):
            await writer.create(collection(TRAFFIC_ROUTINGS, namespace), routing)
        older = ROLLOUTS._replace(version="v1alpha1")
        with pytest.raises(RequestRefused, match="may not impersonate it"):
            await writer.create(collection(older, namespace), to_v1alpha1(body))
        await tenant.editor.create(paths, body)
        path = path_of(tenant.story.key(ROLLOUTS))
        # An account that another person has named stays, but only that person's object may be named for it.
        await writer.patch(path, {"spec": {"strategy": {"paused": True}}})
        elsewhere = copy.deepcopy(shared)
        elsewhere[0]["customNetworkRefs"][0]["name"] = "other"
        change = {"spec": {"strategy": {"canary": {"trafficRoutings": elsewhere}}}}
        with pytest.raises(RequestRefused, match="may not impersonate it"):
            await writer.patch(path, change)
        # Nor while it is being deleted.
        await tenant.editor.patch(path, {"metadata": {"finalizers": ["example.com/stay"]}})
        await tenant.editor.delete(path)
        with pytest.raises(RequestRefused, match="may not impersonate it"):
            await writer.patch(path, change)
        await writer.patch(path, {"metadata": {"finalizers": []}})


async def test_an_unavailable_script_is_reported_in_words_and_waited_for(
    newcomer: Tenant,
) -> None:
    tenant = newcomer
    await tenant.give("get", "patch", "update")
    before = await tenant.lane()
    await tenant.governed()
    await tenant.story.release(NEW_IMAGE)
    where = f"ConfigMap {tenant.namespace}/scripts"
    await tenant.stalled(f"{where}, which scriptRef names, cannot be read", "Role")
    await let_read(tenant)
    await tenant.stalled(f"{where}, which scriptRef names, does not exist")
    await tenant.teach("return", key="another")
    await tenant.stalled(f"in key {KEY} of {where}")
    await tenant.teach("this is no Lua")
    await tenant.stalled("has a syntax error in line 1")
    assert await tenant.lane() == before
    await tenant.teach(DIVIDES % "the tenant")
    await share(tenant, 20)


async def test_a_config_map_that_does_not_exist_is_a_warning(
    product: Product, tenant: Tenant
) -> None:
    lines = await warned(product, rollout(tenant.story.app))
    place = "spec.strategy.canary.trafficRoutings[0].customNetworkRefs[0].scriptRef.name"
    assert f"{place}: ConfigMap {tenant.namespace}/scripts does not exist" in lines


async def test_a_shared_route_is_led_by_a_script_of_the_namespace_and_by_its_account(
    tenant: Tenant,
) -> None:
    await tenant.give("get", "patch")
    await tenant.teach(TELLS_APART)
    before, app = await tenant.lane(), tenant.story.app
    body = rollout(app)
    canary = body["spec"]["strategy"]["canary"]
    routing: JsonObject = {
        "apiVersion": "rollouts.kruise.io/v1alpha1",
        "kind": "TrafficRouting",
        "metadata": {"name": "lane", "namespace": tenant.namespace},
        "spec": {"objectRef": canary.pop("trafficRoutings"), "strategy": {"weight": 30}},
    }
    canary["trafficRoutingRef"] = "lane"
    await tenant.editor.create(collection(TRAFFIC_ROUTINGS, tenant.namespace), routing)
    await tenant.story.install()
    await tenant.story.govern(body)
    await tenant.story.release(NEW_IMAGE)
    denied = f"ServiceAccount {tenant.namespace}/router may not update tenantlanes"
    await tenant.story.until(
        TRAFFIC_ROUTINGS, lambda o: denied in str(o.get("status", {})), name="lane"
    )
    assert await tenant.lane() == before
    await tenant.give("get", "patch", "update")
    led = await tenant.story.until(LANES, lambda o: o["spec"]["lanes"][0].get("share") == 30)
    await tenant.story.approve_all()
    await tenant.story.completed()
    await tenant.story.until(
        LANES,
        lambda o: before == {"spec": o["spec"], "annotations": o["metadata"]["annotations"]},
        after=led.resource_version,
    )


async def test_a_script_reaches_no_other_object(tenant: Tenant) -> None:
    await tenant.give("get", "patch", "update")
    await tenant.teach(MAKES_ANOTHER)
    await tenant.governed()
    await tenant.story.release(NEW_IMAGE)
    # The account may change its lane, and make none.
    await tenant.stalled("may not create and delete tenantlanes")
    await tenant.teach(REACHES_OUT)
    found = await tenant.story.until(LANES, lambda o: "canary" in o["spec"]["lanes"][0])
    assert found.object["metadata"]["name"] == "shop"
    lanes = await tenant.admin.get(f"/apis/{API_VERSION}/tenantlanes")
    here = [o for o in lanes["items"] if o["metadata"]["namespace"] == tenant.namespace]
    assert [o["metadata"]["name"] for o in here] == ["shop"]
