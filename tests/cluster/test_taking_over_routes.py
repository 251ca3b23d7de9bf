"""A release of OpenKruise Rollouts with an HTTPRoute and an Ingress continues with Moonshift, and at the end both are
the owner's objects again.

Of an HTTPRoute the original keeps nothing: the shares stand in the owner's own rule, and rules of a step with matches
stay when a step with a share follows. Beside an Ingress it makes one that the Rollout owns. Both are made here from a
release of ours, in the form of the original's recordings; `test_taking_over` does the same with the workload.
"""

import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial

import pytest
import yaml

from controller.api import names
from controller.api.jsontree import changed, child, items
from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.history import Key
from localcluster.record import Recorder
from tests import originals
from tests.cluster import gateways, manifests
from tests.cluster.crowd import Crowd
from tests.cluster.gateways import HTTP_ROUTES, INGRESSES
from tests.cluster.invented import install
from tests.cluster.kinds import RECORDED, ROLLOUTS, SERVICES, collection, path_of
from tests.cluster.kruise.test_taking_over import (
    STEP,
    Ending,
    Original,
    goes_on,
    is_approved_to_its_end,
    is_undone,
    left_by_the_original,
)
from tests.cluster.manifests import NEW_IMAGE, Application, StepPlan
from tests.cluster.story import Story

PUBLIC = "shop-public"
STEPS = (StepPlan(1, 20), StepPlan(2, 50), StepPlan(4))
DOUBLED = (StepPlan(4, 20), StepPlan(4, 50), StepPlan(4))
STYLES = {
    "blue-green": Application("shop", "", False, DOUBLED, blue_green=True, other_routes=True),
    "canary": Application("shop", "", True, STEPS, other_routes=True),
    "partition": Application("shop", "", False, STEPS, other_routes=True),
}
LEFT_OF_A_MATCH = {
    "backendRefs": [{"name": "shop-canary", "port": 80, "weight": 1}],
    "matches": [{"headers": [{"name": "user", "type": "Exact", "value": "me"}]}],
}
"""A rule of an earlier step, which the original removes only at the end."""


class OfRoutes(Original):
    """The original, which leads an HTTPRoute and an Ingress."""

    async def leaves(self, story: Story) -> None:
        """Workload, Services, routes and the object beside the Ingress."""
        await super().leaves(story)
        rollout = await story.client.get(path_of(story.key(ROLLOUTS)))
        owned = partial(originals.canary_service, rollout=rollout)
        for service in ("shop", PUBLIC):
            await self.rewrite(story, SERVICES, service, originals.without_ours)
            await self.rewrite(story, SERVICES, f"{service}-canary", owned)
        await self.rewrite(story, INGRESSES, "shop", originals.without_ours)
        await self.rewrite(story, INGRESSES, "shop-canary", owned)
        await self.rewrite(
            story, HTTP_ROUTES, "shop", partial(_route, matched=not story.app.canary)
        )


def _route(obj: JsonObject, *, matched: bool) -> JsonObject:
    """No annotation; where a step with matches came before, its rule is there still."""
    obj = changed(
        originals.without_ours(obj), ("metadata", "annotations", names.ORIGINAL_SPEC), None
    )
    rules = items(child(obj, "spec"), "rules")
    return changed(obj, ("spec", "rules"), [*rules, LEFT_OF_A_MATCH] if matched else rules)


@pytest.fixture(scope="module")
async def world(product: Product) -> AsyncIterator[Recorder]:
    """Give a recording that knows HTTPRoutes and Ingresses."""
    definition = next(d for d in gateways.DEFINITIONS if d["spec"]["group"] == HTTP_ROUTES.group)
    await install(product.plane, definition)
    async with product.plane.recorder(*RECORDED, HTTP_ROUTES, INGRESSES) as started:
        yield started


