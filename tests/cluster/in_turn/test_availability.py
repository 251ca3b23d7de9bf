"""A release stops at a missing right or an unknown kind, and continues by itself when the right is granted or the
kind is served.

These tests remove rights of the controller, so they have a product of their own.
"""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import yaml

from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.history import Kind
from localcluster.plane import Plane
from tests.cluster import invented, manifests
from tests.cluster.conftest import fresh_namespace
from tests.cluster.in_turn.conftest import recordable
from tests.cluster.kinds import RECORDED, VIRTUAL_SERVICES, collection, path_of
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, Application, StepPlan
from tests.cluster.secrecy import kept_product
from tests.cluster.status_fields import condition
from tests.cluster.story import Story, conclude
from tests.cluster.test_bad_input import WORKING, led_by, stalled
from tests.cluster.test_install import text_of

ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/kruise-rollout-manager-role"
HPAS = Kind("autoscaling", "v2", "horizontalpodautoscalers")
WAKES = 60.0
"""Seconds from the end of the cause to the first action: one probe, and a reserve for a busy machine.

That a probe comes within 10 s is claimed by the tests of the reflector, on a virtual clock."""
PLAN = (StepPlan(1, 20), StepPlan(2, 100))
ROUTED = Application("shop", "", True, PLAN, virtual_service=True, replicas=2, grace=0)
BLUE_GREEN = replace(ROUTED, canary=False, blue_green=True, steps=(StepPlan(2), StepPlan(2, 100)))


@pytest.fixture(scope="module")
async def own_product(
    ground: Plane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Product]:
    """Give a Moonshift that no other test uses."""
    async with kept_product(ground, tmp_path_factory.mktemp("rights")) as running:
        await recordable(ground)
        yield running


@asynccontextmanager
async def story_of(product: Product, app: Application) -> AsyncIterator[Story]:
    """An application in a namespace of its own."""
    plane = product.plane
    async with fresh_namespace(plane) as namespace, plane.recorder(*RECORDED) as recorder:
        yield Story(plane, recorder, replace(app, namespace=namespace))


@asynccontextmanager
async def without(
    plane: Plane, changed: Callable[[dict[str, Any]], bool]
) -> AsyncIterator[Callable[[], Any]]:
    """Remove some rules from the controller's role; the yielded function grants them again."""
    whole = await plane.client().get(ROLE)
    rules = [rule for rule in whole["rules"] if not changed(rule)]
    assert len(rules) < len(whole["rules"])
    await plane.client().patch(ROLE, {"rules": rules})

    async def grant() -> float:
        await plane.client().patch(ROLE, {"rules": whole["rules"]})
        return time.monotonic()

    try:
        yield grant
    finally:
        await grant()


async def test_blue_green_waits_until_autoscalers_can_be_read(own_product: Product) -> None:
    async with (
        without(
            own_product.plane, lambda rule: "horizontalpodautoscalers" in rule["resources"]
        ) as grant,
        story_of(own_product, BLUE_GREEN) as story,
    ):
        await story.install()
        await story.create(manifests.rollout(story.app))
        message = await stalled(story, "Forbidden")
        assert "autoscalers must be held" in message
        assert 'cannot list resource "horizontalpodautoscalers"' in message
        begun = await grant()
        await story.rollout(lambda s: condition(s, "Stalled").get("status") == "False")
        assert time.monotonic() - begun < WAKES
        await story.labelled()
        await story.release(NEW_IMAGE)
        await story.paused_at(1)
        held = await story.plane.client().get(path_of(story.key(HPAS)))
        assert held["spec"]["behavior"]["scaleUp"]["selectPolicy"] == "Disabled"
        await story.approve_all()
        await conclude(story)


