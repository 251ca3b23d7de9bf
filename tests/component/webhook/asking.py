"""Tools for the tests of the webhook server: reviews, readers that count, and a server that is called."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import aiohttp

from controller.api.meta import ObjectMeta
from controller.api.rollout import Rollout
from controller.api.workloads import ReplicaSet
from controller.webhook.admission import Admission
from controller.webhook.server import serving, webhook_app
from tests.component.webhook.no_metrics import NoMetrics
from tests.unit.domain.admission.objects import replica_set

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
    """Both readers; counts reads, and fails or hangs if the test asks for it."""

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

    async def kept_owners(self, rollout: ObjectMeta, workload_uid: str) -> str:
        return ""

    async def of(self, deployment_uid: str, namespace: str) -> Sequence[ReplicaSet]:
        self.asked.append(f"replicasets of {deployment_uid} in {namespace}")
        return [replica_set("v1", 1)]


class Counted:
    """Remembers the counted answers."""

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
