"""Having kubelets bring a changed Secret to the script worker's pods at once.

Why it exists: a kubelet looks at a mounted Secret again after up to a minute and a half, and at once when an annotation
of the pod changes. Until then a fresh worker has no certificate, and one whose authority was made anew cannot be
called. Invariant: annotations of the worker's pods are all that is written; without the right to do that nothing is
lost but the minute. A kubelet may hear of the annotation before it hears of the Secret, so it is told twice.
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


class Summons:
    """`call` from anywhere in the event loop; `run` tells the pods."""

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
        """Tell the pods of each call, for ever."""
        while True:
            await self._called.wait()
            self._called.clear()
            for number, pause in enumerate(AFTER_SECONDS, 1):
                await asyncio.sleep(pause)
                await self._tell(f"{self._stamp}.{number}")

    async def _tell(self, value: str) -> None:
        try:
            await self._pods.annotate(value)
        except MoonshiftError as failure:
            log.warning(
                "kubelets bring the worker's certificates within two minutes, not at once",
                extra={"error": str(failure)},
            )
