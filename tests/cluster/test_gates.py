"""Releases whose steps wait for a real Prometheus, which scrapes a page that the test drives."""

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from controller.api.names import CONTROLLER_ACCOUNT
from demo.stage import NAMESPACE, ROOT, Product, install_gateway_kinds
from localcluster.api import JsonObject
from localcluster.errors import RequestRefused
from localcluster.history import Kind
from localcluster.metric_pages import MetricPage, served_page
from localcluster.plane import Plane
from localcluster.prometheus import Prometheus, started_prometheus
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.conftest import fresh_namespace
from tests.cluster.killed import replace_controller
from tests.cluster.kinds import PODS, RECORDED, ROLLOUTS, VIRTUAL_SERVICES, collection
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.secrecy import MORE_IS_LOGGED, OF_SECRETS, kept_product
from tests.cluster.status_fields import condition
from tests.cluster.story import Story

GATE_TOKEN = f"{OF_SECRETS}-4711"
EVENTS = Kind("events.k8s.io", "v1", "events")
JOBS = Kind("batch", "v1", "jobs")
TEMPLATES = Kind("rollouts.kruise.io", "v1alpha1", "analysistemplates")
CLUSTER_TEMPLATES = Kind("rollouts.kruise.io", "v1alpha1", "clusteranalysistemplates")
APP = Application("web", "", False, (StepPlan(2, 50, 0), StepPlan(4)), virtual_service=True)
ERRORS = (
    'sum(rate(shop_requests_total{service="{{ service }}",code="500"}[{{ window }}]))'
    ' / sum(rate(shop_requests_total{service="{{ service }}"}[{{ window }}]))'
)
SAMPLES = 'sum(increase(shop_requests_total{service="{{ service }}"}[{{ window }}]))'


@dataclass(frozen=True, slots=True)
class Watched:
    """Moonshift beside a Prometheus, and the page that it scrapes."""

    product: Product
    prometheus: Prometheus
    page: MetricPage
    recorder: Recorder


@pytest.fixture(scope="module")
async def watched(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Watched]:
    """Give all of it, on a plane of its own."""
    folder = tmp_path_factory.mktemp("prometheus")
    async with (
        served_page() as page,
        started_prometheus(folder, [page.target]) as prometheus,
        Plane.start(tmp_path_factory.mktemp("gates-plane")) as plane,
    ):
        await install_gateway_kinds(plane)
        allowed = f"--analysis-allow-post={prometheus.address}"
        extra = (f"--prometheus={prometheus.address}", allowed, MORE_IS_LOGGED)
        async with (
            kept_product(plane, tmp_path_factory.mktemp("gates"), extra=extra) as product,
            plane.recorder(*RECORDED) as recorder,
        ):
            yield Watched(product, prometheus, page, recorder)


@pytest.fixture
async def story(watched: Watched) -> AsyncIterator[Story]:
    """Give the application, its pods ready; its pages are this test's alone."""
    watched.page.shares.clear()
    async with fresh_namespace(watched.product.plane) as namespace:
        app = Application(
            f"web-{namespace[-5:]}", namespace, False, APP.steps, virtual_service=True
        )
        found = Story(watched.product.plane, watched.recorder, app)
        await found.install()
        watched.page.serve(app.name, 0.0)
        yield found


def metric(**changes: object) -> JsonObject:
    """The share of errors, measured every second three times."""
    return {
        "name": "errors",
        "prometheus": {"query": ERRORS},
        "success": {"max": 0.05},
        "window": "3s",
        "interval": "1s",
        "count": 3,
        **changes,
    }


def gate(*metrics: JsonObject, **options: object) -> JsonObject:
    return {"metrics": list(metrics), **options}


async def governed(
    story: Story, analysis: JsonObject, background: JsonObject | None = None
) -> None:
    """The Rollout, with a gate at its first step, and the release of a new version."""
    body = manifests.rollout(story.app)
    plan = body["spec"]["strategy"]["canary"]
    if analysis:
        plan["steps"][0]["analysis"] = analysis
    if background:
        plan["analysis"] = background
    await story.govern(body)
    await story.release(manifests.NEW_IMAGE)


def run_of(status: JsonObject, step: int = 1) -> JsonObject:
    runs = status.get("moonshift", {}).get("analyses", ())
    return next((run for run in runs if run.get("step", 0) == step), {})


