"""Moonshift runs with its manifests, operators can observe it, and at rest it sends no requests."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from demo.stage import CONTROLLER, DROPPED, NAMESPACE, REPLACED, WORKER, Product
from localcluster.audit import AuditRecord, count
from localcluster.history import Change, Kind
from localcluster.record import Recorder
from tests.cluster import invented
from tests.cluster.kinds import EVENTS
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.status_fields import instant
from tests.cluster.story import Story, conclude
from tests.unit.telemetry.catalogue import of_controller, of_state, of_worker

LEASES = Kind("coordination.k8s.io", "v1", "leases")
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{CONTROLLER}"
QUIET_SECONDS = 10
APP = Application(
    "shop", "", False, (StepPlan(1, 20), StepPlan(2)), virtual_service=True, replicas=2, grace=0
)
SCRIPTS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"


def other_arguments(installed: Iterable[str], running: Iterable[str]) -> set[str]:
    """The flags that only one of two command lines has, or that they have with other values."""
    differing = set(installed).symmetric_difference(running)
    return {argument.partition("=")[0] for argument in differing}


@pytest.mark.parametrize(
    ("deployment", "part"), [(CONTROLLER, "controller"), (WORKER, "luaworker")], ids=str
)
def test_a_process_runs_with_the_arguments_of_its_manifest_except_the_listed_ones(
    product: Product, deployment: str, part: str
) -> None:
    interpreter, *installed = product.arguments(deployment)
    started, *running = product.components[part].program.command
    assert Path(interpreter).name.startswith("python")
    assert Path(started).name.startswith("python")
    assert other_arguments(installed, running) <= {*REPLACED, *DROPPED}


async def text_of(port: int, path: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}{path}") as answer,
    ):
        return answer.status, await answer.text()


async def test_both_processes_are_alive_and_ready(product: Product) -> None:
    for port in (product.controller_probes, product.worker_probes):
        for path in ("/healthz", "/readyz"):
            status, _ = await text_of(port, path)
            assert status == 200


def catalogued(names: Iterable[str]) -> set[str]:
    """Without the instants at which counters began, which every page has beside them."""
    return {name for name in names if not name.endswith("_created")}


async def test_a_release_leaves_metrics_that_parse_and_events_with_reasons_of_their_own(
    product: Product, recorder: Recorder, namespace_of_product: str
) -> None:
    story = Story(product.plane, recorder, replace(APP, namespace=namespace_of_product))
    await story.begin()
    await story.approve_all()
    await conclude(story)
    _, text = await text_of(product.controller_metrics, "/metrics")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert catalogued(families) == {entry.name for entry in (*of_controller(), *of_state())}
    ended = families["moonshift_rollouts_completed"].samples
    assert any(sample.value >= 1 for sample in ended)
    _, text = await text_of(product.worker_metrics, "/metrics")
    worker = {family.name for family in text_string_to_metric_families(text)}
    assert catalogued(worker) == {entry.name for entry in of_worker()}
    reasons = {
        change.object["reason"]
        for change in recorder.history()
        if change.key.kind == EVENTS
        and change.key.namespace == namespace_of_product
        and change.object["involvedObject"]["kind"] == "Rollout"
    }
    assert reasons >= {"ReleaseStarted", "TrafficRouted", "Approved", "ReleaseCompleted"}


async def told_of_scripts(recorder: Recorder, reason: str, key: str) -> str:
    """The Event on the ConfigMap of scripts about one of its keys."""
    found = await recorder.until(
        lambda c: (
            c.key.kind == EVENTS
            and c.key.namespace == NAMESPACE
            and c.object["involvedObject"].get("name") == invented.SCRIPT_MAP
            and c.object["reason"] == reason
            and f"key {key} " in c.object["message"]
        )
    )
    return str(found.object["message"])


async def set_scripts(product: Product, **data: str | None) -> None:
    """Keys of the ConfigMap of scripts, beside those of other tests; None takes one away."""
    client = product.plane.client()
    listed = await client.get(SCRIPTS)
    if not any(item["metadata"]["name"] == invented.SCRIPT_MAP for item in listed["items"]):
        await client.create(SCRIPTS, {"metadata": {"name": invented.SCRIPT_MAP}})
    await client.patch(f"{SCRIPTS}/{invented.SCRIPT_MAP}", {"data": data})


async def test_scripts_are_judged_at_a_change_and_not_at_a_release(
    product: Product, recorder: Recorder
) -> None:
    broken = "lua.traffic.routing.Lane.broken.example.dev"
    hidden = "lua.traffic.routing.VirtualService.networking.istio.io"
    await set_scripts(product, **{broken: "local a\nlocal b = = 2\n", hidden: "return obj.data"})
    try:
        reported = await told_of_scripts(recorder, "ScriptUnusable", broken)
        assert "does not compile: line 2: unexpected symbol" in reported
        await told_of_scripts(recorder, "ScriptShadowed", hidden)
        _, text = await text_of(product.controller_metrics, "/metrics")
        counted = {
            sample.labels["state"]: sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if family.name == "moonshift_configured_scripts"
        }
        assert counted["unusable"] >= 1
        assert counted["shadowed"] >= 1
        await set_scripts(product, **{broken: "return obj.data"})
        await told_of_scripts(recorder, "ScriptUsable", broken)
    finally:
        await set_scripts(product, **{broken: None, hidden: None})


def is_renewal(change: Change) -> bool:
    return change.key.kind == LEASES and change.key.namespace == NAMESPACE


async def test_a_paused_rollout_causes_no_request_but_renewals_of_the_lease(
    product: Product, recorder: Recorder, namespace_of_product: str
) -> None:
    story = Story(product.plane, recorder, replace(APP, namespace=namespace_of_product))
    await story.begin()
    await story.paused_at(1)
    await story.event("TrafficRouted")
    async with product.plane.recorder(LEASES) as leases:
        first = await leases.until(is_renewal)
        mark = product.plane.audit.mark()
        # The Lease is the clock: it is renewed every two seconds.
        since = first.object["spec"]["renewTime"]
        await leases.until(lambda c: is_renewal(c) and seconds_after(since, c) >= QUIET_SECONDS)
    made = product.plane.audit.since(mark, user=ACCOUNT, where=lambda r: of(r, story))
    assert not made, count(made)


def seconds_after(since: str, change: Change) -> float:
    return (instant(change.object["spec"]["renewTime"]) - instant(since)).total_seconds()


def of(record: AuditRecord, story: Story) -> bool:
    """A request that this Rollout may have caused; other tests' Rollouts have namespaces and kinds of their own."""
    others = record.namespace not in ("", story.app.namespace)
    # Access reviews are made for Rollouts that wait for a right, which this one does not.
    unasked = record.resource == "selfsubjectaccessreviews"
    elsewhere = unasked or invented.GROUP in record.uri or record.resource == "gateways"
    return not others and not record.is_watch and not elsewhere
