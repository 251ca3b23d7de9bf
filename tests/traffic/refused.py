"""`python -m tests.traffic.refused`: a real Contour refuses the HTTPProxy of a release, and takes it again later.

Another HTTPProxy gets the same host name in a pause, so Contour marks both of them invalid. Nothing is judged here: the
numbers of old pods and the Rollout's condition are printed as a line of JSON.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import msgspec
from rich.console import Console

from demo.traffic.application import http_proxy
from demo.traffic.lab import ROUTES, Lab, lab
from demo.traffic.release import Release, State, inner_status
from demo.traffic.scenarios import NEW, OLD, named
from localcluster.progress import ConsoleReporter
from localcluster.traffic.namespace import inside
from localcluster.traffic.vendors import Vendor, ensure_gateway

INSIDE = "MOONSHIFT_TRAFFIC_INSIDE"
SECONDS = 240.0
RIVAL = "rival"


class Seen(msgspec.Struct, frozen=True):
    """Old pods before the second step and while Contour refuses its route, and what the Rollout said then."""

    old_before: int
    old_refused: int
    reason: str
    message: str
    went_on: bool


class Refused(Release):
    """A release whose gateway object is refused in its second step."""

    def __init__(self, running: Lab) -> None:
        scenario = named("proxy-batches", Vendor.CONTOUR)
        super().__init__(running, scenario, "refused", 30.0, 1, SECONDS)

    async def seen(self) -> Seen:
        """Play it."""
        await self._deploy()
        await self._release(NEW)
        await self._reach("step 1", self._paused_at(1))
        before = self._pods(self._lab.recorder.state(), OLD)
        client = self._lab.plane.client()
        rivals = self._collection("HTTPProxy")
        body = http_proxy(self._host)
        await client.create(rivals, {**body, "metadata": {"name": RIVAL}})
        await self._reach("Contour's refusal", self._is_invalid)
        await self._approve(1)
        await self._reach("the stall", lambda state: bool(self._stalled(state)))
        state = self._lab.recorder.state()
        refused, stalled = self._pods(state, OLD), self._stalled(state)
        await client.delete(f"{rivals}/{RIVAL}")
        await self._reach("step 2", self._paused_at(2))
        went_on = inner_status(self._status(self._lab.recorder.state()))["currentStepIndex"] == 2
        return Seen(before, refused, stalled["reason"], stalled["message"], went_on)

    def _is_invalid(self, state: State) -> bool:
        proxy = state.get(self._key(ROUTES["HTTPProxy"]), {})
        return bool((proxy.get("status") or {}).get("currentStatus") == "invalid")

    def _stalled(self, state: State) -> dict[str, str]:
        conditions = self._status(state).get("conditions") or ()
        found = (c for c in conditions if c["type"] == "Stalled" and c["status"] == "True")
        return next(found, {})


async def _play() -> Seen:
    folder = Path(tempfile.mkdtemp(prefix="moonshift-refused-"))
    reporter = ConsoleReporter(Console(stderr=True))
    gateway_on = await ensure_gateway(Vendor.CONTOUR, reporter)
    async with lab(folder, gateway_on, {"HTTPProxy"}, reporter) as running:
        return await Refused(running).seen()


def main() -> None:
    """Play it in a network of its own."""
    if os.environ.get(INSIDE) != "1":
        command = inside([sys.executable, "-m", "tests.traffic.refused"])
        os.execve(command[0], command, {**os.environ, INSIDE: "1"})
    sys.stdout.write(msgspec.json.encode(asyncio.run(_play())).decode() + "\n")


if __name__ == "__main__":
    main()
