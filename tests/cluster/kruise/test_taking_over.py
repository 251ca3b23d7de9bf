"""A release that the original controller has begun continues with Moonshift, on a real control plane, in every style.

The original does not run: a release of ours waits at a step, the controller ends, and every object is rewritten into
the form in which the original leaves it. After its next start, the controller takes the release over: no pod and no
share changes, the release is approved to its end or rolled back, and no mark of the original is left.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

import pytest

from demo.stage import CONTROLLER, NAMESPACE, Product
from localcluster.api import ApiClient, JsonObject
from localcluster.errors import RequestRefused
from localcluster.history import Kind
from localcluster.record import Recorder
from tests import originals
from tests.cluster import test_workloads
from tests.cluster.crowd import Crowd, UserAction
from tests.cluster.kinds import (
    AUTOSCALERS,
    DEPLOYMENTS,
    EVENTS,
    REPLICA_SETS,
    ROLLOUTS,
    SERVICES,
    VIRTUAL_SERVICES,
    collection,
    path_of,
)
from tests.cluster.kruise import test_kruise_workloads
from tests.cluster.kruise.test_killed_releases import settled_in
from tests.cluster.manifests import STABLE_IMAGE, Application
from tests.cluster.status_fields import at
from tests.cluster.story import Story
from tests.cluster.test_leaving import moonshift

STEP = 2
BATCH_RELEASES = Kind("rollouts.kruise.io", "v1beta1", "batchreleases")
JSON_PATCH = "application/json-patch+json"
OF_THE_ORIGINAL = (
    '"batchrelease.',
    '"rollouts.kruise.io/deployment-strategy"',
    "controlled-by-advanced",
    "daemonset-",
    "BatchRelease",
    "batch-release",
)


def definition() -> JsonObject:
    """The original's CustomResourceDefinition, without its columns."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1beta1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": free},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "batchreleases.rollouts.kruise.io"},
        "spec": {
            "group": "rollouts.kruise.io",
            "names": {
                "plural": "batchreleases",
                "singular": "batchrelease",
                "kind": "BatchRelease",
                "listKind": "BatchReleaseList",
            },
            "scope": "Namespaced",
            "versions": [version],
        },
    }


async def waits_at_its_step(story: Story) -> None:
    """The release has gone half of its way."""
    await story.begin()
    await story.reach(STEP)


class Original:
    """Writes as the original controller: our webhooks are not called."""

    def __init__(self, client: ApiClient, admin: ApiClient) -> None:
        self._client = client
        self._admin = admin
        self.ended: dict[str, int] = {}
        """The revision of its last write, by namespace."""

    async def leaves(self, story: Story) -> None:
        """Every object of a release in the form of the original."""
        app = story.app
        style = "blueGreen" if app.blue_green else "canary" if app.canary else "partition"
        rollout = await story.client.get(path_of(story.key(ROLLOUTS)))
        held = await self._admin.create(
            collection(BATCH_RELEASES, app.namespace), originals.batch_release(rollout)
        )
        uid = held["metadata"]["uid"]
        await self.rewrite(story, story.workload, app.name, partial(_workload, style, uid))
        for extra in await self._named(story, DEPLOYMENTS):
            if extra != app.name:
                rewritten = partial(originals.canary_deployment, rollout=app.name, uid=uid)
                await self.rewrite(story, DEPLOYMENTS, extra, rewritten)
        if app.blue_green:
            await self.rewrite(story, AUTOSCALERS, app.name, originals.autoscaler)
        if app.virtual_service:
            await self.rewrite(story, VIRTUAL_SERVICES, app.name, originals.without_ours)
            await self.rewrite(story, SERVICES, app.name, originals.without_ours)
            made = partial(originals.canary_service, rollout=rollout)
            await self.rewrite(story, SERVICES, app.canary_service, made)
        await self.rewrite(story, ROLLOUTS, app.name, originals.status, "/status")

    async def _named(self, story: Story, kind: Kind) -> list[str]:
        found = await self._client.get(collection(kind, story.app.namespace))
        return [item["metadata"]["name"] for item in found["items"]]

    async def rewrite(
        self,
        story: Story,
        kind: Kind,
        name: str,
        how: Callable[[JsonObject], JsonObject],
        subresource: str = "",
    ) -> None:
        """Write an object in another form; repeated if its own controller has written in between."""
        path = path_of(story.key(kind, name))
        parts = ("status",) if subresource else ("metadata", "spec")
        target = f"{path}{subresource}?fieldManager=moonshift"
        while True:
            new = how(await self._client.get(path))
            operations: Any = [
                {"op": "replace", "path": f"/{part}", "value": new[part]} for part in parts
            ]
            try:
                answer = await self._client.patch(target, operations, JSON_PATCH)
            except RequestRefused as refused:
                if refused.status != HTTPStatus.CONFLICT:
                    raise
            else:
                self.ended[story.app.namespace] = int(answer["metadata"]["resourceVersion"])
                return


