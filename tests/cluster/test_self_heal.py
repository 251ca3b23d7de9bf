"""A GitOps tool that reverts every difference from Git has nothing to revert during whole releases on a real control
plane.

The tool looks at every revision of every object that it has applied. With the generated `ignoreDifferences`, the tool
writes nothing from the first change to the end of a release. Without them it writes, and the release reports that.
"""

from collections.abc import AsyncIterator, Callable, Container
from dataclasses import dataclass, replace

import pytest

from controller.api.jsontree import changed
from demo.stage import Product
from localcluster.api import ApiClient, JsonObject
from localcluster.history import Key, Kind
from localcluster.record import Recorder
from tests.cluster import gateways, manifests
from tests.cluster.gateways import INGRESSES
from tests.cluster.kinds import AUTOSCALERS, RECORDED, VIRTUAL_SERVICES, collection
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, Application, StepPlan
from tests.cluster.self_heal import (
    IGNORED,
    MANAGER,
    NOTHING,
    SSA,
    Flux,
    SelfHeal,
    claimed,
    tracked,
)
from tests.cluster.status_fields import condition
from tests.cluster.story import KINDS, Story, conclude
from tests.cluster.table import application

PUBLIC = "shop-public"
STYLES = {
    "Deployment, partition": application("Deployment"),
    "Deployment, canary": application("Deployment", canary=True),
    "Deployment, canary, one Service": Application(
        "shop", "", True, (StepPlan(1, 20), StepPlan(2, 50)), virtual_service=True, shared=True
    ),
    "Deployment, blue-green": application("Deployment", blue_green=True),
    "StatefulSet, partition": application("StatefulSet"),
    "DaemonSet, partition": application("DaemonSet"),
}
STRATEGY = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
SPECS: dict[str, JsonObject] = {
    "Deployment": {"strategy": STRATEGY, "progressDeadlineSeconds": 601, "minReadySeconds": 1},
    "StatefulSet": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}},
    "DaemonSet": {"updateStrategy": {"type": "RollingUpdate"}},
}
"""The owner's values of the fields that a release writes."""
BEHAVIOR = {"scaleDown": {"stabilizationWindowSeconds": 60, "selectPolicy": "Min"}}


@dataclass(frozen=True, slots=True)
class Owner:
    """An application in Git, and the tool that has applied it."""

    story: Story
    tool: SelfHeal

    async def releases(self, image: str) -> None:
        """A commit, and the first sync of it."""
        async with self.tool.held:
            await self.story.release(image)
            body = workload(self.story.app, image)
            key = self.story.key(self.story.workload)
            self.tool.commit(key, body, since=self.story.actions[-1].revision)


def workload(app: Application, image: str) -> JsonObject:
    """The workload in Git."""
    return manifests.workload(app, image, **SPECS[app.workload])


@pytest.fixture(scope="module")
async def world(product: Product) -> AsyncIterator[Recorder]:
    """Give a recording that knows Ingresses as well."""
    async with product.plane.recorder(*RECORDED, INGRESSES) as started:
        yield started


def kind_of(app: Application, body: JsonObject) -> Kind:
    """The resource of a manifest."""
    if body["kind"] == "Ingress":
        return INGRESSES
    return KINDS.get(body["kind"], app.workload_kind)


def in_git(app: Application) -> list[JsonObject]:
    """Everything of the application but its Rollout."""
    _, *others = manifests.objects(app)
    bodies = [workload(app, STABLE_IMAGE), *others]
    for body in bodies:
        if body["kind"] == "HorizontalPodAutoscaler":
            body["spec"]["behavior"] = BEHAVIOR
    if not app.shared:
        bodies += [manifests.service(app, PUBLIC), gateways.owners(app.namespace)[INGRESSES]]
    return bodies


def rollout(app: Application) -> JsonObject:
    """The Rollout leads the Ingress, too."""
    body = manifests.rollout(app)
    (strategy,) = body["spec"]["strategy"].values()
    if not app.shared:
        ingress = {"name": "shop", "classType": "nginx"}
        strategy["trafficRoutings"].append(
            {"service": PUBLIC, "gracePeriodSeconds": app.grace, "ingress": ingress}
        )
    return body


Tool = Callable[[ApiClient, Recorder], SelfHeal]


def argo(client: ApiClient, recorder: Recorder) -> SelfHeal:
    """With the generated rules."""
    return SelfHeal(client, recorder, IGNORED)


