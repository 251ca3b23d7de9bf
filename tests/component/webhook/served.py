"""A webhook server in a process of its own, so that its memory can be measured and its life be tried.

Run as `python -m tests.component.webhook.served FOLDER`: prints its port and serves until its standard input ends.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from controller.api.meta import ObjectMeta
from controller.api.rollout import Rollout
from controller.api.workloads import ReplicaSet
from controller.certificates.authority import issue, new_authority
from controller.certificates.directory import write_files
from controller.runtime.clock import SystemClock
from controller.webhook.admission import Admission
from controller.webhook.server import serving, webhook_app
from controller.webhook.tls import ServingTls
from tests.component.webhook.no_metrics import NoMetrics
from tests.unit.domain.admission.objects import replica_set, rollout


class Reads:
    """One Rollout of one Deployment."""

    async def rollouts(self, namespace: str) -> Sequence[Rollout]:
        return [rollout()]

    async def latest(self, namespace: str) -> Sequence[Rollout]:
        return [rollout()]

    async def kept_owners(self, rollout: ObjectMeta, workload_uid: str) -> str:
        return ""

    async def of(self, deployment_uid: str, namespace: str) -> Sequence[ReplicaSet]:
        return [replica_set("v1", 1)]


async def _main(folder: Path) -> None:
    authority = new_authority(datetime.now(UTC))
    pair = issue(authority, ["127.0.0.1"], datetime.now(UTC))
    write_files(folder, {"tls.crt": pair.certificate, "tls.key": pair.key})
    reads = Reads()
    app = webhook_app(
        Admission(reads, reads, SystemClock(), is_own=lambda *who: False).handlers(), NoMetrics()
    )
    async with serving(app, "127.0.0.1", 0, ServingTls(folder).context) as port:
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


class Served:
    """The process and where it listens."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process = process
        self.port = port

    @property
    def alive(self) -> bool:
        """It has not ended."""
        return self.process.returncode is None

    def peak(self) -> int:
        """Its largest resident size so far, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) << 10


@contextlib.asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Served]:
    """Serve for the length of a block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        __name__,
        str(folder),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port = int(await process.stdout.readline())
        yield Served(process, port)
    finally:
        process.stdin.close()
        await process.wait()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1])))
