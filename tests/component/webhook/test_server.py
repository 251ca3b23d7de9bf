"""The HTTPS server: reviews in, reviews out; faults become answers; certificates are exchanged under it."""

import asyncio
import base64
import json
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from controller.api.jsontree import child
from controller.api.names import ADMISSION_PAUSE, KEPT_V1ALPHA1, WORKLOAD_TYPE
from controller.api.rollout import Rollout
from controller.api.workloads import ReplicaSet
from controller.certificates.authority import Pair, issue, new_authority
from controller.certificates.directory import write_files
from controller.webhook import server
from controller.webhook.admission import Admission
from controller.webhook.server import NoMetrics, serving, webhook_app
from controller.webhook.tls import ServingTls
from tests.unit.domain.admission.objects import deployment, replica_set, rollout
from tests.unit.domain.admission.test_service import service

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
REAL_NOW = datetime.now(UTC)
Json = dict[str, Any]


class FixedClock:
    """Always noon."""

    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


class Reads:
    """Both readers; counts, and fails or hangs when told to."""

    def __init__(self, *rollouts: Rollout) -> None:
        self.present = rollouts
        self.asked: list[str] = []
        self.fault: Exception | None = None
        self.hang = False

    async def rollouts(self, namespace: str) -> Sequence[Rollout]:
        self.asked.append(f"rollouts {namespace}")
        if self.fault is not None:
            raise self.fault
        if self.hang:
            await asyncio.Event().wait()
        return self.present

    async def latest(self, namespace: str) -> Sequence[Rollout]:
        return await self.rollouts(namespace)

    async def of(self, deployment_uid: str, namespace: str) -> Sequence[ReplicaSet]:
        self.asked.append(f"replicasets of {deployment_uid} in {namespace}")
        return [replica_set("v1", 1)]


class Counted:
    """Remembers what was counted."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, bool]] = []

    def admitted(self, webhook: str, allowed: bool, seconds: float) -> None:
        assert seconds >= 0
        self.answers.append((webhook, allowed))


@asynccontextmanager
async def called(
    reads: Reads, metrics: Counted | NoMetrics
) -> AsyncIterator[aiohttp.ClientSession]:
    """Serve, and call."""
    admission = Admission(
        reads, reads, FixedClock(), is_own=lambda *who: who == ("us", "moonshift")
    )
    app = webhook_app(admission.handlers(), metrics)
    async with (
        serving(app, "127.0.0.1", 0, None) as port,
        aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
    ):
        yield session


def review(old: Json | None, new: Json | None, **request: object) -> Json:
    """An AdmissionReview of an update by alice."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "r-1",
            "operation": "UPDATE",
            "namespace": "shop",
            "name": "web",
            "userInfo": {"username": "alice"},
            "object": new,
            "oldObject": old,
            **request,
        },
    }


async def answer(session: aiohttp.ClientSession, path: str, body: Json) -> Json:
    """The response part of the answer."""
    async with session.post(path, json=body) as response:
        assert response.status == 200, await response.text()
        seen = await response.json()
    assert seen["kind"] == body["kind"]
    assert seen["apiVersion"] == body["apiVersion"]
    found: Json = seen["response"]
    assert found["uid"] == body["request"]["uid"]
    return found


def patched(response: Json) -> set[str]:
    """Paths that the patch of a response names."""
    if "patch" not in response:
        return set()
    assert response["patchType"] == "JSONPatch"
    return {one["path"] for one in json.loads(base64.b64decode(response["patch"]))}


DEPLOYMENTS = "/mutate-apps-v1-deployment"


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
async def test_what_is_none_of_our_business_passes(request_fields: Json) -> None:
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
async def test_leaving_in_mid_release_depends_on_a_living_rollout(governed: bool) -> None:
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


async def test_one_that_cannot_be_converted_fails_the_review() -> None:
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
            assert response.status == 500
            assert "no answer within" in await response.text()


@pytest.mark.parametrize("body", [b"", b"{}", b'{"request": {"uid": 3}}'])
async def test_what_is_no_review_is_a_bad_request(body: bytes) -> None:
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


# --- certificates -------------------------------------------------------------------------------


def keep(directory: Path, pair: Pair) -> None:
    """Write a serving pair."""
    write_files(directory, {"tls.crt": pair.certificate, "tls.key": pair.key})


async def get(port: int, authority: Pair) -> int:
    """Call as one who trusts `authority`."""
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    connector = aiohttp.TCPConnector(ssl=context)
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.get(f"https://127.0.0.1:{port}/readyz") as response,
    ):
        return response.status


async def test_a_new_certificate_is_served_without_a_restart(tmp_path: Path) -> None:
    old, new = new_authority(REAL_NOW), new_authority(REAL_NOW)
    keep(tmp_path, issue(old, ["127.0.0.1"], REAL_NOW))
    tls = ServingTls(tmp_path)
    async with serving(webhook_app({}, NoMetrics()), "127.0.0.1", 0, tls.context) as port:
        assert await get(port, old) == 200
        assert tls.reload() is False
        keep(tmp_path, issue(new, ["127.0.0.1"], REAL_NOW))
        assert tls.reload() is True
        assert await get(port, new) == 200
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await get(port, old)


