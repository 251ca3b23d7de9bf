"""A change of a ConfigMap or Secret is released, and rolled back, with its pods, on a real control plane."""

import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import aiohttp
import pytest
import yaml

from controller.api.names import CONFIG_HASH, POD_TEMPLATE_HASH, ROLLOUT_UID, TRACK_CONFIG
from controller.kube.event_gathering import HOLD_SECONDS
from demo.stage import CONTROLLER, NAMESPACE, ROOT, Product
from localcluster.api import JsonObject
from localcluster.audit import AuditRecord, count
from localcluster.history import Change, Key, Kind
from localcluster.plane import Plane
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.conftest import fresh_namespace
from tests.cluster.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    EVENTS,
    RECORDED,
    ROLLOUTS,
    collection,
    path_of,
)
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.secrecy import MORE_IS_LOGGED, kept_product
from tests.cluster.secrecy import OF_SECRETS as HUSH
from tests.cluster.status_fields import condition, instant
from tests.cluster.story import Story

LEASES = Kind("coordination.k8s.io", "v1", "leases")
SETTLED_SECONDS, QUIET_SECONDS = HOLD_SECONDS + 4, 14
"""The last Events of a release are held first, to be combined with later ones; there are no requests only after
that."""
SECRETS = Kind("", "v1", "secrets")
ROLES = ROOT / "deploy" / "kustomize" / "track-config"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{CONTROLLER}"
APP = Application("web", "", False, (StepPlan(1), StepPlan(2), StepPlan(4)))
VOLUME: JsonObject = {
    "volumes": [{"name": "conf", "configMap": {"name": "web"}}],
    "containers": [
        {
            "name": "main",
            "image": manifests.STABLE_IMAGE,
            "envFrom": [{"secretRef": {"name": "web"}}],
            "volumeMounts": [{"name": "conf", "mountPath": "/etc/nginx/conf.d"}],
        }
    ],
}


@pytest.fixture(scope="module")
async def tracking(
    ground: Plane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Product]:
    """Give Moonshift started with the flag, and the rights for it."""
    for kind in ("configmaps", "secrets"):
        await ground.kubectl("apply", "-f", str(ROLES / kind / "role.yaml"))
    folder = tmp_path_factory.mktemp("tracking")
    extra = ("--track-config=configmaps,secrets", MORE_IS_LOGGED)
    async with kept_product(ground, folder, extra=extra) as running:
        yield running


@pytest.fixture(scope="module")
async def tracked_releases(tracking: Product) -> AsyncIterator[Recorder]:
    """Give a recording of all objects that these releases touch."""
    here = tuple(kind for kind in RECORDED if kind.group != "networking.istio.io")
    async with tracking.plane.recorder(*here) as started:
        yield started


@pytest.fixture
async def story(tracking: Product, tracked_releases: Recorder) -> AsyncIterator[Story]:
    """Give an application under a Rollout that asks for tracking, its pods ready and its content kept."""
    async with fresh_namespace(tracking.plane) as namespace:
        yield await governed(tracking, tracked_releases, namespace)


async def governed(product: Product, recorder: Recorder, namespace: str) -> Story:
    """Install the application and its Rollout."""
    story = Story(product.plane, recorder, replace(APP, namespace=namespace))
    await says(story, CONFIG_MAPS, "v1")
    await says(story, SECRETS, f"{HUSH}-v1")
    body = manifests.deployment(story.app)
    body["spec"]["template"]["spec"] = VOLUME
    await story.create(body)
    await story.pods_ready()
    rollout = manifests.rollout(story.app)
    rollout["metadata"]["annotations"] = {TRACK_CONFIG: "true"}
    await story.govern(rollout)
    return story


async def says(story: Story, kind: Kind, text: str) -> None:
    """The owner applies the ConfigMap or Secret."""
    body: JsonObject = {
        "apiVersion": "v1",
        "metadata": {"name": "web", "namespace": story.app.namespace},
    }
    if kind == SECRETS:
        body |= {"kind": "Secret", "stringData": {"index": text}}
        body["metadata"]["annotations"] = {TRACK_CONFIG: "true"}
    else:
        body |= {"kind": "ConfigMap", "data": {"index": text}}
    await story.plane.apply(yaml.safe_dump(body), server_side=True)


async def content(story: Story, kind: Kind, name: str = "web") -> str:
    found = await story.plane.client().get(path_of(Key(kind, story.app.namespace, name)))
    text: str = found["data"]["index"]
    return base64.b64decode(text).decode() if kind == SECRETS else text


async def copies(story: Story, kind: Kind) -> list[JsonObject]:
    """The copies that are kept."""
    found = await story.plane.client().get(
        collection(kind, story.app.namespace), labelSelector=ROLLOUT_UID
    )
    items: list[JsonObject] = found["items"]
    return items


def recorded(status: JsonObject) -> JsonObject:
    found: JsonObject = status.get("moonshift", {}).get("config", {})
    return found


async def kept(story: Story) -> None:
    """The content of the running pods is recorded; its copies are created in the same pass, before the record."""
    await story.rollout(
        lambda s: recorded(s).get("stable") is not None and "update" not in recorded(s)
    )


def new_pods(story: Story) -> list[JsonObject]:
    """Pods whose template was stamped."""
    return [
        pod for pod in story.pods() if CONFIG_HASH in (pod["metadata"].get("annotations") or {})
    ]


async def changed(story: Story, kind: Kind, text: str) -> None:
    """The content changes, and its release waits at the first step with one new pod."""
    await kept(story)
    await says(story, kind, text)
    await story.paused_at(1)
    assert len(new_pods(story)) == 1


