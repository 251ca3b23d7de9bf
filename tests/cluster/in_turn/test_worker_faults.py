"""A release whose script worker has an invalid certificate, or no free place, waits, says why, and continues by itself.

The worker is a process with a certificate of its own, or with room for one script. There is no kubelet on the plane:
the test writes the files of the certificate, and starts the worker again. The controller is never started again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import grpc.aio
import pytest

from controller.certificates.authority import Pair, issue, new_authority
from controller.certificates.for_worker import WORKER_SECRET
from controller.certificates.secret import CA_CERT, CA_KEY
from demo.stage import NAMESPACE, WORKER, Product
from localcluster.plane import Plane
from localcluster.ports import free_ports
from localcluster.process import Component
from protos.luaworker.v1 import luaworker_pb2 as pb
from protos.luaworker.v1 import luaworker_pb2_grpc as pb_grpc
from tests.cluster.conftest import fresh_namespace
from tests.cluster.in_turn.conftest import vacated
from tests.cluster.in_turn.test_worker_certificates import component
from tests.cluster.kinds import RECORDED
from tests.cluster.secrecy import content_of, kept_product
from tests.cluster.status_fields import condition
from tests.cluster.story import Story, conclude
from tests.cluster.table import application

APP = application("Deployment", canary=True)
HOST = "localhost"
AUTHORITY = "kruise-rollout-webhook-certs"
LONG_MS, SHORT_LOOPS = 6_000, 2_000_000
"""How long a script may take, and a script that takes a part of a second."""

Files = Mapping[str, bytes]


@asynccontextmanager
async def begun(
    ground: Plane, folder: Path, worker: Callable[[Product], Component], *flags: str
) -> AsyncIterator[tuple[Story, Product, Component]]:
    """A release that waits at its first step; its scripts run in a worker of the test."""
    await vacated(ground)
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(kept_product(ground, folder, extra=flags))
        component = worker(running)
        stack.push_async_callback(component.terminate)
        yield await _waiting(stack, ground), running, component


async def _waiting(stack: AsyncExitStack, ground: Plane) -> Story:
    recorder = await stack.enter_async_context(ground.recorder(*RECORDED))
    namespace = await stack.enter_async_context(fresh_namespace(ground))
    return Story(ground, recorder, replace(APP, namespace=namespace), requests_judged=True)


async def stall_message(story: Story, *words: str) -> str:
    """Why the release waits, as soon as it says these words."""
    found = await story.rollout(
        lambda status: (
            condition(status, "Stalled").get("reason") == "WorkerUnavailable"
            and all(word in condition(status, "Stalled")["message"] for word in words)
        )
    )
    return str(condition(found.object["status"], "Stalled")["message"])


# --- certificates -------------------------------------------------------------------------------


async def files_of(plane: Plane, secret: str) -> Files:
    """The content of a Secret of the product."""
    path = f"/api/v1/namespaces/{NAMESPACE}/secrets/{secret}"
    return content_of(await plane.client().get(path))


def expired(ours: Files) -> Pair:
    """A certificate of the product's own authority, a day too old."""
    authority = Pair(ours[CA_CERT], ours[CA_KEY])
    return issue(authority, (HOST,), datetime.now(UTC) - timedelta(days=366))


def of_another_authority(ours: Files) -> Pair:
    """A valid certificate of an unknown authority."""
    now = datetime.now(UTC)
    return issue(new_authority(now), (HOST,), now)


