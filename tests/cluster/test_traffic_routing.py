"""A TrafficRouting that two Rollouts share, on a real control plane: its shared route is opened, kept, and restored."""

from dataclasses import replace
from typing import Any

from controller.api.names import DRIFT
from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.history import Key, Kind
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.kinds import (
    DESTINATION_RULES,
    ROLLOUTS,
    TRAFFIC_ROUTINGS,
    VIRTUAL_SERVICES,
    collection,
    path_of,
)
from tests.cluster.manifests import STABLE_IMAGE, Application, StepPlan
from tests.cluster.margins import PointedAt
from tests.cluster.status_fields import at, condition
from tests.cluster.story import Story
from tests.cluster.test_cli import run
from tests.cluster.view import View

APP = Application(
    "shop", "", True, (StepPlan(1), StepPlan(2)), virtual_service=True, shared=True, replicas=3
)
LANE = "lane"
HEADER = {"headers": {"gray": {"exact": "1"}}}


def lane(*apps: Application) -> JsonObject:
    """A lane for requests with the header `gray`, over the Services of these applications."""
    header = {"type": "Exact", "name": "gray", "value": "1"}
    return {
        "apiVersion": "rollouts.kruise.io/v1alpha1",
        "kind": "TrafficRouting",
        "metadata": {"name": LANE, "namespace": apps[0].namespace},
        "spec": {
            "objectRef": [
                {
                    "service": app.name,
                    "gracePeriodSeconds": 1,
                    "customNetworkRefs": manifests.references(app),
                }
                for app in apps
            ],
            "strategy": {"matches": [{"headers": [header]}]},
        },
    }


def member(app: Application, lane: str = LANE) -> JsonObject:
    """A Rollout that shares the lane, and leads no traffic of its own."""
    body = manifests.rollout(app)
    canary = body["spec"]["strategy"]["canary"]
    for field in ("trafficRoutings", "disableGenerateCanaryService"):
        canary.pop(field, None)
    canary["trafficRoutingRef"] = lane
    return body


async def stories(product: Product, recorder: Recorder, namespace: str) -> list[Story]:
    """Two applications under their Rollouts, and the lane they share."""
    apps = [replace(APP, name=name, namespace=namespace) for name in ("shop", "cart")]
    found = [Story(product.plane, recorder, app) for app in apps]
    await found[0].client.create(collection(TRAFFIC_ROUTINGS, namespace), lane(*apps))
    for story in found:
        await story.install()
        await story.govern(member(story.app))
    return found


async def spec_of(story: Story, kind: Kind) -> dict[str, Any]:
    spec: dict[str, Any] = (await story.client.get(path_of(story.key(kind))))["spec"]
    return spec


async def lane_of(story: Story) -> JsonObject:
    return await story.client.get(path_of(Key(TRAFFIC_ROUTINGS, story.app.namespace, LANE)))


async def assert_open(story: Story) -> None:
    """Matching requests go to the new pods, behind the Service of both."""
    first = (await spec_of(story, VIRTUAL_SERVICES))["http"]
    opened = [rule for rule in first if rule.get("match") == [HEADER]]
    (destination,) = [route["destination"] for route in opened[0]["route"]]
    assert destination == {"host": story.app.name, "subset": "canary"}
    subsets = (await spec_of(story, DESTINATION_RULES))["subsets"]
    assert {"name": "canary", "labels": {"version": "canary"}} in subsets


async def assert_as_applied(story: Story) -> None:
    for kind, body in (
        (VIRTUAL_SERVICES, manifests.virtual_service(story.app)),
        (DESTINATION_RULES, manifests.destination_rule(story.app)),
    ):
        assert await spec_of(story, kind) == body["spec"]