def metrics_of(status: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = run_of(status).get("metrics", [])
    return found


async def stalled(story: Story, reason: str) -> str:
    """The Stalled message, once it is there for this reason."""
    found = await story.rollout(
        lambda s: (c := condition(s, "Stalled")).get("status") == "True" and c["reason"] == reason
    )
    message: str = condition(found.object["status"], "Stalled")["message"]
    return message


def serve(watched: Watched, story: Story, errors: float) -> None:
    """The new version serves requests."""
    watched.page.serve(f"{story.app.name}-canary", errors)


async def test_a_step_goes_on_when_its_metrics_pass(watched: Watched, story: Story) -> None:
    serve(watched, story, 0.0)
    await governed(story, gate(metric()))
    await story.completed()
    visits = (await story.status())["moonshift"]["visits"]
    assert visits[0]["analysis"] == "Passed: 1 of 1 metrics passed"


async def test_a_posted_question_and_a_page_of_text_judge_a_step(
    watched: Watched, story: Story
) -> None:
    address = watched.prometheus.address
    healthy = {"url": f"{address}/-/healthy", "format": "text"}
    posted = {
        "url": f"{address}/api/v1/query",
        "method": "POST",
        "body": "query=1",
        "headers": [{"name": "Content-Type", "value": "application/x-www-form-urlencoded"}],
        "valuePath": "status",
    }
    asked = {"interval": "1s", "consecutiveSuccess": 2}
    await governed(
        story,
        gate(
            {"name": "text", "web": healthy, "success": {"matches": "is Healthy[.]$"}, **asked},
            {"name": "posted", "web": posted, "success": {"equals": "success"}, **asked},
        ),
    )
    status = (await story.completed()).object["status"]
    text, answer = status["moonshift"]["visits"][0]["metrics"]
    assert [one["verdict"] for one in (text, answer)] == ["Passed", "Passed"]
    assert [one.get("value") for one in answer["readings"]] == ["success", "success"]
    assert [one.get("value") for one in text["readings"]] == [None, None]
    assert "Healthy." not in str(status)


async def test_a_rising_error_rate_holds_the_step_and_a_person_may_go_on(
    watched: Watched, story: Story
) -> None:
    serve(watched, story, 0.4)
    await governed(story, gate(metric()))
    message = await stalled(story, "AnalysisFailed")
    assert "is above 0.05" in message
    await story.approve()
    await story.completed()


async def test_a_rising_error_rate_takes_the_revision_back(watched: Watched, story: Story) -> None:
    serve(watched, story, 0.4)
    await governed(story, gate(metric(), onFailure="rollback"))
    await story.until(
        story.workload,
        lambda d: d["spec"]["template"]["spec"]["containers"][0]["image"] == manifests.STABLE_IMAGE,
        after=story.actions[-1].revision,
    )
    await story.until(
        VIRTUAL_SERVICES, lambda v: v["spec"] == story.expected[story.key(VIRTUAL_SERVICES)]["spec"]
    )


async def test_the_new_revision_is_held_against_the_stable_one(
    watched: Watched, story: Story
) -> None:
    watched.page.serve(story.app.name, 0.2)
    serve(watched, story, 0.2)
    compared = metric(compare={"ratio": {"max": 1.3}}, success=None)
    del compared["success"]
    await governed(story, gate(compared))
    await story.completed()


async def test_too_few_requests_are_waited_for(watched: Watched, story: Story) -> None:
    wanting = metric(minSamples=100_000_000, count=1)
    wanting["prometheus"]["samples"] = SAMPLES
    serve(watched, story, 0.0)
    await governed(story, gate(wanting))
    found = await story.rollout(lambda s: "more requests" in s.get("message", ""))
    assert "needs 9999" in found.object["status"]["message"]


async def test_a_new_version_without_requests_has_no_data_until_it_has(
    watched: Watched, story: Story
) -> None:
    await governed(story, gate(metric()))
    await story.rollout(lambda s: "no value for the new revision" in s.get("message", ""))
    serve(watched, story, 0.0)
    await story.completed()


async def test_a_wrong_query_is_reported_in_prometheus_words(
    watched: Watched, story: Story
) -> None:
    wrong = metric(prometheus={"query": "sum(("}, consecutiveErrorLimit=1)
    await governed(story, gate(wrong))
    assert "bad_data" in await stalled(story, "AnalysisInconclusive")


async def test_several_series_are_the_authors_mistake(watched: Watched, story: Story) -> None:
    many = metric(prometheus={"query": "shop_requests_total"}, consecutiveErrorLimit=0)
    await governed(story, gate(many))
    assert "aggregate them to one" in await stalled(story, "AnalysisInconclusive")


async def test_a_huge_answer_is_an_error_that_repeats_nothing_of_it(
    watched: Watched, story: Story
) -> None:
    watched.page.wide = 8_000
    while not await watched.prometheus.query("count(shop_wide)"):
        pass
    await governed(story, gate(metric(prometheus={"query": "shop_wide"}, consecutiveErrorLimit=0)))
    message = await stalled(story, "AnalysisInconclusive")
    watched.page.wide = 0
    assert "answered more than 1024 KiB" in message
    assert 'of="' not in message


async def test_a_prometheus_that_answers_too_late_is_an_error_and_the_release_waits(
    watched: Watched, story: Story
) -> None:
    await watched.prometheus.component.stop()
    try:
        late = metric(prometheus={"query": "vector(0)", "timeoutSeconds": 1})
        await governed(story, gate({**late, "consecutiveErrorLimit": 0}))
        message = await stalled(story, "AnalysisInconclusive")
    finally:
        await watched.prometheus.component.cont()
    assert "no answer within 1 s" in message


async def test_a_metric_that_flaps_fails_when_it_was_bad_more_often_than_its_limit(
    story: Story,
) -> None:
    flaps = {"query": "time() % 3 < bool 1.5"}
    await governed(
        story, gate(metric(prometheus=flaps, success={"max": 0}, failureLimit=2, count=1000))
    )
    message = await stalled(story, "AnalysisFailed")
    assert re.search(r"1 is above 0 \(3 of \d+ measurements failed\)", message), message


async def test_an_address_that_nobody_allowed_is_not_asked(watched: Watched, story: Story) -> None:
    elsewhere = metric(
        prometheus={"query": "up", "address": "http://10.0.0.9:9090"}, consecutiveErrorLimit=0
    )
    await governed(story, gate(elsewhere))
    assert "--analysis-allow" in await stalled(story, "AnalysisInconclusive")


async def test_counters_that_begin_again_are_no_errors(watched: Watched, story: Story) -> None:
    serve(watched, story, 0.0)
    await governed(story, gate(metric(count=4)))
    await story.rollout(lambda s: run_of(s).get("metrics", [{}])[0].get("taken", 0) >= 1)
    watched.page.reset()
    await story.completed()


async def test_a_prometheus_that_is_away_for_a_while_costs_nothing(
    watched: Watched, story: Story
) -> None:
    serve(watched, story, 0.0)
    patient = metric(count=3, consecutiveErrorLimit=100)
    await governed(story, gate(patient))
    await story.rollout(lambda s: run_of(s).get("metrics", [{}])[0].get("taken", 0) >= 1)
    await watched.prometheus.component.kill()
    await story.rollout(lambda s: run_of(s).get("metrics", [{}])[0].get("errors", 0) >= 1)
    await watched.prometheus.component.start()
    await story.completed()


async def test_another_controller_loses_no_measurement_that_counted(
    watched: Watched, story: Story
) -> None:
    serve(watched, story, 0.0)
    await governed(story, gate(metric(count=6)))
    before = await story.rollout(lambda s: run_of(s).get("metrics", [{}])[0].get("good", 0) >= 2)
    await replace_controller(watched.product)
    await story.completed()
    counted = [
        run_of(change.object.get("status", {})).get("metrics", [{}])[0].get("taken", 0)
        for change in watched.recorder.history()
        if change.key == story.key(ROLLOUTS) and change.resource_version > before.resource_version
    ]
    going = [count for count in counted if count]
    assert going == sorted(going)
    assert going[0] >= 2
    visits = (await story.status())["moonshift"]["visits"]
    assert visits[0]["analysis"] == "Passed: 1 of 1 metrics passed"


async def test_the_background_takes_a_revision_back_between_approvals(
    watched: Watched, story: Story
) -> None:
    serve(watched, story, 0.0)
    endless = metric()
    del endless["count"]
    body = manifests.rollout(story.app)
    plan = body["spec"]["strategy"]["canary"]
    plan["steps"][0]["pause"] = {}
    plan["analysis"] = gate(endless, onFailure="rollback")
    await story.govern(body)
    await story.release(manifests.NEW_IMAGE)
    await story.paused_at(1)
    await story.rollout(lambda s: run_of(s, 0).get("metrics", [{}])[0].get("good", 0) >= 1)
    serve(watched, story, 0.6)
    await story.until(
        story.workload,
        lambda d: d["spec"]["template"]["spec"]["containers"][0]["image"] == manifests.STABLE_IMAGE,
        after=story.actions[-1].revision,
    )


async def test_a_template_that_comes_later_is_taken_up(watched: Watched, story: Story) -> None:
    serve(watched, story, 0.0)
    await governed(
        story, {"templates": [{"name": "errors"}], "args": [{"name": "x", "value": "1"}]}
    )
    assert "errors does not exist" in await stalled(story, "AnalysisTemplateNotFound")
    body = {
        "apiVersion": "rollouts.kruise.io/v1alpha1",
        "kind": "AnalysisTemplate",
        "metadata": {"name": "errors", "namespace": story.app.namespace},
        "spec": {"args": [{"name": "x"}], "metrics": [metric()]},
    }
    await story.client.create(collection(TEMPLATES, story.app.namespace), body)
    await story.completed()


async def test_a_template_that_another_one_names_is_taken_up_when_it_comes(
    watched: Watched, story: Story
) -> None:
    serve(watched, story, 0.0)
    place = collection(TEMPLATES, story.app.namespace)
    head = {"apiVersion": "rollouts.kruise.io/v1alpha1", "kind": "AnalysisTemplate"}
    outer = {"metadata": {"name": "outer"}, "spec": {"templates": [{"name": "inner"}]}}
    await story.client.create(place, {**head, **outer})
    await governed(story, {"templates": [{"name": "outer"}]})
    told = await stalled(story, "AnalysisTemplateNotFound")
    assert "AnalysisTemplate inner, which AnalysisTemplate outer names, does not exist" in told
    inner = {"metadata": {"name": "inner"}, "spec": {"metrics": [metric()]}}
    await story.client.create(place, {**head, **inner})
    await story.completed()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"web": {"url": "http://x", "valuePath": "a"}}, "exactly one of"),
        ({"success": {"min": 2, "max": 1}}, "min is greater than max"),
        ({"interval": "5 minutes"}, "interval"),
        ({"success": {"min": 1, "equals": "ok"}}, "or equals; or matches"),
        ({"success": {"matches": "ok"}}, "matches is for the text of a web page"),
        ({"success": {"equals": "1"}, "compare": {"ratio": {"max": 1}}}, "compare is for numbers"),
        ({"count": 2, "consecutiveSuccess": 3}, "consecutiveSuccess is greater than count"),
        (
            {"web": {"url": "http://x", "valuePath": "a", "body": "{}"}, "prometheus": None},
            "a body is sent with a POST",
        ),
        ({"web": {"url": "http://x"}, "prometheus": None}, "give valuePath for a page of JSON"),
        ({"minSamples": 5}, "minSamples needs a query"),
        ({"noData": "maybe"}, "noData"),
        ({"job": {"spec": {"template": {}}}}, "exactly one of"),
        ({"job": {"spec": {}}, "prometheus": None, "success": None}, r"spec\.template"),
        (
            {
                "job": {"spec": {"template": {}}},
                "prometheus": None,
                "compare": {"ratio": {"max": 1}},
            },
            "cannot be compared",
        ),
    ],
)
async def test_a_gate_that_cannot_be_is_refused_at_once(
    watched: Watched, changes: JsonObject, says: str
) -> None:
    client = watched.product.plane.client()
    body = manifests.rollout(replace(APP, namespace="default"))
    changed = {name: value for name, value in metric(**changes).items() if value is not None}
    body["spec"]["strategy"]["canary"]["steps"][0]["analysis"] = gate(changed)
    with pytest.raises(RequestRefused, match=says):
        await client.create(collection(ROLLOUTS, "default"), body)
    template: JsonObject = {"metadata": {"name": "bad"}, "spec": {"metrics": [changed]}}
    places = (collection(TEMPLATES, "default"), CLUSTER_TEMPLATES.path)
    for path, kind in zip(places, ("AnalysisTemplate", "ClusterAnalysisTemplate"), strict=True):
        whole = {"apiVersion": "rollouts.kruise.io/v1alpha1", "kind": kind, **template}
        with pytest.raises(RequestRefused, match=says):
            await client.create(path, whole)


