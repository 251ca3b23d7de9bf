"""Tries the corpus once, several attacks at a time, before the tests that look at the records.

Each lane is a worker of its own, so that after every single attack its processes and descriptors can be counted.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import grpc.aio
import pytest
import pytest_asyncio

from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.attacks.attack import Attack
from tests.attacks.corpus import CORPUS
from tests.attacks.laboratory import laboratory
from tests.attacks.trial import Record, Refused, attempt, sing
from tests.component.luaworker.process import Worker, children_of, worker

_LANES = 3
_CONCURRENCY = 4
_SPARES = _CONCURRENCY + 2
_SETTLING_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Seen:
    """One attack's trial: the canary before all attacks, the record, and the processes and descriptors left over."""

    song: tuple[object, ...]
    record: Record
    left: str


class Lane:
    """One worker, one attack after the other."""

    def __init__(self, running: Worker) -> None:
        self._running = running
        self._descriptors = 0
        self.song: tuple[object, ...] = ()

    async def prepare(self) -> None:
        """The first canary, and the count of descriptors when all is calm."""
        self.song = await sing(self.ask)
        await self._settled(lambda: len(self._children()) == _SPARES)
        self._descriptors = self._count()

    async def ask(self, request: pb.ExecuteRequest) -> pb.ExecuteResponse:
        try:
            return await self._running.stub.Execute(request, timeout=60)
        except grpc.aio.AioRpcError as error:
            raise Refused(error.code(), error.details() or "") from None

    async def trial(self, attack: Attack) -> Seen:
        record = await attempt(attack, self.ask)
        calm = await self._settled(
            lambda: len(self._children()) == _SPARES and self._count() <= self._descriptors
        )
        left = "" if calm else f"{len(self._children())} children, {self._count()} descriptors"
        return Seen(self.song, record, left)

    def _children(self) -> list[int]:
        return children_of(self._running.zygote)

    def _count(self) -> int:
        """Descriptors of server and zygote. Both are protected, so only root may look."""
        if os.geteuid() != 0:
            return 0
        return sum(
            len(os.listdir(f"/proc/{pid}/fd")) for pid in (self._running.pid, self._running.zygote)
        )

    async def _settled(self, calm: Callable[[], bool]) -> bool:
        deadline = asyncio.get_running_loop().time() + _SETTLING_SECONDS
        while not calm():
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(0.005)
        return True


async def _in_lanes(folder: Path, attacks: list[tuple[str, Attack]]) -> dict[str, Seen]:
    """Attacks that meet the worker as it is, over its real port."""
    waiting, seen = list(reversed(attacks)), dict[str, Seen]()

    async def run(lane: Lane) -> None:
        await lane.prepare()
        while waiting:
            name, attack = waiting.pop()
            seen[name] = await lane.trial(attack)

    async with AsyncExitStack() as workers, asyncio.TaskGroup() as lanes:
        for number in range(_LANES):
            flags = ("--concurrency", str(_CONCURRENCY))
            running = worker(f"unix://{folder}/{number}", *flags)
            lanes.create_task(run(Lane(await workers.enter_async_context(running))))
    return seen


async def _behind_broken_locks(attacks: list[tuple[str, Attack]]) -> dict[str, Seen]:
    """Attacks that are taken to have broken some locks already, grouped by these."""
    seen = dict[str, Seen]()
    for without in {attack.without for _, attack in attacks}:
        async with laboratory(without) as lab:
            song = await sing(lab.ask)
            for name, attack in attacks:
                if attack.without == without:
                    seen[name] = Seen(song, await attempt(attack, lab.ask), "")
    return seen


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def seen(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[dict[str, Seen]]:
    """Every attack's trial, by its name in the corpus."""
    named = [(f"{kind}: {a.name}", a) for kind, attacks in CORPUS.items() for a in attacks]
    whole = [(name, attack) for name, attack in named if not attack.without]
    behind = [(name, attack) for name, attack in named if attack.without]
    folder = tmp_path_factory.mktemp("attacks")
    found = await asyncio.gather(_in_lanes(folder, whole), _behind_broken_locks(behind))
    yield found[0] | found[1]