def bring(files: Files, folder: Path) -> None:
    """Write files as a kubelet does with a mounted Secret."""
    for name, content in files.items():
        (folder / name).write_bytes(content)


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(expired, id="expired"),
        pytest.param(of_another_authority, id="of another authority", marks=pytest.mark.full),
    ],
)
async def test_a_worker_whose_certificate_is_not_accepted_holds_a_release_until_it_has_another(
    ground: Plane, tmp_path: Path, pair: Callable[[Files], Pair]
) -> None:
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    port, probes = free_ports(2)

    def secured(running: Product) -> Component:
        served = {"--listen": f"{HOST}:{port}", "--tls-dir": str(mounted)}
        return component(running, WORKER, served, probes)

    flags = (
        f"--lua-worker=dns:///{HOST}:{port}",
        f"--lua-worker-tls-dir={tmp_path / 'calling'}",
        "--webhook-certs-in-secret",
    )
    async with begun(ground, tmp_path / "product", secured, *flags) as (story, running, worker):
        valid = await files_of(ground, WORKER_SECRET)
        bring(valid, mounted)
        await worker.start()
        await story.begin()
        await story.paused_at(1)
        controller = running.controller.pid

        bad = pair(await files_of(ground, AUTHORITY))
        bring({**valid, "tls.crt": bad.certificate, "tls.key": bad.key}, mounted)
        await worker.restart()
        await story.approve(1)
        message = await stall_message(story, f"{HOST}:{port}", "its certificate is not accepted")
        assert WORKER_SECRET in message
        if pair is expired:
            assert "certificate has expired" in message

        bring(valid, mounted)
        await story.approve_all(first=2)
        await conclude(story)
        assert running.controller.pid == controller
        assert running.controller.running


# --- a crowd ------------------------------------------------------------------------------------


class Crowd:
    """Another tenant, whose scripts take all places of the worker."""

    def __init__(self, socket: Path) -> None:
        self._stub = pb_grpc.LuaExecutorStub(grpc.aio.insecure_channel(f"unix://{socket}"))
        self._number = 0

    async def runs(self, script: str) -> None:
        """One call, with any result; each script is different, because the worker would recognise a costly script."""
        self._number += 1
        text = f"-- {self._number}\n{script}\nreturn obj"
        with suppress(grpc.aio.AioRpcError):
            await self._stub.Execute(self._asking(text), timeout=60)

    async def has_all_the_room(self) -> None:
        """Return when the call of another tenant is refused."""
        while True:
            try:
                await self._stub.Execute(self._asking("return obj", "a visitor"), timeout=60)
            except grpc.aio.AioRpcError as refused:
                if refused.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
                    return
                raise

    async def goes_on(self) -> None:
        """Short scripts, one after the other, until cancelled."""
        while True:
            await self.runs(f"for i = 1, {SHORT_LOOPS} do end")

    @staticmethod
    def _asking(text: str, tenant: str = "a crowd") -> pb.ExecuteRequest:
        return pb.ExecuteRequest(script=text.encode(), object_json=b"{}", tenant=tenant)


async def test_a_worker_without_room_for_a_release_is_asked_again_until_it_has_some(
    ground: Plane, tmp_path: Path
) -> None:
    socket = tmp_path / "small.sock"
    (probes,) = free_ports(1)

    def small(running: Product) -> Component:
        limits = (f"--cpu-ms={LONG_MS}", f"--wall-ms={LONG_MS}", "--concurrency=1")
        return component(running, WORKER, {"--listen": f"unix://{socket}"}, probes, *limits)

    flags = (f"--lua-worker=unix://{socket}",)
    async with begun(ground, tmp_path / "product", small, *flags) as (story, running, worker):
        await worker.start()
        await story.begin()
        await story.paused_at(1)
        crowd, controller = Crowd(socket), running.controller.pid
        long = asyncio.create_task(crowd.runs("while true do end"))
        await crowd.has_all_the_room()
        await story.approve(1)
        await stall_message(story, "RESOURCE_EXHAUSTED", "it is overloaded")
        await long
        others = [asyncio.create_task(crowd.goes_on()) for _ in range(4)]
        try:
            await story.approve_all(first=2)
            await conclude(story)
        finally:
            for other in others:
                other.cancel()
            await asyncio.wait(others)
        assert running.controller.pid == controller
        assert running.controller.running