async def test_reviews_are_taken_on_addresses_of_both_families() -> None:
    assert socket.has_dualstack_ipv6()
    async with (
        serving(webhook_app({}, NoMetrics()), "", 0, None) as port,
        aiohttp.ClientSession() as session,
    ):
        for host in ("127.0.0.1", "[::1]"):
            async with session.post(f"http://{host}:{port}/nothing-is-here") as answer:
                assert answer.status == 404


async def test_the_end_of_each_certificate_that_is_loaded_is_told(tmp_path: Path) -> None:
    ends: list[datetime] = []
    authority = new_authority(REAL_NOW)
    keep(tmp_path, issue(authority, ["127.0.0.1"], REAL_NOW))
    tls = ServingTls(tmp_path, loaded=ends.append)
    keep(tmp_path, issue(authority, ["127.0.0.1"], REAL_NOW + timedelta(days=1)))
    assert tls.reload() is True
    first, second = ends
    assert second - first == timedelta(days=1)


async def test_a_broken_pair_leaves_the_one_in_use_alone(tmp_path: Path) -> None:
    authority = new_authority(REAL_NOW)
    keep(tmp_path, issue(authority, ["127.0.0.1"], REAL_NOW))
    tls = ServingTls(tmp_path)
    async with serving(webhook_app({}, NoMetrics()), "127.0.0.1", 0, tls.context) as port:
        write_files(tmp_path, {"tls.crt": issue(authority, ["x"], REAL_NOW).certificate})
        assert tls.reload() is False
        assert await get(port, authority) == 200
        (tmp_path / "tls.key").unlink()
        assert tls.reload() is False
        assert await get(port, authority) == 200


async def test_new_files_are_looked_for_from_time_to_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = new_authority(REAL_NOW)
    keep(tmp_path, issue(authority, ["127.0.0.1"], REAL_NOW))
    tls = ServingTls(tmp_path)
    looked = asyncio.Event()

    def reload() -> bool:
        loop.call_soon_threadsafe(looked.set)
        return False

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(tls, "reload", reload)
    task = asyncio.create_task(tls.run(0.0))
    async with asyncio.timeout(5):
        await looked.wait()
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


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
async def test_requests_without_what_we_judge_pass(path: str, body: Json) -> None:
    async with called(Reads(), NoMetrics()) as session:
        assert await answer(session, path, body) == {"uid": "r-1", "allowed": True}


# --- clients with a certificate -----------------------------------------------------------------


async def status_of(port: int, trusted: Pair, path: str, folder: Path, own: Pair | None) -> int:
    """Post a review as a client with a certificate, or without one."""
    context = ssl.create_default_context(cadata=trusted.certificate.decode())
    if own is not None:
        keep(folder, own)
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    connector = aiohttp.TCPConnector(ssl=context)
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.post(f"https://127.0.0.1:{port}{path}", json=review({}, {})) as response,
    ):
        return response.status


async def test_with_a_client_authority_reviews_are_taken_from_its_clients_only(
    tmp_path: Path,
) -> None:
    authority, clients, strangers = (new_authority(REAL_NOW) for _ in range(3))
    keep(tmp_path / "serving", issue(authority, ["127.0.0.1"], REAL_NOW))
    (tmp_path / "clients.crt").write_bytes(clients.certificate)
    tls = ServingTls(tmp_path / "serving", tmp_path / "clients.crt")
    admission = Admission(Reads(), Reads(), FixedClock(), is_own=lambda *who: False)
    app = webhook_app(admission.handlers(), NoMetrics(), authenticated=True)
    server_of_the_api = issue(clients, ["apiserver"], REAL_NOW, client=True)
    forger = issue(strangers, ["apiserver"], REAL_NOW, client=True)
    async with serving(app, "127.0.0.1", 0, tls.context) as port:

        async def asked(path: str, own: Pair | None) -> int:
            return await status_of(port, authority, path, tmp_path / "client", own)

        assert await asked(DEPLOYMENTS, server_of_the_api) == 200
        assert await asked(DEPLOYMENTS, None) == 403
        with pytest.raises(aiohttp.ClientError):
            await asked(DEPLOYMENTS, forger)
        # API servers present no certificate for conversions, which are a function of what was sent.
        assert await asked("/convert", None) == 200


@pytest.mark.parametrize("namespace", ["../secrets", "a/b", "A", "x" * 64])
async def test_a_namespace_that_is_none_is_no_part_of_a_path(namespace: str) -> None:
    reads = Reads(rollout())
    async with called(reads, NoMetrics()) as session:
        body = review(deployment(), deployment("v2"), namespace=namespace)
        async with session.post(DEPLOYMENTS, json=body) as response:
            assert response.status == 400
    assert reads.asked == []
