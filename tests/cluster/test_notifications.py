"""A real controller tells a real HTTP receiver what happens, also when either of them was away."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from demo.stage import Product, install_gateway_kinds
from localcluster.api import JsonObject
from localcluster.errors import RequestRefused
from localcluster.history import Kind
from localcluster.plane import Plane
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.conftest import fresh_namespace
from tests.cluster.killed import replace_controller
from tests.cluster.kinds import RECORDED, collection
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.secrecy import MORE_IS_LOGGED, kept_product
from tests.cluster.story import Story
from tests.serving import served

NOTIFICATIONS = Kind("rollouts.kruise.io", "v1alpha1", "notifications")
CLUSTER_NOTIFICATIONS = Kind("rollouts.kruise.io", "v1alpha1", "clusternotifications")
HEAD = {"apiVersion": "rollouts.kruise.io/v1alpha1", "kind": "Notification"}
APP = Application("web", "", False, (StepPlan(2, 50), StepPlan(4)), virtual_service=True)


@dataclass(slots=True)
class Receiver:
    """A server that takes events, or is busy."""

    address: str = ""
    busy: bool = False
    tried: list[str] = field(default_factory=list)
    taken: list[tuple[str, JsonObject]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        name = request.headers["Idempotency-Key"]
        self.tried.append(name)
        if not self.busy:
            self.taken.append((name, json.loads(await request.text())))
        self.changed.set()
        headers = {"Retry-After": "1"} if self.busy else {}
        return web.Response(status=503 if self.busy else 204, headers=headers)

    async def took(self, *reasons: str) -> None:
        """Return when it has these events, in this order."""
        async with asyncio.timeout(60):
            while [event["reason"] for _, event in self.taken] != list(reasons):
                self.changed.clear()
                await self.changed.wait()


@dataclass(frozen=True, slots=True)
class Telling:
    """Moonshift, which may tell the receiver."""

    product: Product
    receiver: Receiver
    recorder: Recorder


@pytest.fixture(scope="module")
async def telling(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Telling]:
    """Give all of it, on a plane of its own."""
    receiver = Receiver()
    async with (
        served(receiver.handle) as receiver.address,
        Plane.start(tmp_path_factory.mktemp("telling-plane")) as plane,
    ):
        extra = (f"--analysis-allow-post={receiver.address}", MORE_IS_LOGGED)
        await install_gateway_kinds(plane)
        async with (
            kept_product(plane, tmp_path_factory.mktemp("telling"), extra=extra) as product,
            plane.recorder(*RECORDED) as recorder,
        ):
            yield Telling(product, receiver, recorder)


@pytest.fixture
async def story(telling: Telling) -> AsyncIterator[Story]:
    """Give the application, its pods ready."""
    receiver = telling.receiver
    receiver.busy, receiver.tried, receiver.taken = False, [], []
    async with fresh_namespace(telling.product.plane) as namespace:
        app = Application(
            f"web-{namespace[-5:]}", namespace, False, APP.steps, virtual_service=True
        )
        found = Story(telling.product.plane, telling.recorder, app)
        await found.install()
        yield found


def told(receiver: Receiver, **changes: object) -> JsonObject:
    """The packaged webhook tells the receiver everything."""
    spec = {
        "script": "webhook",
        "params": {"address": f"{receiver.address}/told"},
        "events": ["Started", "WaitsForApproval", "Finished", "RolledBack"],
        "link": "https://x.example/{{ namespace }}/{{ rollout }}",
        **changes,
    }
    return {**HEAD, "metadata": {"name": "chat"}, "spec": spec}


async def stored(story: Story) -> JsonObject:
    """The Notification as the API server has it."""
    return await story.client.get(f"{collection(NOTIFICATIONS, story.app.namespace)}/chat")


async def test_a_release_is_told_though_target_and_controller_were_away(
    telling: Telling, story: Story
) -> None:
    receiver = telling.receiver
    place = collection(NOTIFICATIONS, story.app.namespace)
    await story.client.create(place, told(receiver))
    await story.govern(manifests.rollout(story.app))
    await story.release(manifests.NEW_IMAGE)
    await receiver.took("ReleaseStarted", "WaitsForApproval")
    receiver.busy = True
    await story.approve()
    await story.completed()
    async with asyncio.timeout(60):
        while len(receiver.tried) < 3:
            receiver.changed.clear()
            await receiver.changed.wait()
    await replace_controller(telling.product)
    receiver.busy = False
    await receiver.took("ReleaseStarted", "WaitsForApproval", "ReleaseCompleted")
    ids = [name for name, _ in receiver.taken]
    assert len(set(ids)) == 3
    assert set(receiver.tried) == set(ids), "a repetition has the id of the first try"
    event = receiver.taken[1][1]
    assert event["link"] == f"https://x.example/{story.app.namespace}/{story.app.name}"
    assert event["next"] == f"kubectl moonshift approve {story.app.name} -n {story.app.namespace}"
    assert await remembered(story, ids)


async def remembered(story: Story, ids: list[str]) -> bool:
    """Return once the stored status says that all of it was sent."""
    async with asyncio.timeout(30):
        while True:
            status = (await stored(story)).get("status", {})
            (ready,) = status["conditions"]
            if [one["id"] for one in status.get("told", ())] == ids and "waiting" not in status:
                return bool(ready["status"] == "True")
            await asyncio.sleep(0.2)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"script": ""}, "spec.script"),
        ({"events": ["Finish"]}, "spec.events"),
        ({"perMinute": 0}, "spec.perMinute"),
        ({"namespaces": ["shop"]}, "unknown field"),
    ],
)
async def test_the_api_server_refuses_a_notification_that_says_what_cannot_be(
    telling: Telling, change: JsonObject, says: str
) -> None:
    client = telling.product.plane.client()
    path = f"{collection(NOTIFICATIONS, 'default')}?fieldValidation=Strict&dryRun=All"
    with pytest.raises(RequestRefused, match=says):
        await client.create(path, told(telling.receiver, **change))


async def test_a_cluster_notification_names_namespaces(telling: Telling) -> None:
    body = {**told(telling.receiver, namespaces=["shop"]), "kind": "ClusterNotification"}
    path = f"{CLUSTER_NOTIFICATIONS.path}?fieldValidation=Strict&dryRun=All"
    answer = await telling.product.plane.client().create(path, body)
    assert answer["spec"]["perMinute"] == 30
