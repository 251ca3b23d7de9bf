"""Pods of the script worker are annotated when their Secret changes, so that their kubelets look at once."""

import asyncio
from datetime import UTC, datetime

import msgspec
import pytest

from controller.api.names import WORKER_CERTIFICATES
from controller.certificates import worker_notice as notice_module
from controller.certificates.worker_notice import WorkerNotice
from controller.errors import Forbidden
from controller.kube.resources import PODS
from controller.simulation.api_server.server import MemoryApi
from controller.webhook.worker_pods import KubeWorkerPods


class Pods:
    """Records its calls; the first calls are refused because of a missing right."""

    def __init__(self, refusals: int = 0) -> None:
        self.values: list[str] = []
        self.refusals = refusals
        self.annotations_after = asyncio.Event()

    async def annotate(self, value: str) -> None:
        self.values.append(value)
        if len(self.values) == 2:
            self.annotations_after.set()
        if self.refusals:
            self.refusals -= 1
            raise Forbidden("you cannot patch pods", status=403)


async def annotations_after(pods: Pods, files: dict[str, bytes]) -> list[str]:
    """The values that pods get after one change of the Secret."""
    worker_notice = WorkerNotice(pods)
    running = asyncio.create_task(worker_notice.run())
    worker_notice.call(files)
    async with asyncio.timeout(60):
        await pods.annotations_after.wait()
    running.cancel()
    return pods.values


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notice_module, "AFTER_SECONDS", (0.0, 0.0))


async def test_a_changed_secret_is_reported_twice_with_values_that_differ() -> None:
    first = await annotations_after(Pods(), {"tls.crt": b"a", "tls.key": b"b"})
    other = await annotations_after(Pods(), {"tls.crt": b"c", "tls.key": b"d"})
    assert len({*first, *other}) == 4


async def test_without_the_right_the_second_try_is_made_all_the_same() -> None:
    assert len(await annotations_after(Pods(refusals=2), {"tls.crt": b"a"})) == 2


async def test_only_the_workers_pods_of_the_own_namespace_are_annotated() -> None:
    api = MemoryApi(lambda: datetime(2026, 1, 1, tzinfo=UTC))
    for namespace, name, app in (
        ("ms", "w-1", "lua"),
        ("ms", "w-2", "lua"),
        ("ms", "other", "web"),
        ("theirs", "w-1", "lua"),
    ):
        labels = {"app.kubernetes.io/name": app}
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        await api.create(PODS, namespace, msgspec.json.encode(body))
    client: object = api
    await KubeWorkerPods(client, "ms", "lua").annotate("x.1")  # type: ignore[arg-type]  # the double has the verbs
    annotated = []
    for namespace, name in (("ms", "w-1"), ("ms", "w-2"), ("ms", "other"), ("theirs", "w-1")):
        found = msgspec.json.decode(await api.get(PODS, namespace, name))
        annotated.append(found["metadata"].get("annotations"))
    mark = {WORKER_CERTIFICATES: "x.1"}
    assert annotated == [mark, mark, None, None]