def argo_unwarned(client: ApiClient, recorder: Recorder) -> SelfHeal:
    """Without them."""
    return SelfHeal(client, recorder, NOTHING)


def flux(client: ApiClient, recorder: Recorder) -> SelfHeal:
    """Flux has no rules."""
    return Flux(client, recorder, NOTHING)


async def owner_of(
    app: Application,
    product: Product,
    world: Recorder,
    tool_of: Tool = argo,
    made_once: Container[str] = (),
) -> Owner:
    """The application is applied and followed; kinds that are `made_once` are annotated so."""
    story = Story(product.plane, world, app)
    tool = tool_of(story.client, world)
    for body in in_git(app):
        if body["kind"] in made_once:
            body = changed(body, ("metadata", "annotations", SSA), "IfNotPresent")
        kind = kind_of(app, body)
        await story.client.create(collection(kind, app.namespace), tracked(body))
        tool.commit(story.key(kind, body["metadata"]["name"]), body)
    await story.pods_ready()
    await story.govern(rollout(app))
    tool.start()
    return Owner(story, tool)


@pytest.mark.parametrize("style", STYLES)
async def test_a_release_is_never_fought_over(
    style: str, product: Product, world: Recorder, namespace_of_product: str
) -> None:
    owner = await owner_of(replace(STYLES[style], namespace=namespace_of_product), product, world)
    await owner.releases(NEW_IMAGE)
    await owner.story.approve_all()
    await conclude(owner.story)
    await owner.tool.stop()
    assert owner.tool.repairs == []
    assert owner.tool.spared >= {owner.story.workload, VIRTUAL_SERVICES}
    assert (AUTOSCALERS in owner.tool.spared) is owner.story.app.blue_green
    assert nothing_to_prune(owner) == set()


def nothing_to_prune(owner: Owner) -> set[Key]:
    """Objects that Git does not have, and that the tool would have deleted at any time."""
    return {
        change.key
        for change in owner.story.recorder.history()
        if change.key.namespace == owner.story.app.namespace
        and change.key not in owner.tool.wanted
        and claimed(change.object)
    }


async def test_a_rollback_is_never_fought_over(
    product: Product, world: Recorder, namespace_of_product: str
) -> None:
    app = replace(STYLES["Deployment, partition"], namespace=namespace_of_product)
    owner = await owner_of(app, product, world)
    await owner.releases(NEW_IMAGE)
    await owner.story.reach(2)
    await owner.releases(STABLE_IMAGE)
    await conclude(owner.story)
    await owner.tool.stop()
    assert owner.tool.repairs == []


LED_WITHOUT_ADMISSION = ("VirtualService", "HorizontalPodAutoscaler")


@pytest.mark.parametrize("style", ["Deployment, partition", "Deployment, blue-green"])
async def test_flux_needs_rules_for_routes_and_autoscalers_only(
    style: str, product: Product, world: Recorder, namespace_of_product: str
) -> None:
    app = replace(STYLES[style], namespace=namespace_of_product)
    owner = await owner_of(app, product, world, flux, LED_WITHOUT_ADMISSION)
    await owner.releases(NEW_IMAGE)
    await owner.story.approve_all()
    await conclude(owner.story)
    await owner.tool.stop()
    assert owner.tool.repairs == []
    assert owner.story.workload in owner.tool.spared


@pytest.mark.parametrize("tool", [argo_unwarned, flux])
async def test_a_tool_without_exceptions_fights_over_a_route_and_the_release_names_the_tool(
    tool: Tool, product: Product, world: Recorder, namespace_of_product: str
) -> None:
    app = replace(STYLES["Deployment, partition"], namespace=namespace_of_product)
    owner = await owner_of(app, product, world, tool)
    await owner.releases(NEW_IMAGE)
    held = await owner.story.rollout(lambda s: condition(s, "Stalled").get("reason") == "RouteHeld")
    assert "VirtualService" in condition(held.object["status"], "Stalled")["message"]
    put_back = await owner.story.event("RoutePutBack")
    assert MANAGER in put_back["message"]
    await owner.tool.stop()
    fought = {repair.key.kind for repair in owner.tool.repairs}
    assert VIRTUAL_SERVICES in fought
    assert (owner.story.workload in fought) is (tool is argo_unwarned)