def _workload(style: str, uid: str, obj: JsonObject) -> JsonObject:
    return originals.workload(obj, style, uid)


async def is_foretold(story: Story) -> None:
    """The command line reports that each object will be taken over, and asks for no action."""
    findings = await checked(story)
    kinds = {item["kind"] for item in findings}
    assert {"Rollout", "BatchRelease", story.app.kind_name} <= kinds, findings
    assert not [item for item in findings if item["first"]], findings
    (rollout,) = [item for item in findings if item["kind"] == "Rollout"]
    assert f"goes on at step {STEP}" in rollout["says"]


async def checked(story: Story) -> list[JsonObject]:
    """The output of `takeover --check` for programs."""
    words = ("takeover", "--check", "-n", story.app.namespace, "-o", "json")
    code, output = await moonshift(story.plane, *words)
    assert code == 0, output
    found: list[JsonObject] = json.loads(output)["items"]
    return found


async def goes_on(original: Original, story: Story) -> None:
    """The release waits at the same step, with the same pods."""
    await story.event("ReleaseTakenOver")
    await story.settled(STEP)
    await story.until(
        ROLLOUTS,
        lambda rollout: (
            "moonshift" in rollout["status"] and at(rollout["status"], STEP, "StepPaused")
        ),
        after=original.ended[story.app.namespace] + 1,
    )


async def nothing_of_the_original_is_left(story: Story) -> None:
    """No BatchRelease and no mark of the original is left."""
    await story.recorder.caught_up()
    with pytest.raises(RequestRefused, match="404"):
        await story.client.get(path_of(story.key(BATCH_RELEASES)))
    for key, obj in story.recorder.state().items():
        # Its own controller copies a Deployment's annotations to each ReplicaSet, where they mean nothing.
        if key.namespace == story.app.namespace and key.kind not in (EVENTS, REPLICA_SETS):
            text = json.dumps({k: v for k, v in obj["metadata"].items() if k != "managedFields"})
            assert not [word for word in OF_THE_ORIGINAL if word in text], (key, text)


async def is_approved_to_its_end(original: Original, story: Story) -> None:
    """The new version, under every invariant."""
    await nothing_of_the_original_is_left(story)
    assert [item["says"] for item in await checked(story)] == [
        "Moonshift leads its release already"
    ]
    await story.approve(STEP)
    await story.approve_all(STEP + 1)
    await concluded(original, story)


async def is_undone(original: Original, story: Story) -> None:
    """The stable version again, under every invariant."""
    await story.release(STABLE_IMAGE)
    await concluded(original, story)
    await nothing_of_the_original_is_left(story)


async def concluded(original: Original, story: Story) -> None:
    """The release is over, and no invariant was broken after the original had ended."""
    await story.completed()
    found = await story.violations()
    kept = [
        one
        for one in found
        if one.revision > original.ended[story.app.namespace] or not one.revision
    ]
    assert not kept, "\n".join(map(str, kept)) + "\n" + story.report()


async def left_by_the_original(
    product: Product,
    crowd: Crowd,
    begins: UserAction = waits_at_its_step,
    whose: type[Original] = Original,
) -> Original:
    """Releases begin, the controller ends, and everything is as the original leaves it."""
    plane = product.plane
    await plane.apply(json.dumps(definition()))
    await plane.crds_served(definition()["metadata"]["name"])
    await crowd.all(begins)
    await product.controller.terminate()
    token = await plane.service_account_token(NAMESPACE, CONTROLLER)
    async with plane.client_for_token(token) as client:
        original = whose(client, plane.client())
        await crowd.all(original.leaves)
    await crowd.all(is_foretold)
    return original


Ending = Callable[[Original, Story], Awaitable[None]]


async def plays(
    styles: Mapping[str, Application], ending: Ending, product: Product, recorder: Recorder
) -> None:
    """A release of every style is left by the original, goes on, and ends."""
    crowd = Crowd(await settled_in(styles, product, recorder))
    try:
        original = await left_by_the_original(product, crowd)
    finally:
        if not product.controller.running:
            await product.controller.start()
    await crowd.all(partial(goes_on, original))
    await crowd.all(partial(ending, original))
    assert not crowd.failures, "\n".join(crowd.failures.values())


@pytest.mark.parametrize("ending", [is_approved_to_its_end, is_undone])
async def test_a_release_of_the_original_goes_on_and_ends_as_people_want(
    ending: Ending, product: Product, recorder: Recorder
) -> None:
    await plays(test_workloads.STYLES, ending, product, recorder)


@pytest.mark.full
@pytest.mark.parametrize("ending", [is_approved_to_its_end, is_undone])
async def test_a_release_of_an_openkruise_workload_is_taken_over(
    ending: Ending, kruise_product: Product, kruise_recorder: Recorder
) -> None:
    await plays(test_kruise_workloads.STYLES, ending, kruise_product, kruise_recorder)
