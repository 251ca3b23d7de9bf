"""The HTTPS server: reviews in, reviews out; faults become answers."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from controller.api.jsontree import child
from controller.api.names import ADMISSION_PAUSE, KEPT_V1ALPHA1, WORKLOAD_TYPE
from controller.api.rollout import Rollout
from controller.domain.admission.rollout import RolloutVerdict
from controller.domain.admission.verdict import MOST_TEXTS
from controller.webhook import server
from controller.webhook.offload import SHORT
from tests.component.webhook.asking import (
    DEPLOYMENTS,
    Counted,
    Json,
    Reads,
    answer,
    called,
    patched,
    review,
)
from tests.component.webhook.no_metrics import NoMetrics
from tests.unit.domain.admission.objects import deployment, rollout
from tests.unit.domain.admission.test_service import service


async def test_a_deployment_is_admission_paused_by_a_patch() -> None:
    reads, counted = Reads(rollout()), Counted()
    async with called(reads, counted) as session:
        seen = await answer(session, DEPLOYMENTS, review(deployment(), deployment("v2")))
    assert seen["allowed"] is True
    assert {"/spec/paused", "/spec/minReadySeconds", "/metadata/annotations"} <= patched(seen)
    assert reads.asked == ["rollouts shop", "replicasets of u-1 in shop"]
    assert counted.answers == [("mutate-apps-v1-deployment", True)]


async def test_replica_sets_are_read_only_when_they_matter() -> None:
    reads = Reads(rollout())
    async with called(reads, NoMetrics()) as session:
        seen = await answer(session, DEPLOYMENTS, review(deployment(), deployment(replicas=3)))
    assert seen == {"uid": "r-1", "allowed": True}
    assert reads.asked == ["rollouts shop"]


@pytest.mark.parametrize(
    "request_fields",
    [
        pytest.param({"operation": "CREATE", "oldObject": None}, id="create"),
        pytest.param({"subResource": "scale"}, id="subresource"),
        pytest.param(
            {"userInfo": {"username": "us"}, "options": {"fieldManager": "moonshift"}}, id="ours"
        ),
    ],
)
async def test_a_request_about_a_foreign_kind_passes(request_fields: Json) -> None:
    reads = Reads(rollout())
    async with called(reads, NoMetrics()) as session:
        body = review(deployment(), deployment("v2"), **request_fields)
        assert not patched(await answer(session, DEPLOYMENTS, body))
    assert reads.asked == []


async def test_a_refusal_carries_its_text_and_code() -> None:
    recreate: Json = {"strategy": {"type": "Recreate"}}
    counted = Counted()
    async with called(Reads(rollout()), counted) as session:
        body = review(deployment(**recreate), deployment("v2", **recreate))
        seen = await answer(session, DEPLOYMENTS, body)
    assert seen["allowed"] is False
    assert seen["status"]["code"] == 422
    assert "strategy Recreate" in seen["status"]["message"]
    assert counted.answers == [("mutate-apps-v1-deployment", False)]


async def test_leaving_at_rest_does_not_need_a_rollout_to_be_read() -> None:
    reads = Reads(rollout())
    out = {**deployment(), "metadata": {"name": "web", "labels": {}}}
    async with called(reads, NoMetrics()) as session:
        seen = await answer(session, DEPLOYMENTS, review(deployment(), out))
    assert seen == {"uid": "r-1", "allowed": True}
    assert reads.asked == []


@pytest.mark.parametrize("governed", [True, False])
async def test_leaving_during_a_release_requires_an_existing_rollout(governed: bool) -> None:
    reads = Reads(rollout()) if governed else Reads()
    held = deployment(paused=True)
    held["metadata"] = {**child(held, "metadata"), "annotations": {ADMISSION_PAUSE: "x"}}
    out = deployment(paused=True)
    out["metadata"] = {"name": "web", "annotations": {ADMISSION_PAUSE: "x"}, "labels": {}}
    async with called(reads, NoMetrics()) as session:
        seen = await answer(session, DEPLOYMENTS, review(held, out))
    assert reads.asked == ["rollouts shop"]
    if governed:
        assert f"/metadata/labels/{WORKLOAD_TYPE.replace('/', '~1')}" in patched(seen)
        assert "of the release stay" in seen["warnings"][0]
    else:
        assert patched(seen) == {
            "/spec/paused",
            f"/metadata/annotations/{ADMISSION_PAUSE.replace('/', '~1')}",
        }


def raw_rollout(**canary: object) -> Json:
    """A v1beta1 Rollout."""
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": "r", "namespace": "shop"},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "strategy": {"canary": {"steps": [{"replicas": 1}], **canary}},
        },
    }


async def test_rollouts_are_judged_on_create_and_update() -> None:
    path = "/validate-rollouts-kruise-io-rollout"
    async with called(Reads(rollout(name="other")), NoMetrics()) as session:
        seen = await answer(session, path, review(None, raw_rollout(), operation="CREATE"))
        assert "Rollout other releases Deployment web already" in seen["status"]["message"]
        seen = await answer(session, path, review(None, raw_rollout(steps=[]), operation="DELETE"))
        assert seen["allowed"] is True
        seen = await answer(session, path, review(raw_rollout(), raw_rollout()))
        assert seen["allowed"] is True


async def test_a_rollout_that_is_judged_for_long_holds_no_workload_and_no_service(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its thread goes on also after the API server has given the review up."""
    begun, may_end = threading.Event(), threading.Event()

    def slow(*_: object) -> RolloutVerdict:
        begun.set()
        may_end.wait()
        return RolloutVerdict(warnings=tuple(map(str, range(MOST_TEXTS + 5))))

    monkeypatch.setattr("controller.webhook.admission.admit_rollout", slow)
    long = {"x": "y" * SHORT}
    large = {**raw_rollout(), "spec": {**raw_rollout()["spec"], **long}}
    old, new = deployment("v1", **long), deployment("v2", **long)
    async with called(Reads(rollout()), Counted()) as session:
        path = "/validate-rollouts-kruise-io-rollout"
        judged = asyncio.create_task(answer(session, path, review(None, large, operation="CREATE")))
        try:
            await asyncio.to_thread(begun.wait)
            found = await answer(session, "/mutate-apps-v1-deployment", review(old, new))
            assert found["allowed"]
            assert not judged.done()
        finally:
            may_end.set()
        assert (await judged)["warnings"][MOST_TEXTS:] == ["and 5 more"]