async def test_a_secret_is_sent_where_its_owner_says_so_and_is_in_no_object(
    watched: Watched, story: Story
) -> None:
    serve(watched, story, 0.0)
    plane, space = watched.product.plane, story.app.namespace
    secret: JsonObject = {"metadata": {"name": "creds"}, "stringData": {"token": GATE_TOKEN}}
    await plane.client().create(f"/api/v1/namespaces/{space}/secrets", secret)
    right = ("--verb=get", "--resource=secrets", "--resource-name=creds")
    await plane.kubectl("create", "role", "creds", "-n", space, *right, user="admin")
    account = f"--serviceaccount={NAMESPACE}:{CONTROLLER_ACCOUNT}"
    who = ("--role=creds", account)
    await plane.kubectl("create", "rolebinding", "creds", "-n", space, *who, user="admin")
    argument = {"name": "org", "valueFrom": {"secret": {"name": "creds", "key": "token"}}}
    headers = [{"name": "X-Scope-OrgID", "value": "{{ args.org }}"}]
    asked = {"query": ERRORS, "headers": headers, "auth": {"name": "creds"}}
    await governed(
        story, gate(metric(prometheus=asked, consecutiveErrorLimit=100), args=[argument])
    )
    host = watched.prometheus.address.split("/")[2].split(":")[0]
    command = f"kubectl annotate secret creds -n {space} --overwrite moonshift.dev/send-to={host}"
    await story.rollout(lambda s: any(command in m.get("reason", "") for m in metrics_of(s)))
    await plane.kubectl(*command.split()[1:], user="admin")
    await story.completed()
    status = await story.status()
    assert status["moonshift"]["visits"][0]["analysis"] == "Passed: 1 of 1 metrics passed"
    for path in (collection(ROLLOUTS, space), collection(EVENTS, space)):
        assert GATE_TOKEN not in json.dumps(await plane.client().get(path))


