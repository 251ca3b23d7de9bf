"""Makes kubelets update a changed Secret in the script worker's pods at once.

Why it exists: a kubelet updates a mounted Secret after up to a minute and a half, but at once when an annotation of the
pod changes. Until then a new worker has no certificate, and a worker with a replaced authority cannot be called.
Invariant: only annotations of the worker's pods are written; without the right to do so, the update just takes longer.
A kubelet may see the annotation before it sees the Secret, so the annotation is written twice.
"""

import asyncio
import hashlib
import logging
from collections.abc import Mapping
from typing import Protocol

from controller.errors import MoonshiftError

AFTER_SECONDS = (0.0, 3.0)
"""When pods are annotated, counted from the write of the Secret and from the time before."""

log = logging.getLogger(__name__)


class WorkerPods(Protocol):
    """The pods of the script worker."""

    async def annotate(self, value: str) -> None:
        """Give all of them this value of the annotation. Raises what the API client raises."""
        ...


class WorkerNotice:
    """Call `call` anywhere in the event loop; `run` annotates the pods."""

    def __init__(self, pods: WorkerPods) -> None:
        self._pods = pods
        self._stamp = ""
        self._called = asyncio.Event()

    def call(self, files: Mapping[str, bytes]) -> None:
        """The Secret holds these files now; returns at once."""
        digest = hashlib.sha256(b"\0".join(files[name] for name in sorted(files)))
        self._stamp = digest.hexdigest()[:16]
        self._called.set()

    async def run(self) -> None:
        """Annotate the pods after each call, until cancelled."""
        while True:
            await self._called.wait()
            self._called.clear()
            for number, pause in enumerate(AFTER_SECONDS, 1):
                await asyncio.sleep(pause)
                await self._annotate(f"{self._stamp}.{number}")

    async def _annotate(self, value: str) -> None:
        try:
            await self._pods.annotate(value)
        except MoonshiftError as failure:
            log.warning(
                "kubelets bring the worker's certificates within two minutes, not at once",
                extra={"error": str(failure)},
            )
