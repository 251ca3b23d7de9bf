"""The standard health service `grpc.health.v1.Health`, which kubelets and gRPC clients know how to ask.

Invariant: it never says SERVING before the sandbox is proven.
"""

import asyncio

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

_SERVICES = (health.OVERALL_HEALTH, "luaworker.v1.LuaExecutor")
_Status = health_pb2.HealthCheckResponse


class Health:
    """The gRPC health service: whether scripts can run."""

    def __init__(self) -> None:
        self._servicer = health.aio.HealthServicer()
        self._tasks: set[asyncio.Task[None]] = set()
        self.serving = False

    async def add_to(self, server: grpc.aio.Server) -> None:
        """Answer on this server, NOT_SERVING at first."""
        await self._publish()
        health_pb2_grpc.add_HealthServicer_to_server(self._servicer, server)

    def set_serving(self, serving: bool) -> None:
        """Notify all watchers. Needs a running loop."""
        if serving != self.serving:
            self.serving = serving
            task = asyncio.get_running_loop().create_task(self._publish())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _publish(self) -> None:
        for service in _SERVICES:
            # Read here, not where the task was made: tasks that overtake each other publish the latest state.
            status = _Status.SERVING if self.serving else _Status.NOT_SERVING
            await self._servicer.set(service, status)
