"""A release under the real Flux: no reconciliation disturbs it, and a commit that reverts the image rolls it back.

Flux applies a commit by server-side apply, again and again, and reverts what others changed in its fields. Which fields
a release changes is tested in `tests/gitops`; here Flux itself decides.
"""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.flux import Flux, started_flux
from localcluster.history import Kind
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.kinds import DEPLOYMENTS, SERVICES, VIRTUAL_SERVICES, path_of
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, Application, StepPlan
from tests.cluster.status_fields import condition
from tests.cluster.story import Story
from tests.cluster.view import image_of

pytestmark = pytest.mark.full
"""Flux is built for it."""
STEPS = (StepPlan(1, 20), StepPlan(2, 40))
ONLY_CREATED = {"kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent"}
"""The annotation for gateway objects that operations.md names."""
STYLES = {
    "partition": Application("shop", "", False, STEPS, virtual_service=True),
    "canary": Application("shop", "", True, STEPS, virtual_service=True),
    "blue-green": Application("shop", "", False, STEPS, virtual_service=True, blue_green=True),
}


@pytest.fixture(scope="module")
async def flux(product: Product, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Flux]:
    """Give Flux, beside the product."""
    async with started_flux(product.plane, tmp_path_factory.mktemp("flux")) as running:
        yield running


class Repository:
    """The manifests of an application, as they lie in Git."""

    def __init__(self, flux: Flux, app: Application, notes: JsonObject) -> None:
        self._flux = flux
        self._app = app
        self._notes = notes

    async def commit(self, image: str) -> None:
        """The application with this image."""
        objects = [*manifests.objects(self._app), manifests.rollout(self._app)]
        for body in objects:
            if body["kind"] == "Deployment":
                body["spec"]["template"]["spec"]["containers"][0]["image"] = image
            if body["kind"] == "VirtualService":
                body["metadata"].setdefault("annotations", {}).update(self._notes)
        await self._flux.commit(self._app.namespace, objects)

    async def reconciled(self, times: int) -> None:
        """Flux compares and applies the same commit again."""
        for _ in range(times):
            await self._flux.reconcile(self._app.namespace)


@pytest.fixture(params=STYLES)
def story(
    request: pytest.FixtureRequest, product: Product, recorder: Recorder, namespace_of_product: str
) -> Story:
    """Give a story of each style, whose objects are made by Flux."""
    app = replace(STYLES[request.param], namespace=namespace_of_product)
    return Story(product.plane, recorder, app)


async def released(story: Story, flux: Flux, notes: JsonObject) -> Repository:
    """A release in its first step, begun by a commit."""
    repository = Repository(flux, story.app, notes)
    await flux.follow(story.app.namespace)
    await repository.commit(STABLE_IMAGE)
    await story.pods_ready()
    await story.labelled()
    await repository.commit(NEW_IMAGE)
    await story.paused_at(1)
    return repository


async def test_no_reconciliation_disturbs_a_release_and_a_revert_in_git_rolls_it_back(
    story: Story, flux: Flux
) -> None:
    repository = await released(story, flux, ONLY_CREATED)
    before = await _written(story)
    await repository.reconciled(3)
    assert await _written(story) == before

    await repository.commit(STABLE_IMAGE)
    await story.completed()
    await story.event("ReleaseCanceled")
    workload = await story.client.get(path_of(story.key(DEPLOYMENTS)))
    assert image_of(workload["spec"]["template"]) == STABLE_IMAGE
    route = await story.client.get(path_of(story.key(VIRTUAL_SERVICES)))
    (wanted,) = (b for b in manifests.objects(story.app) if b["kind"] == "VirtualService")
    assert route["spec"] == wanted["spec"]


async def test_a_release_whose_route_flux_reverts_stops_and_names_flux(
    product: Product, recorder: Recorder, namespace_of_product: str, flux: Flux
) -> None:
    app = replace(STYLES["canary"], namespace=namespace_of_product)
    story = Story(product.plane, recorder, app)
    repository = await released(story, flux, {})
    for _ in range(2):
        before = int((await _written(story))[VIRTUAL_SERVICES])
        await repository.reconciled(1)
        await story.until(VIRTUAL_SERVICES, _has_share, after=before + 1)
    await repository.reconciled(1)
    stalled = await story.rollout(
        lambda status: condition(status, "Stalled").get("reason") == "RouteHeld"
    )
    assert "kustomize-controller changed VirtualService" in stalled.object["status"]["message"]


def _has_share(route: JsonObject) -> bool:
    return len(route["spec"]["http"][-1]["route"]) == 2


async def _written(story: Story) -> dict[Kind, str]:
    """The versions of the objects that both Flux and a release write; of a workload, that of its spec."""
    found = {}
    for kind, field in (
        (DEPLOYMENTS, "generation"),
        (SERVICES, "resourceVersion"),
        (VIRTUAL_SERVICES, "resourceVersion"),
    ):
        body = await story.client.get(path_of(story.key(kind)))
        found[kind] = body["metadata"][field]
    return found
