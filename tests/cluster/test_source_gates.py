"""Releases that a packaged script of a metric judges: it asks a server of the Graphite API, with a Secret's password.

Why beside `test_gates`: the way of a Secret through the script's marks, and what a script of the installation sees of
the cluster with the controller's own rights, are true only where the worker, the rights and the objects are real.
"""

import base64
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest
from aiohttp import web

from controller.api.names import CONTROLLER_ACCOUNT
from demo.stage import NAMESPACE, Product, install_gateway_kinds
from localcluster.api import JsonObject
from localcluster.errors import RequestRefused
from localcluster.plane import Plane
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.conftest import fresh_namespace
from tests.cluster.in_turn.test_history import HISTORIES
from tests.cluster.kinds import EVENTS, RECORDED, ROLLOUTS, collection
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.secrecy import MORE_IS_LOGGED, OF_SECRETS, kept_product
from tests.cluster.status_fields import condition
from tests.cluster.story import Story
from tests.cluster.test_gates import CLUSTER_TEMPLATES, TEMPLATES, governed, stalled
from tests.serving import served

PASSWORD = f"{OF_SECRETS}-0815/+"
APP = Application("web", "", False, (StepPlan(2, 50, 0), StepPlan(4)), virtual_service=True)
QUERY = "sumSeries(shop.*.errors)"


class Graphite:
    """A server with one series; it answers only the user of the Secret, and repeats what it is sent in its errors."""

    def __init__(self) -> None:
        self.address = ""
        self.value = 0.0
        self.broken = False
        self.asked: list[str] = []

    async def render(self, request: web.Request) -> web.Response:
        """The newest point, or an error with the header and the password."""
        self.asked.append(request.query["target"])
        sent = request.headers.get("Authorization", "")
        wanted = base64.b64encode(f"gates:{PASSWORD}".encode()).decode()
        if sent != f"Basic {wanted}":
            return web.Response(text="who are you?", status=401)
        if self.broken:
            return web.Response(text=f"broken for {sent} {PASSWORD}", status=500)
        point = [self.value, int(time.time())]
        return web.json_response([{"target": QUERY, "datapoints": [point]}])


@asynccontextmanager
async def served_graphite() -> AsyncIterator[Graphite]:
    """The server."""
    found = Graphite()
    async with served(found.render) as found.address:
        yield found


@dataclass(frozen=True, slots=True)
class Asked:
    """Moonshift beside a server of the Graphite API."""

    product: Product
    graphite: Graphite
    recorder: Recorder


@pytest.fixture(scope="module")
async def asked(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Asked]:
    """Give all of it, on a plane of its own; releases are written down."""
    async with (
        served_graphite() as graphite,
        Plane.start(tmp_path_factory.mktemp("source-plane")) as plane,
    ):
        await install_gateway_kinds(plane)
        flags = (
            f"--analysis-allow={graphite.address}",
            "--feature-gates=RolloutHistory=true",
            MORE_IS_LOGGED,
        )
        async with (
            kept_product(plane, tmp_path_factory.mktemp("source"), extra=flags) as product,
            plane.recorder(*RECORDED) as recorder,
        ):
            yield Asked(product, graphite, recorder)


@pytest.fixture
async def story(asked: Asked) -> AsyncIterator[Story]:
    """Give the application, its pods ready, and a Secret that the controller may read."""
    asked.graphite.value, asked.graphite.broken = 0.0, False
    asked.graphite.asked.clear()
    plane = asked.product.plane
    async with fresh_namespace(plane) as space:
        app = Application(f"web-{space[-5:]}", space, False, APP.steps, virtual_service=True)
        found = Story(plane, asked.recorder, app)
        await found.install()
        secret: JsonObject = {
            "metadata": {"name": "graphite"},
            "stringData": {"user": "gates", "password": PASSWORD},
        }
        await plane.client().create(f"/api/v1/namespaces/{space}/secrets", secret)
        right = ("--verb=get", "--resource=secrets", "--resource-name=graphite")
        await plane.kubectl("create", "role", "gates", "-n", space, *right, user="admin")
        who = ("--role=gates", f"--serviceaccount={NAMESPACE}:{CONTROLLER_ACCOUNT}")
        await plane.kubectl("create", "rolebinding", "gates", "-n", space, *who, user="admin")
        yield found


async def may_be_sent(asked: Asked, story: Story) -> None:
    """The owner of the Secret says where its values may go."""
    command = ("annotate", "secret", "graphite", "moonshift.dev/send-to=127.0.0.1")
    await asked.product.plane.kubectl(*command, "-n", story.app.namespace, user="admin")


def metric(address: str, **changes: object) -> JsonObject:
    """Errors that Graphite counts, asked every second twice."""
    secrets = {name: {"name": "graphite", "key": name} for name in ("user", "password")}
    params = {"query": QUERY, "address": address}
    return {
        "name": "errors",
        "source": {"script": "graphite", "params": params, "secrets": secrets},
        "success": {"max": 5},
        "interval": "1s",
        "count": 2,
        **changes,
    }