async def waits(story: Story) -> None:
    """The release has gone half of its way, with both routes at their share."""
    owners = gateways.owners(story.app.namespace)
    for kind in (HTTP_ROUTES, INGRESSES):
        await story.plane.apply(yaml.safe_dump(owners[kind]), user="developer")
    public = manifests.service(story.app, PUBLIC)
    await story.client.create(collection(SERVICES, story.app.namespace), public)
    await story.install()
    await story.govern(rollout(story.app))
    await story.release(NEW_IMAGE)
    await story.reach(STEP)


def rollout(app: Application) -> JsonObject:
    """The Rollout leads both."""
    body = manifests.rollout(app)
    ingress = {"name": "shop", "classType": "nginx"}
    style = "blueGreen" if app.blue_green else "canary"
    body["spec"]["strategy"][style]["trafficRoutings"] = [
        {"service": "shop", "gracePeriodSeconds": 1, "gateway": {"httpRouteName": "shop"}},
        {"service": PUBLIC, "gracePeriodSeconds": 1, "ingress": ingress},
    ]
    return body


def shares(story: Story, since: int) -> set[object]:
    """The shares in the owner's own rule since then, and those in the canary Ingress."""
    key, beside = story.key(HTTP_ROUTES), story.key(INGRESSES, "shop-canary")
    found: set[object] = set()
    for change in story.recorder.history():
        if change.resource_version <= since or change.type == "DELETED":
            continue
        if change.key == key:
            refs = change.object["spec"]["rules"][1]["backendRefs"]
            found.add(tuple(ref["weight"] for ref in refs))
        elif change.key == beside:
            found.add(gateways.share_of({beside: change.object}, INGRESSES, story.app.namespace))
    return found


async def keeps_its_share(original: Original, story: Story) -> None:
    """No request is routed differently during the take-over, and the rule of the earlier step is removed."""
    await story.recorder.caught_up()
    assert shares(story, original.ended[story.app.namespace]) == {(50, 50), 50}
    found = await story.client.get(path_of(story.key(HTTP_ROUTES)))
    assert len(found["spec"]["rules"]) == 2


async def owners_objects_are_left(story: Story) -> None:
    """HTTPRoute and Ingress have their owner's content, and no companion object is left."""
    await story.recorder.caught_up()
    state = story.recorder.state()
    owners = gateways.owners(story.app.namespace)
    ingress = await story.client.get(path_of(story.key(INGRESSES)))
    assert ingress["spec"] == owners[INGRESSES]["spec"]
    route = await story.client.get(path_of(story.key(HTTP_ROUTES)))
    wanted = owners[HTTP_ROUTES]["spec"]
    wanted["rules"][1]["backendRefs"][0]["weight"] = 1
    assert route["spec"] == wanted
    assert not {*(route["metadata"].get("annotations") or {})} & {
        names.ORIGINAL_SPEC,
        names.ROUTE_STATE,
    }
    beside = {key.name for key in state if _beside(story, key)}
    assert beside == set()
    for service in ("shop", PUBLIC):
        found = await story.client.get(path_of(story.key(SERVICES, service)))
        assert found["spec"]["selector"] == {"app": "shop"}


def _beside(story: Story, key: Key) -> bool:
    return (
        key.namespace == story.app.namespace
        and key.kind in (SERVICES, INGRESSES)
        and key.name.endswith("-canary")
    )


@pytest.mark.parametrize("ending", [is_approved_to_its_end, is_undone])
async def test_routes_of_the_original_are_led_on_and_restored(
    ending: Ending, product: Product, world: Recorder
) -> None:
    stories: dict[str, Story] = {}
    for title, app in STYLES.items():
        namespace = f"test-{uuid.uuid4().hex[:10]}"
        await product.plane.client().create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        stories[title] = Story(product.plane, world, replace(app, namespace=namespace))
    crowd = Crowd(stories)
    try:
        original = await left_by_the_original(product, crowd, waits, OfRoutes)
    finally:
        if not product.controller.running:
            await product.controller.start()
    await crowd.all(partial(goes_on, original))
    await crowd.all(partial(keeps_its_share, original))
    await crowd.all(partial(ending, original))
    await crowd.all(owners_objects_are_left)
    assert not crowd.failures, "\n".join(crowd.failures.values())