async def assert_subsets_outlived_their_routes(story: Story) -> None:
    """By the grace period, as the status of the lane tells."""
    await story.recorder.caught_up()
    history = [
        change for change in story.recorder.history() if change.key.namespace == story.app.namespace
    ]
    lanes = (change.object for change in history if change.key.name == LANE)
    assert any((body.get("status") or {}).get("descent") for body in lanes)
    view = View(story.app.namespace)
    pointed_at = PointedAt(story.app, story.times(story.recorder.history()))
    for change in history:
        pointed_at.before(change, view)
        view.apply(change)
        assert pointed_at.after(change, view) is None


async def test_two_releases_share_a_lane(
    product: Product, recorder: Recorder, namespace_of_product: str
) -> None:
    shop, cart = await stories(product, recorder, namespace_of_product)
    await shop.release(manifests.NEW_IMAGE)
    await shop.paused_at(1)
    await assert_open(shop)
    await assert_as_applied(cart)
    assert (await lane_of(shop))["status"]["phase"] == "Progressing"
    await cart.release(manifests.NEW_IMAGE)
    await cart.paused_at(1)
    await assert_open(cart)
    await cart.release(STABLE_IMAGE)
    await cart.completed()
    await assert_as_applied(cart)
    await assert_open(shop)
    await shop.approve_all()
    await shop.completed()
    await assert_as_applied(shop)
    await shop.until(
        TRAFFIC_ROUTINGS, lambda body: body.get("status", {}).get("phase") == "Healthy", name=LANE
    )
    for story in (shop, cart):
        await assert_subsets_outlived_their_routes(story)
    assert (await lane_of(shop))["metadata"]["finalizers"] == ["rollouts.kruise.io/trafficrouting"]


async def test_a_shared_route_is_restored_before_it_is_deleted(
    product: Product, recorder: Recorder, namespace_of_product: str
) -> None:
    shop, cart = await stories(product, recorder, namespace_of_product)
    await shop.release(manifests.NEW_IMAGE)
    await shop.paused_at(1)
    key = Key(TRAFFIC_ROUTINGS, namespace_of_product, LANE)
    await shop.client.delete(path_of(key))
    await shop.until(
        TRAFFIC_ROUTINGS,
        lambda body: body.get("status", {}).get("phase") == "Terminating",
        name=LANE,
    )
    await cart.release(manifests.NEW_IMAGE)
    waiting = await cart.rollout(lambda s: condition(s, "Stalled").get("status") == "True")
    assert condition(waiting.object["status"], "Stalled")["reason"] == "TrafficRoutingNotFound"
    await shop.release(STABLE_IMAGE)
    await shop.completed()
    await assert_as_applied(shop)
    await shop.gone(TRAFFIC_ROUTINGS, LANE)
    assert shop.key(ROLLOUTS) in recorder.state()


async def test_somebody_elses_change_of_a_shared_route_stops_the_release_behind_it(
    product: Product, recorder: Recorder, namespace_of_product: str
) -> None:
    shop, _ = await stories(product, recorder, namespace_of_product)
    route = path_of(shop.key(VIRTUAL_SERVICES))
    await shop.client.patch(route, {"metadata": {"annotations": {DRIFT: "hold"}}})
    await shop.release(manifests.NEW_IMAGE)
    await shop.paused_at(1)
    ours = (await shop.client.get(route))["spec"]
    closed = {"http": [rule for rule in ours["http"] if rule.get("match") != [HEADER]]}
    await shop.client.patch(route, {"spec": closed})
    await shop.rollout(lambda s: condition(s, "Stalled").get("reason") == "RouteHeld")
    assert condition((await lane_of(shop))["status"], "Stalled")["reason"] == "RouteHeld"
    why = await run(product.plane, "why", "shop", "-n", namespace_of_product)
    assert f"kubectl describe trafficrouting {LANE} -n {namespace_of_product}" in why.output
    await shop.approve(1)
    await shop.rollout(lambda s: at(s, 1, "StepPaused") and "approval" not in s["moonshift"])
    await shop.client.patch(route, {"spec": {"http": ours["http"]}})
    await shop.rollout(lambda s: condition(s, "Stalled").get("status") == "False")
    await shop.approve_all()
    await shop.completed()
    await assert_as_applied(shop)
