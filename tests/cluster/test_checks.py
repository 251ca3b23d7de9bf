"""Releases that wait for checks: Flagger's own loadtester, and a service of load tests, asked by the real product."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web

from controller.api.names import CONFIGURATION
from demo.stage import NAMESPACE, Product, install_gateway_kinds
from localcluster.api import JsonObject
from localcluster.loadtester import Loadtester, started_loadtester
from localcluster.plane import Plane
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.conftest import fresh_namespace
from tests.cluster.killed import replace_controller
from tests.cluster.kinds import RECORDED, ROLLOUTS
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.secrecy import MORE_IS_LOGGED, kept_product
from tests.cluster.status_fields import condition
from tests.cluster.story import Story, conclude
from tests.load_tests import LOAD_TEST
from tests.serving import served

APP = Application("web", "", False, (StepPlan(2, 50, 0), StepPlan(4)), virtual_service=True)
ANSWER_SECONDS = 25
"""A rollback that ends within this time has not waited for a system that answers in twice of it."""


class LoadTests:
    """A service of load tests: who starts one under which key, and how often each was looked at."""

    def __init__(self) -> None:
        self.address = ""
        self.keys: list[tuple[str, str]] = []
        self.looks: dict[int, int] = {}

    async def answer(self, request: web.Request) -> web.Response:
        """Start a test, or answer its state: it ends with the fourth look."""
        if request.method == "POST":
            asked = await request.json()
            found = (asked["rollout"], asked["key"])
            self.keys.append(found)
            return web.json_response({"id": self.keys.index(found) + 1})
        run = int(request.path.rpartition("/")[2])
        self.looks[run] = self.looks.get(run, 0) + 1
        return web.json_response({"id": run, "done": self.looks[run] >= 4})


@asynccontextmanager
async def served_tests() -> AsyncIterator[LoadTests]:
    """The service."""
    found = LoadTests()
    async with served(found.answer) as found.address:
        yield found


@dataclass(frozen=True, slots=True)
class Checked:
    """Moonshift beside a loadtester of Flagger and a service of load tests."""

    product: Product
    loadtester: Loadtester
    tests: LoadTests
    recorder: Recorder


@pytest.fixture(scope="module")
async def checked(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Checked]:
    """Give all of it, on a plane of its own."""
    async with (
        started_loadtester(tmp_path_factory.mktemp("loadtester")) as loadtester,
        served_tests() as tests,
        Plane.start(tmp_path_factory.mktemp("checks-plane")) as plane,
    ):
        await install_gateway_kinds(plane)
        allowed = [f"--analysis-allow-post={one.address}" for one in (loadtester, tests)]
        async with (
            kept_product(
                plane, tmp_path_factory.mktemp("checks"), extra=(*allowed, MORE_IS_LOGGED)
            ) as product,
            plane.recorder(*RECORDED) as recorder,
        ):
            scripts = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": CONFIGURATION},
                "data": {"lua.check.load": LOAD_TEST},
            }
            await plane.client().create(f"/api/v1/namespaces/{NAMESPACE}/configmaps", scripts)
            yield Checked(product, loadtester, tests, recorder)


@pytest.fixture
async def story(checked: Checked) -> AsyncIterator[Story]:
    """Give the application, its pods ready."""
    async with fresh_namespace(checked.product.plane) as namespace:
        app = Application("web", namespace, False, APP.steps, virtual_service=True)
        found = Story(checked.product.plane, checked.recorder, app)
        await found.install()
        yield found


def webhook(checked: Checked, path: str, name: str = "hook", **more: object) -> JsonObject:
    """A check that is a hook of Flagger; `metadata` is a tree."""
    metadata = more.pop("metadata", None)
    params = {"address": f"{checked.loadtester.address}{path}"}
    if metadata is not None:
        params["metadata"] = json.dumps(metadata)
    return {"name": name, "script": "flagger-webhook", "params": params, **more}


async def governed(story: Story, *checks: JsonObject, start: tuple[JsonObject, ...] = ()) -> None:
    """The Rollout with these checks of its first step, and the release of a new version."""
    body = manifests.rollout(story.app)
    plan = body["spec"]["strategy"]["canary"]
    plan["steps"][0]["checks"] = list(checks)
    plan["checks"] = list(start)
    await story.govern(body)
    await story.release(manifests.NEW_IMAGE)


def runs(status: JsonObject) -> Mapping[str, JsonObject]:
    return {run["name"]: run for run in status.get("moonshift", {}).get("checks", ())}


def records(status: JsonObject) -> Mapping[str, JsonObject]:
    visits = status["moonshift"]["visits"]
    return {one["name"]: one for visit in visits for one in visit.get("checks", ())}


def canary(story: Story) -> dict[str, object]:
    """The body with which a person opens or closes a gate."""
    return {"name": story.app.name, "namespace": story.app.namespace}


async def test_a_gate_of_flaggers_loadtester_holds_a_release_until_it_is_opened(
    checked: Checked, story: Story
) -> None:
    gate = webhook(checked, "/gate/check", at="before")
    await governed(story, gate)
    await story.rollout(lambda s: "answered 403: Forbidden" in s.get("message", ""))
    assert not [pod for pod in story.pods() if pod["spec"]["containers"][0]["image"] == "shop:v2"]
    assert await checked.loadtester.post("/gate/open", canary(story)) == 202
    await conclude(story)
    found = records(await story.status())["hook"]
    assert found["verdict"] == "Passed"
    assert found["message"] == "the pre-rollout hook answered 200: Approved"


async def test_flaggers_loadtester_runs_the_command_of_a_check_and_fails_a_bad_one(
    checked: Checked, story: Story, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    good = {"type": "bash", "cmd": f"echo $((6*7)) >> {ran}"}
    bad = {"type": "bash", "cmd": "exit 3"}
    await governed(
        story,
        webhook(checked, "/", "good", metadata=good),
        webhook(checked, "/", "bad", metadata=bad, timeoutSeconds=12),
    )
    held = await story.rollout(
        lambda s: (
            (c := condition(s, "Stalled")).get("status") == "True" and c["reason"] == "CheckFailed"
        )
    )
    message = condition(held.object["status"], "Stalled")["message"]
    assert (
        "check bad of step(1) failed: no yes within 12 s: the pre-rollout hook answered 500"
        in message
    )
    assert ran.read_text() == "42\n"
    await story.approve()
    await conclude(story)


async def test_rollback_outranks_a_check_that_hangs(checked: Checked, story: Story) -> None:
    hangs = webhook(checked, "/", metadata={"type": "bash", "cmd": f"sleep {2 * ANSWER_SECONDS}"})
    told = webhook(checked, "/gate/open", "told", at="rollback")
    await governed(story, hangs, told)
    await story.rollout(lambda s: "hook" in runs(s) and "wait for its checks" in s["message"])
    await story.release(manifests.STABLE_IMAGE)
    await story.rollout(
        lambda s: s.get("phase") == "Healthy" and "told" in runs(s), seconds=ANSWER_SECONDS
    )
    await story.rollout(lambda s: runs(s).get("told", {}).get("verdict") == "Passed")
    await conclude(story)


async def test_a_controller_that_is_killed_in_every_turn_starts_no_second_load_test(
    checked: Checked, story: Story
) -> None:
    params = {"address": checked.tests.address}
    before = len(checked.tests.keys)
    await governed(story, {"name": "load", "script": "load", "params": params})
    for turn in range(4):
        await story.rollout(_reached(turn))
        await replace_controller(checked.product)
    await conclude(story)
    started = checked.tests.keys[before:]
    assert len(set(started)) == 1
    assert records(await story.status())["load"]["verdict"] == "Passed"
    ids = {
        run["id"]
        for change in checked.recorder.history()
        if change.key == story.key(ROLLOUTS)
        for run in runs(change.object.get("status") or {}).values()
    }
    assert ids == {started[0][1]}


def _reached(turn: int) -> Callable[[JsonObject], bool]:
    return lambda status: _turn(status) >= turn or _ended(status)


def _turn(status: JsonObject) -> int:
    return int(runs(status).get("load", {}).get("turn", 0)) if "load" in runs(status) else -1


def _ended(status: JsonObject) -> bool:
    return any(
        one["name"] == "load"
        for visit in status.get("moonshift", {}).get("visits", ())
        for one in visit.get("checks", ())
    )