# --- Jobs ---------------------------------------------------------------------------------------


def smoke(image: str = "smoke:1", *, seconds: int = 60, **spec: object) -> JsonObject:
    """A Job that is asked about the new revision."""
    container = {"name": "main", "image": image, "args": ["http://{{ canary.service }}"]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "name": "smoke",
        "interval": "1s",
        "job": {"spec": {"template": template, **spec}, "timeoutSeconds": seconds},
    }


async def may_run_jobs(watched: Watched, story: Story) -> None:
    """The administrator grants the rights of docs/gates.md."""
    role = ROOT / "deploy/kustomize/job-gates/role.yaml"
    await watched.product.plane.kubectl(
        *("apply", "-n", story.app.namespace, "-f", str(role)), user="admin"
    )


async def jobs_of(watched: Watched, story: Story) -> list[JsonObject]:
    """The Jobs of the namespace."""
    client = watched.product.plane.client()
    found = await client.get(collection(JOBS, story.app.namespace))
    items: list[JsonObject] = found["items"]
    return items


async def test_a_job_that_succeeds_lets_the_step_go_on_once_the_right_is_there(
    watched: Watched, story: Story
) -> None:
    await governed(story, gate({**smoke(), "consecutiveErrorLimit": 1000}))
    await story.rollout(lambda s: "grant create on jobs.batch to" in s.get("message", ""))
    await may_run_jobs(watched, story)
    await story.completed()
    visits = (await story.status())["moonshift"]["visits"]
    assert visits[0]["analysis"] == "Passed: 1 of 1 metrics passed"
    pods = {
        change.key.name: change.object["spec"]["containers"][0]["args"]
        for change in watched.recorder.history()
        if change.key.kind == PODS
        and change.key.namespace == story.app.namespace
        and change.object["metadata"]["ownerReferences"][0]["kind"] == "Job"
    }
    assert list(pods.values()) == [[f"http://{story.app.name}-canary"]]
    assert await jobs_of(watched, story) == []


async def test_a_job_that_fails_holds_the_step_and_stays_for_its_log(
    watched: Watched, story: Story
) -> None:
    await may_run_jobs(watched, story)
    await governed(story, gate(smoke("smoke:unready", activeDeadlineSeconds=1)))
    message = await stalled(story, "AnalysisFailed")
    assert "failed: DeadlineExceeded" in message
    (job,) = await jobs_of(watched, story)
    assert job["metadata"]["name"] in message
    assert job["metadata"]["ownerReferences"][0]["kind"] == "Rollout"
    assert job["spec"]["ttlSecondsAfterFinished"] == 3600
    await story.approve()
    await story.completed()


async def test_a_job_that_never_ends_meets_the_deadline_of_its_gate(
    watched: Watched, story: Story
) -> None:
    await may_run_jobs(watched, story)
    await governed(story, gate(smoke("smoke:unready"), deadlineSeconds=3))
    assert "no verdict within 3 s" in await stalled(story, "AnalysisInconclusive")
    async with watched.product.plane.recorder(JOBS) as recorder:
        await recorder.until_state(
            lambda state: not any(key.namespace == story.app.namespace for key in state)
        )
    await story.approve()
    await story.completed()
