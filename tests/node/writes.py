"""Writes that go through the product's webhooks, twenty a second, each counted as taken or refused.

Invariant: a write is a real change of a Rollout's spec, so that admission has to judge it; none is asked again. Each
writer has a Rollout of its own and one write at a time: of several writes to one object the API server asks admission
again and again.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest

from localcluster.api import ApiClient
from localcluster.errors import RequestRefused

WRITERS = 20
EVERY_SECONDS = 1.0
PATH = "/apis/rollouts.kruise.io/v1beta1/namespaces/{}/rollouts"


@dataclass
class Writes:
    """The results of the writes."""

    seconds: list[float] = field(default_factory=list)
    """How long each write that was taken took, admission and storage together."""
    refused: list[str] = field(default_factory=list)
    _enough: asyncio.Event = field(default_factory=asyncio.Event)

    async def reach(self, number: int) -> None:
        """Return when this number of further writes has been sent."""
        wanted = self.made + number
        while self.made < wanted:
            self._enough.clear()
            await self._enough.wait()

    @property
    def made(self) -> int:
        """The number of writes that have been answered."""
        return len(self.seconds) + len(self.refused)

    def summary(self) -> str:
        """Return the results in one line."""
        ordered = sorted(self.seconds)
        middle, late = (ordered[int(len(ordered) * part)] * 1000 for part in (0.5, 0.99))
        return (
            f"{self.made} writes through admission, {len(self.refused)} refused; "
            f"half within {middle:.0f} ms, 99 % within {late:.0f} ms, all within {ordered[-1] * 1000:.0f} ms"
        )

    async def go_on(self, client: ApiClient, path: str) -> None:
        """Write one Rollout again and again until cancelled."""
        for number in range(1, 1_000_000):
            change = {"spec": {"strategy": {"canary": {"steps": _steps(number)}}}}
            begun = time.monotonic()
            try:
                await client.patch(path, change)
                self.seconds.append(time.monotonic() - begun)
            except (RequestRefused, aiohttp.ClientError, TimeoutError) as error:
                self.refused.append(str(error))
            self._enough.set()
            await asyncio.sleep(EVERY_SECONDS)


def _steps(number: int) -> list[dict[str, object]]:
    return [{"replicas": "50%", "pause": {"duration": number % 1000 + 1}}]


def tell(capsys: pytest.CaptureFixture[str], line: str) -> None:
    """Print a line of measured figures, which nobody asserts: the machine is shared."""
    with capsys.disabled():
        sys.stdout.write(f"\n{line}\n")


@asynccontextmanager
async def writing(client: ApiClient, namespace: str) -> AsyncIterator[Writes]:
    """Write for the length of a block."""
    collection, writes = PATH.format(namespace), Writes()
    names = [f"written-{number}" for number in range(WRITERS)]
    for name in names:
        await client.create(collection, _rollout(name))
    tasks = [asyncio.create_task(writes.go_on(client, f"{collection}/{name}")) for name in names]
    try:
        yield writes
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def _rollout(name: str) -> dict[str, object]:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": name},
        "spec": {"workloadRef": reference, "strategy": {"canary": {"steps": _steps(0)}}},
    }
