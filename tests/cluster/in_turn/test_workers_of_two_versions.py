"""A release whose scripts run in two workers, one of which is older than the controller and knows no modules.

This happens while workers are replaced one by one. The older worker is the real worker behind a server with the first
version of the protocol, which has no field `modules` in requests and answers.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import grpc.aio

from localcluster.plane import Plane
from protos.luaworker.v1 import luaworker_pb2 as pb
from protos.luaworker.v1 import luaworker_pb2_grpc as pb_grpc
from tests.cluster.conftest import fresh_namespace
from tests.cluster.kinds import RECORDED
from tests.cluster.secrecy import kept_product
from tests.cluster.story import Story, conclude
from tests.cluster.table import application

APP = application("Deployment", canary=True)


class Relay(pb_grpc.LuaExecutorServicer):
    """Passes calls on to a real worker."""

    def __init__(self, socket: Path, *, knows_modules: bool) -> None:
        self._stub = pb_grpc.LuaExecutorStub(grpc.aio.insecure_channel(f"unix://{socket}"))
        self._knows_modules = knows_modules
        self.answered = 0

    async def Execute(
        self,
        request: pb.ExecuteRequest,
        context: grpc.aio.ServicerContext[pb.ExecuteRequest, pb.ExecuteResponse],
    ) -> pb.ExecuteResponse:
        """Run the script, as an older worker without the modules that it asks for."""
        if not self._knows_modules:
            request.ClearField("modules")
        response: pb.ExecuteResponse = await self._stub.Execute(request)
        if not self._knows_modules:
            response.ClearField("modules")
        self.answered += 1
        return response


@asynccontextmanager
async def served(worker: Relay) -> AsyncIterator[int]:
    """Give the port at which a worker listens."""
    server = grpc.aio.server()
    pb_grpc.add_LuaExecutorServicer_to_server(worker, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(0)


async def test_a_release_ends_as_ever_while_one_of_two_workers_is_older_than_the_controller(
    ground: Plane, tmp_path: Path
) -> None:
    folder = tmp_path / "product"
    older = Relay(folder / "worker.sock", knows_modules=False)
    newer = Relay(folder / "worker.sock", knows_modules=True)
    async with AsyncExitStack() as stack:
        ports = [await stack.enter_async_context(served(worker)) for worker in (older, newer)]
        both = "ipv4:" + ",".join(f"127.0.0.1:{port}" for port in ports)
        await stack.enter_async_context(
            kept_product(ground, folder, extra=(f"--lua-worker={both}",))
        )
        recorder = await stack.enter_async_context(ground.recorder(*RECORDED))
        namespace = await stack.enter_async_context(fresh_namespace(ground))
        story = Story(ground, recorder, replace(APP, namespace=namespace), plainly=True)
        await story.begin()
        await story.approve_all()
        await conclude(story)
    assert older.answered
    assert newer.answered