async def shows_no_secret(asked: Asked, story: Story) -> None:
    """No object that the controller writes has the password, as it is or encoded."""
    client, space = asked.product.plane.client(), story.app.namespace
    encoded = base64.b64encode(f"gates:{PASSWORD}".encode()).decode()
    for kind in (ROLLOUTS, EVENTS, HISTORIES):
        found = await client.get(collection(kind, space))
        assert found["items"], kind
        text = json.dumps(found)
        assert [part for part in (OF_SECRETS, encoded[:24]) if part in text] == [], kind


async def test_a_packaged_script_lets_a_release_go_on_once_its_secret_may_be_sent(
    asked: Asked, story: Story
) -> None:
    await governed(story, {"metrics": [metric(asked.graphite.address, consecutiveErrorLimit=1000)]})
    await story.rollout(lambda s: "moonshift.dev/send-to=127.0.0.1" in json.dumps(s))
    assert asked.graphite.asked == []
    await may_be_sent(asked, story)
    await story.completed()
    visits = (await story.status())["moonshift"]["visits"]
    assert visits[0]["analysis"] == "Passed: 1 of 1 metrics passed"
    assert set(asked.graphite.asked) == {QUERY}
    await shows_no_secret(asked, story)


async def test_a_bad_value_of_a_packaged_script_takes_the_revision_back(
    asked: Asked, story: Story
) -> None:
    asked.graphite.value = 40.0
    await may_be_sent(asked, story)
    await governed(story, {"metrics": [metric(asked.graphite.address)], "onFailure": "rollback"})
    await story.until(
        story.workload,
        lambda d: d["spec"]["template"]["spec"]["containers"][0]["image"] == manifests.STABLE_IMAGE,
        after=story.actions[-1].revision,
    )
    await story.rollout(lambda s: s.get("phase") == "Healthy")
    await shows_no_secret(asked, story)


async def test_a_server_that_repeats_the_password_holds_the_step_without_it(
    asked: Asked, story: Story
) -> None:
    asked.graphite.broken = True
    await may_be_sent(asked, story)
    await governed(story, {"metrics": [metric(asked.graphite.address, consecutiveErrorLimit=0)]})
    message = await stalled(story, "AnalysisInconclusive")
    assert "Graphite answered 500: broken for Basic" in message
    asked.graphite.broken = False
    await story.approve()
    await story.completed()
    await shows_no_secret(asked, story)


async def test_a_packaged_check_asks_for_a_rollout_with_the_controllers_rights(
    asked: Asked, story: Story
) -> None:
    params = {"rollout": "nowhere"}
    checks = [{"name": "other", "script": "rollout-of-another-service", "params": params}]
    body = manifests.rollout(story.app)
    body["spec"]["strategy"]["canary"]["steps"][0]["checks"] = checks
    await story.govern(body)
    await story.release(manifests.NEW_IMAGE)
    found = await story.rollout(lambda s: condition(s, "Stalled").get("reason") == "CheckFailed")
    message = condition(found.object["status"], "Stalled")["message"]
    assert "there is no Rollout nowhere" in message
    await story.approve()
    await story.completed()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"source": {"params": {"query": "a"}}}, r"source\.script.*Required value"),
        ({"source": {"script": "../graphite"}}, r"source\.script.*should match"),
        ({"prometheus": {"query": "up"}}, "exactly one of .* source"),
        ({"source": {"script": "graphite", "timeoutSeconds": 31}}, "less than or equal to 30"),
    ],
)
async def test_a_source_that_cannot_be_is_refused_in_words(
    asked: Asked, changes: JsonObject, says: str
) -> None:
    client, bad = asked.product.plane.client(), metric("http://graphite", **changes)
    body = manifests.rollout(replace(APP, namespace="default"))
    body["spec"]["strategy"]["canary"]["steps"][0]["analysis"] = {"metrics": [bad]}
    with pytest.raises(RequestRefused, match=says):
        await client.create(collection(ROLLOUTS, "default"), body)
    await refused_in_templates(asked, bad, says)


async def test_a_script_of_the_namespace_in_a_template_is_refused_in_words(asked: Asked) -> None:
    source = {"script": "a", "scriptRef": {"name": "ours", "serviceAccountName": "gates"}}
    says = "scriptRef may stand only in a Rollout, where its author's right to the ServiceAccount"
    await refused_in_templates(asked, metric("", source=source), says)


async def refused_in_templates(asked: Asked, bad: JsonObject, says: str) -> None:
    """Neither kind of template may have the metric."""
    client = asked.product.plane.client()
    places = (collection(TEMPLATES, "default"), CLUSTER_TEMPLATES.path)
    for path, kind in zip(places, ("AnalysisTemplate", "ClusterAnalysisTemplate"), strict=True):
        template: JsonObject = {
            "apiVersion": "rollouts.kruise.io/v1alpha1",
            "kind": kind,
            "metadata": {"name": "bad"},
            "spec": {"metrics": [bad]},
        }
        with pytest.raises(RequestRefused, match=says):
            await client.create(path, template)