async def approve_to_the_end(story: Story) -> None:
    await story.approve(1)
    await story.paused_at(2)
    await story.approve(2)
    await story.rollout(lambda s: condition(s, "Succeeded").get("status") == "True")


@pytest.mark.parametrize("kind", [CONFIG_MAPS, SECRETS], ids=lambda kind: kind.plural)
async def test_a_changed_content_is_released_step_by_step(story: Story, kind: Kind) -> None:
    text = "v2" if kind == CONFIG_MAPS else f"{HUSH}-v2"
    await changed(story, kind, text)
    await approve_to_the_end(story)
    assert len(new_pods(story)) == APP.replicas
    (copy,) = await copies(story, kind)
    assert await content(story, kind, copy["metadata"]["name"]) == text
    assert copy["metadata"]["ownerReferences"][0]["kind"] == "Rollout"


@pytest.mark.parametrize("kind", [CONFIG_MAPS, SECRETS], ids=lambda kind: kind.plural)
async def test_undoing_the_workload_puts_the_content_back(story: Story, kind: Kind) -> None:
    text = "v1" if kind == CONFIG_MAPS else f"{HUSH}-v1"
    await changed(story, kind, f"{HUSH}-v2")
    stable = {
        pod["metadata"]["labels"][POD_TEMPLATE_HASH]
        for pod in story.pods()
        if pod not in new_pods(story)
    }
    await story.plane.kubectl(
        "rollout", "undo", f"deployment/{story.app.name}", "-n", story.app.namespace
    )
    await story.rollout(lambda s: condition(s, "Succeeded").get("status") == "False")
    await story.pods_ready()
    assert await content(story, kind) == text
    running = {
        pod["metadata"]["labels"][POD_TEMPLATE_HASH]
        for pod in story.pods()
        if not pod["metadata"].get("deletionTimestamp")
    }
    assert running == stable
    # The owner's next server-side apply meets no other owner of the content.
    await says(story, kind, f"{HUSH}-v3")
    await story.paused_at(1)


async def test_a_content_that_is_put_back_during_a_release_is_a_rollback(story: Story) -> None:
    await changed(story, CONFIG_MAPS, "v2")
    await says(story, CONFIG_MAPS, "v1")
    await story.rollout(lambda s: condition(s, "Succeeded").get("status") == "False")
    await story.pods_ready()
    workload = await story.client.get(path_of(story.key(DEPLOYMENTS)))
    assert CONFIG_HASH not in (workload["spec"]["template"]["metadata"].get("annotations") or {})


async def test_the_content_of_a_secret_appears_nowhere_else(
    story: Story, tracking: Product
) -> None:
    await changed(story, SECRETS, f"{HUSH}-v2")
    await approve_to_the_end(story)
    rollout = await story.client.get(path_of(story.key(ROLLOUTS)))
    events = [c.object for c in story.recorder.history() if c.key.kind == EVENTS]
    maps = await story.plane.client().get(collection(CONFIG_MAPS, story.app.namespace))
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{tracking.controller_metrics}/metrics") as answer,
    ):
        metrics = await answer.text()
    log = (tracking.folder / "controller.log").read_text()
    encoded = [base64.b64encode(f"{HUSH}-v{at}".encode()).decode() for at in (1, 2)]
    for place in (str(rollout), str(events), str(maps), metrics, log):
        assert not [text for text in (HUSH, *encoded) if text in place]


async def test_no_request_is_sent_after_a_release(story: Story) -> None:
    await changed(story, CONFIG_MAPS, "v2")
    await approve_to_the_end(story)
    await kept(story)
    async with story.plane.recorder(LEASES) as leases:
        first = await leases.until(is_renewal)
        since = instant(first.object["spec"]["renewTime"])
        # The last write of the release, a copy or an Event, may come later.
        await leases.until(lambda c: is_renewal(c) and renewed(c, since) >= SETTLED_SECONDS)
        mark = story.plane.audit.mark()
        await leases.until(lambda c: is_renewal(c) and renewed(c, since) >= QUIET_SECONDS)
    here = story.app.namespace
    made = story.plane.audit.since(
        mark, user=ACCOUNT, where=lambda r: r.namespace in ("", here) and not r.is_watch
    )
    assert not made, count(made)


def is_renewal(change: Change) -> bool:
    """Renewals of the Lease, every two seconds, measure the time."""
    return change.key.kind == LEASES and change.key.namespace == NAMESPACE


def renewed(change: Change, since: datetime) -> float:
    return (instant(change.object["spec"]["renewTime"]) - since).total_seconds()


def of_content(record: AuditRecord) -> bool:
    """A request for ConfigMaps or Secrets of others than the controller's own namespace."""
    return record.resource in ("configmaps", "secrets") and record.namespace != NAMESPACE


async def test_without_the_flag_nothing_is_watched_and_the_rollout_says_which_flag(
    product: Product, recorder: Recorder, namespace_of_product: str
) -> None:
    mark = product.plane.audit.mark()
    story = await governed(product, recorder, namespace_of_product)
    rollout = await story.rollout(lambda s: condition(s, "ConfigTracked") != {})
    reported: dict[str, Any] = condition(rollout.object["status"], "ConfigTracked")
    assert (reported["status"], reported["reason"]) == ("False", "TrackingOff")
    assert "--track-config" in reported["message"]
    await says(story, CONFIG_MAPS, "v2")
    await story.release(manifests.NEW_IMAGE)
    await story.paused_at(1)
    await approve_to_the_end(story)
    asked = product.plane.audit.since(mark, user=ACCOUNT, where=of_content)
    assert not asked, count(asked)