async def test_a_release_goes_on_by_itself_when_the_right_to_write_a_route_is_granted(
    own_product: Product,
) -> None:
    plane = own_product.plane

    def writes_routes(rule: dict[str, Any]) -> bool:
        return "virtualservices" in rule["resources"]

    reading = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": "reads-routes",
            "labels": {"moonshift.dev/aggregate-to-controller": "true"},
        },
        "rules": [
            {
                "apiGroups": ["networking.istio.io"],
                "resources": ["virtualservices", "destinationrules"],
                "verbs": ["get", "list", "watch"],
            }
        ],
    }
    await plane.apply(yaml.safe_dump(reading))
    async with without(plane, writes_routes) as grant, story_of(own_product, ROUTED) as story:
        await story.begin()
        message = await stalled(story, "Forbidden")
        assert "virtualservices" in message
        mark = plane.audit.mark()
        begun = await grant()
        await story.until(
            VIRTUAL_SERVICES,
            lambda v: "moonshift.dev/route" in (v["metadata"].get("annotations") or {}),
        )
        assert time.monotonic() - begun < WAKES
        tried = plane.audit.since(
            mark, where=lambda r: r.verb == "create" and "selfsubjectaccessreviews" in r.uri
        )
        assert len(tried) <= 4
        await story.approve_all()
        await conclude(story)


def two_versions(name: str, *served: str) -> JsonObject:
    """A CRD that declares v1 and v1beta1 and serves some of them."""
    found = invented.crd(name)
    (first,) = found["spec"]["versions"]
    found["spec"]["versions"] = [
        {**first, "name": version, "served": version in served, "storage": version == "v1"}
        for version in ("v1", "v1beta1")
    ]
    return found


@pytest.mark.parametrize("between", [("v1beta1",), ()], ids=["v1beta1 only", "none for a while"])
async def test_a_route_is_restored_although_its_kind_changes_its_version_during_the_release(
    own_product: Product, between: tuple[str, ...]
) -> None:
    plane = own_product.plane
    kind = "Shifting" if between else "Pausing"
    await invented.install(
        plane,
        {**invented.right("Shifting", "Pausing")},
        invented.scripts({"Shifting": WORKING, "Pausing": WORKING}),
        two_versions(kind, "v1", "v1beta1"),
    )
    beta = Kind(invented.GROUP, "v1beta1", f"{kind.lower()}s")
    async with story_of(own_product, ROUTED) as story:
        body = invented.route(kind, story.app.name, story.app.namespace)
        await story.client.create(collection(invented.kind_of(kind), story.app.namespace), body)
        await story.create(*manifests.objects(story.app))
        await story.pods_ready()
        await story.govern(led_by(kind, story.app))
        await story.release(NEW_IMAGE)
        await story.paused_at(1)
        led = await story.client.get(path_of(story.key(beta)))
        assert led["spec"]["backends"][1]["share"] == 20
        await plane.apply(yaml.safe_dump(two_versions(kind, *between)))
        await story.release(STABLE_IMAGE)
        if not between:
            rollout = await story.rollout(lambda s: condition(s, "Stalled").get("status") == "True")
            message = condition(rollout.object["status"], "Stalled")["message"]
            assert f"CRD {kind.lower()}s.{invented.GROUP} declares it" in message
            await plane.apply(yaml.safe_dump(two_versions(kind, "v1beta1")))
        await story.completed()
        restored = await story.client.get(path_of(story.key(beta)))
        assert restored["spec"] == body["spec"]
        assert restored["metadata"]["annotations"] == body["metadata"]["annotations"]


async def test_a_controller_without_the_right_to_read_pods_says_so_and_goes_on_once_granted(
    own_product: Product,
) -> None:
    plain = replace(ROUTED, virtual_service=False, steps=(StepPlan(1), StepPlan(2)))
    async with (
        without(own_product.plane, lambda rule: rule["resources"] == ["pods"]) as grant,
        story_of(own_product, plain) as story,
    ):
        await own_product.controller.terminate()
        await own_product.controller.start()  # returns when it is ready
        status, text = await text_of(own_product.controller_probes, "/readyz?verbose")
        assert status == 200
        assert "[~]cache-pods Forbidden: " in text
        _, text = await text_of(own_product.controller_metrics, "/metrics")
        assert 'moonshift_cache_synced{resource="pods"} 0.0' in text
        await story.install()
        await story.create(manifests.rollout(story.app))
        assert 'cannot list resource "pods"' in await stalled(story, "Forbidden")
        begun = await grant()
        await story.labelled()
        assert time.monotonic() - begun < WAKES
        await story.release(NEW_IMAGE)
        await story.approve_all()
        await conclude(story)
