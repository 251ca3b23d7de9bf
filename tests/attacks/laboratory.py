"""A worker inside the test's own process, some of whose locks are open.

Why in-process: production has no flag for any of this, and must not get one. It is the service as it is, without its
port: executor, pool, zygote, children.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NoReturn, cast

import grpc
import grpc.aio

from luaworker.layers import Layer
from luaworker.metrics import Metrics
from luaworker.packaged import Packaged
from luaworker.pool import Pool
from luaworker.service import Executor
from luaworker.settings import Settings
from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.attacks.trial import Refused

CONCURRENCY = 4
NOTHING = Packaged()


class _Context:
    """A call without a wire."""

    def time_remaining(self) -> float:
        return 30.0

    def invocation_metadata(self) -> None:
        return None

    async def abort(self, code: grpc.StatusCode, details: str = "") -> NoReturn:
        raise Refused(code, details)


class Laboratory:
    """Asks an executor directly."""

    def __init__(self, without: frozenset[Layer], packaged: Packaged) -> None:
        # Nobody is demoted, and no clock comes first: on a busy machine a backstop that counts CPU comes late.
        self._settings = Settings(
            listen="",
            concurrency=CONCURRENCY,
            without=without,
            demote_after=3600.0,
            max_wall_ms=120_000,
        )
        self.metrics = Metrics()
        self.pool = Pool(self._settings, self.metrics)
        self._packaged = packaged
        self.refresh()

    def refresh(self) -> None:
        """Forgets every child that serves again, and every failure."""
        self.pool.forget_recycled()
        self._executor = Executor(self.pool, self._settings, self.metrics, self._packaged)

    async def ask(self, request: pb.ExecuteRequest) -> pb.ExecuteResponse:
        """One call."""
        context = cast(
            "grpc.aio.ServicerContext[pb.ExecuteRequest, pb.ExecuteResponse]", _Context()
        )
        return await self._executor.Execute(request, context)


@asynccontextmanager
async def laboratory(
    without: frozenset[Layer] = frozenset(), packaged: Packaged = NOTHING
) -> AsyncIterator[Laboratory]:
    """A started one, cleared away at the end."""
    lab = Laboratory(without, packaged)
    try:
        await lab.pool.start()
        assert lab.pool.ready, lab.pool.problem
        yield lab
    finally:
        await lab.pool.close()