async def test_warnings_are_passed_on() -> None:
    obj = raw_rollout(steps=[{"replicas": 1}, {"replicas": 2}, {"replicas": 2}])
    async with called(Reads(), NoMetrics()) as session:
        path = "/validate-rollouts-kruise-io-rollout"
        seen = await answer(session, path, review(None, obj, operation="CREATE"))
    assert seen["allowed"] is True
    assert seen["warnings"][0].startswith("step 3 adds no pod")


async def test_an_approval_is_noted_with_its_author() -> None:
    paused, ready = (
        {"status": {"canaryStatus": {"currentStepState": state, "currentStepIndex": 1}}}
        for state in ("StepPaused", "StepReady")
    )
    async with called(Reads(), NoMetrics()) as session:
        body = review(paused, ready, subResource="status")
        seen = await answer(session, "/mutate-rollouts-status", body)
    assert patched(seen) == {"/status/moonshift"}


async def test_a_status_that_only_the_controller_writes_stays_and_its_author_is_told() -> None:
    before: Json = {"status": {"phase": "Progressing", "moonshift": {"step": 1}}}
    after: Json = {"status": {"phase": "Healthy", "moonshift": {"step": 1}}}
    async with called(Reads(), NoMetrics()) as session:
        body = review(before, after, subResource="status")
        seen = await answer(session, "/mutate-rollouts-status", body)
    assert patched(seen) == {"/status/phase"}
    (warning,) = seen["warnings"]
    assert warning.startswith("status.phase: only the controller writes this")


async def test_a_jump_beyond_the_plan_is_refused() -> None:
    before = {**raw_rollout(), "status": {"moonshift": {"step": 1}}}
    after = {**raw_rollout(), "status": {"moonshift": {"step": 1, "jump": 99}}}
    async with called(Reads(), NoMetrics()) as session:
        body = review(before, after, subResource="status")
        seen = await answer(session, "/mutate-rollouts-status", body)
    assert seen["allowed"] is False
    assert seen["status"]["message"].startswith("status.moonshift.jump: there is no step 99")


async def test_a_pin_is_put_back() -> None:
    async with called(Reads(rollout("Progressing")), NoMetrics()) as session:
        body = review(service(pinned=True), service())
        seen = await answer(session, "/mutate-v1-service", body)
    assert "/spec/selector/pod-template-hash" in patched(seen)


@pytest.mark.parametrize(
    "path",
    [
        "/mutate-apps-v1-daemonset",
        "/mutate-apps-kruise-io-v1alpha1-cloneset",
        "/mutate-apps-kruise-io-v1alpha1-daemonset",
        "/mutate-unified-workload",
    ],
)
async def test_the_originals_other_paths_change_nothing(path: str) -> None:
    async with called(Reads(), NoMetrics()) as session:
        assert await answer(session, path, review({}, {})) == {"uid": "r-1", "allowed": True}


def conversion(*objects: Json, version: str = "rollouts.kruise.io/v1alpha1") -> Json:
    """A ConversionReview."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {"uid": "c-1", "desiredAPIVersion": version, "objects": list(objects)},
    }


async def test_objects_are_converted_in_order() -> None:
    second = raw_rollout()
    second["metadata"]["name"] = "s"
    async with called(Reads(), NoMetrics()) as session:
        seen = await answer(session, "/convert", conversion(raw_rollout(), second))
        assert seen["result"] == {"status": "Success"}
        assert [one["metadata"]["name"] for one in seen["convertedObjects"]] == ["r", "s"]
        back = conversion(*seen["convertedObjects"], version="rollouts.kruise.io/v1beta1")
        seen = await answer(session, "/convert", back)
    assert seen["convertedObjects"] == [raw_rollout(), second]
    assert KEPT_V1ALPHA1 not in str(seen)


async def test_an_object_that_cannot_be_converted_fails_the_review() -> None:
    async with called(Reads(), NoMetrics()) as session:
        body = conversion(raw_rollout(), {**raw_rollout(), "kind": "BatchRelease"})
        seen = await answer(session, "/convert", body)
    assert seen["result"]["status"] == "Failure"
    assert "no conversion of BatchRelease" in seen["result"]["message"]
    assert seen["convertedObjects"] == []


async def test_a_fault_is_an_answer_with_its_text(caplog: pytest.LogCaptureFixture) -> None:
    reads, counted = Reads(), Counted()
    reads.fault = RuntimeError("the cache fell over")
    async with called(reads, counted) as session:
        body = review(deployment(), deployment("v2"))
        async with session.post(DEPLOYMENTS, json=body) as response:
            assert response.status == 500
            assert "the cache fell over" in await response.text()
    assert "mutate-apps-v1-deployment failed" in caplog.text
    assert counted.answers == [("mutate-apps-v1-deployment", False)]


async def test_a_read_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "ANSWER_SECONDS", 0.05)
    reads = Reads()
    reads.hang = True
    async with called(reads, NoMetrics()) as session:
        body = review(deployment(), deployment("v2"))
        async with session.post(DEPLOYMENTS, json=body) as response:
            assert response.status == 504
            assert "no answer within" in await response.text()


@pytest.mark.parametrize("body", [b"", b"{}", b'{"request": {"uid": 3}}'])
async def test_a_body_without_a_review_is_a_bad_request(body: bytes) -> None:
    async with called(Reads(), NoMetrics()) as session:
        for path in (DEPLOYMENTS, "/convert"):
            kind = {"Content-Type": "application/json"}
            async with session.post(path, data=body, headers=kind) as response:
                assert response.status == 400


async def test_readiness_depends_on_nothing() -> None:
    reads = Reads()
    reads.fault = RuntimeError("no cache")
    async with called(reads, NoMetrics()) as session, session.get("/readyz") as response:
        assert response.status == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/validate-rollouts-kruise-io-rollout", review(None, None)),
        ("/validate-rollouts-kruise-io-trafficrouting", review(None, None)),
        ("/mutate-rollouts-status", review({}, {})),
        ("/mutate-apps-v1-deployment", review(None, {})),
        ("/mutate-v1-service", review({}, {})),
    ],
)
async def test_requests_without_a_judged_object_pass(path: str, body: Json) -> None:
    async with called(Reads(), NoMetrics()) as session:
        assert await answer(session, path, body) == {"uid": "r-1", "allowed": True}


@pytest.mark.parametrize("namespace", ["../secrets", "a/b", "A", "x" * 64])
async def test_a_namespace_that_is_none_is_no_part_of_a_path(namespace: str) -> None:
    reads = Reads(rollout())
    async with called(reads, NoMetrics()) as session:
        body = review(deployment(), deployment("v2"), namespace=namespace)
        async with session.post(DEPLOYMENTS, json=body) as response:
            assert response.status == 400
    assert reads.asked == []


class Behind(Reads):
    """A replica whose watch has not delivered the Rollout yet."""

    async def rollouts(self, namespace: str) -> Sequence[Rollout]:
        return ()

    async def latest(self, namespace: str) -> Sequence[Rollout]:
        return self.present


async def test_a_rollout_that_no_watch_has_delivered_yet_holds_its_workload() -> None:
    async with called(Behind(rollout()), NoMetrics()) as session:
        seen = await answer(session, DEPLOYMENTS, review(deployment(), deployment("v2")))
    assert "/spec/paused" in patched(seen)
