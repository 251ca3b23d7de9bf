"""Plays one scenario: a person releases and approves while requests never stop.

Why it exists: tests and the live show do the same. Invariant: the person acts as a user would; every wait is for
recorded state or for the gateway's own configuration, never for the clock; requests flow from before the release until
after its end. It must not judge.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable

import aiohttp

from demo.traffic import application
from demo.traffic.application import NAME
from demo.traffic.lab import (
    DEPLOYMENTS,
    PODS,
    ROLLOUTS,
    ROUTES,
    TRAFFIC_ROUTINGS,
    Lab,
    shares_of_route,
)
from demo.traffic.report import LostRequest, Report, ShareSeen
from demo.traffic.scenarios import NEW, OLD, SORTS, THIRD, Ending, Scenario, Step
from localcluster.api import JsonObject
from localcluster.errors import ClusterError, NotReady
from localcluster.history import Key, Kind
from localcluster.traffic.gateway import PORT
from localcluster.traffic.load import Load
from localcluster.traffic.tally import Tally

PHASE_SECONDS = 120.0
SETTLE_SECONDS = 120.0
POLL_SECONDS = 0.1
WORKLOAD_TYPE = "rollouts.kruise.io/workload-type"

State = dict[Key, JsonObject]


class Release:
    """One scenario in one namespace; `tally` counts while it is played."""

    def __init__(
        self,
        lab: Lab,
        scenario: Scenario,
        namespace: str,
        rate: float,
        measured: int,
        phase_seconds: float = PHASE_SECONDS,
    ) -> None:
        """Send `rate` requests a second; measure each stretch over `measured` rounds of requests."""
        self.scenario = scenario
        self.tally = Tally()
        self._lab = lab
        self._namespace = namespace
        self._measured = measured
        self._phase_seconds = phase_seconds
        self._host = f"{scenario.name}.{namespace}.example"
        self._load = Load(PORT, self._host, SORTS, rate, self.tally)
        self._shares: list[ShareSeen] = []

    async def play(self) -> Report:
        """Play the release and return the report, which names the error that kept the release from its end, if any."""
        begun, trouble = time.monotonic(), ""
        try:
            await self._play()
        except (ClusterError, aiohttp.ClientError, TimeoutError) as error:
            trouble = f"{self.tally.stage}: {str(error) or type(error).__name__}"
        return self._report(time.monotonic() - begun, trouble)

    async def _play(self) -> None:
        await self._deploy()
        async with self._requests():
            await self._measure("before", {sort.name: 0.0 for sort in SORTS}, NEW)
            await self._release(NEW)
            await self._go_through(NEW, self.scenario.played)
            match self.scenario.ending:
                case Ending.ROLLED_BACK:
                    await self._release(OLD)
                case Ending.OVERTAKEN:
                    await self._release(THIRD)
                    await self._go_through(THIRD, self.scenario.steps)
                case Ending.COMPLETED:
                    pass
            survivor = self.scenario.survivor
            await self._reach("the end", lambda state: self._is_over(state, survivor))
            await self._measure("after", {sort.name: 1.0 for sort in SORTS}, survivor)
        await self._lab.plane.client().delete(f"/api/v1/namespaces/{self._namespace}")

    @property
    def objects(self) -> dict[str, JsonObject]:
        """The present Rollout and route, by kind, for the live picture."""
        kinds = {"Rollout": ROLLOUTS, "route": ROUTES[self.scenario.kind]}
        state = self._lab.recorder.state()
        return {name: state.get(self._key(kind), {}) for name, kind in kinds.items()}

    # --- what the person does -----------------------------------------------------------------------

    async def _deploy(self) -> None:
        self.tally.stage = "deploying"
        client = self._lab.plane.client("developer")
        await client.create("/api/v1/namespaces", {"metadata": {"name": self._namespace}})
        for body in application.objects(self.scenario, self._host):
            await client.create(self._collection(body["kind"]), body)
        await self._reach("the pods", lambda state: self._pods(state, OLD) == self._all)
        if self.scenario.lane:
            body = application.traffic_routing(self.scenario)
            await client.create(self._collection("TrafficRouting"), body)
        await client.create(self._collection("Rollout"), application.rollout(self.scenario))
        await self._reach("the Rollout", self._is_governed)
        await self._settled()

    async def _release(self, image: str) -> None:
        self.tally.stage = f"releasing {image}"
        containers = [{"name": "main", "image": image}]
        body: JsonObject = {"spec": {"template": {"spec": {"containers": containers}}}}
        path = f"{self._collection('Deployment')}/{NAME}"
        await self._lab.plane.client("developer").patch(path, body)

    async def _approve(self, step: int) -> None:
        self.tally.stage = f"{self.tally.stage}, approved"
        body: JsonObject = {"status": {"moonshift": {"approval": {"step": step}}}}
        path = f"{self._collection('Rollout')}/{NAME}/status"
        await self._lab.plane.client("approver").patch(path, body)

    async def _go_through(self, image: str, steps: tuple[Step, ...]) -> None:
        """Measure every step that waits for a person; approve all but one that the scenario stops at."""
        whole = steps == self.scenario.steps
        for number, step in enumerate(steps, start=1):
            if self.scenario.ends_by_itself_at(number):
                return
            await self._reach(f"step {number}", self._paused_at(number))
            await self._measure(f"step {number} of {image}", step.shares(), image)
            if whole or number < len(steps):
                await self._approve(number)

    # --- what is waited for --------------------------------------------------------------------------

    async def _reach(self, what: str, arrived: Callable[[State], bool]) -> None:
        try:
            await self._lab.recorder.until_state(arrived, self._phase_seconds)
        except NotReady as error:
            raise NotReady(f"{self.scenario.name}: {what} {error}; {self._situation()}") from error

    async def _settled(self) -> None:
        """Return when the gateway follows the route. The gateway itself is asked, because the recorded state may be
        older.
        """
        until = time.monotonic() + SETTLE_SECONDS
        path = f"{self._collection(self.scenario.kind)}/{NAME}"
        while True:
            wanted = shares_of_route(await self._lab.plane.client("developer").get(path))
            done = await self._lab.gateway.shares(self._namespace, self._host)
            if done == wanted:
                return
            if time.monotonic() > until:
                raise NotReady(
                    f"{self.scenario.name}, {self.tally.stage}: the route says {sorted(wanted)}, "
                    f"the gateway does {sorted(done)} after {SETTLE_SECONDS:.0f} s"
                )
            await asyncio.sleep(POLL_SECONDS)

    def _paused_at(self, step: int) -> Callable[[State], bool]:
        def arrived(state: State) -> bool:
            inner = inner_status(self._status(state))
            here = inner.get("currentStepIndex") == step
            return here and inner.get("currentStepState") == "StepPaused"

        return arrived

    def _is_governed(self, state: State) -> bool:
        workload = state.get(self._key(DEPLOYMENTS), {"metadata": {}})
        labelled = WORKLOAD_TYPE in (workload["metadata"].get("labels") or {})
        return labelled and self._status(state).get("phase") == "Healthy"

    def _is_over(self, state: State, image: str) -> bool:
        only = self._pods(state, image) == self._all == self._pods(state)
        return only and self._status(state).get("phase") == "Healthy"

    # --- how it is measured --------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _requests(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._load.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _measure(self, stretch: str, expected: dict[str, float], image: str) -> None:
        self.tally.stage = stretch
        await self._settled()
        with self.tally.window() as window, contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._phase_seconds):
                while any(  # noqa: ASYNC110 - counts have no event of their own
                    window.total(sort.name) < self._measured * sort.per_round for sort in SORTS
                ):
                    await asyncio.sleep(POLL_SECONDS)
        for sort, share in expected.items():
            seen = window.total(sort), window.answered[sort, image]
            self._shares.append(ShareSeen(stretch, sort, image, share, *seen))

    def _report(self, seconds: float, trouble: str) -> Report:
        return Report(
            scenario=self.scenario.name,
            requests=self.tally.requests,
            failed=self.tally.whole.failed,
            shares=tuple(self._shares),
            lost=tuple(LostRequest(f.at, f.stage, f.sort, f.why) for f in self.tally.failures),
            seconds=round(seconds, 1),
            trouble=trouble,
        )

    # --- look-ups ------------------------------------------------------------------------------------

    @property
    def _all(self) -> int:
        return self.scenario.replicas

    def _key(self, kind: Kind) -> Key:
        return Key(kind, self._namespace, NAME)

    def _status(self, state: State) -> JsonObject:
        status: JsonObject = state.get(self._key(ROLLOUTS), {}).get("status") or {}
        return status

    def _pods(self, state: State, image: str = "") -> int:
        """Pods that are ready and not on their way out; with no image, all there are."""
        here = [p for k, p in state.items() if k.kind == PODS and k.namespace == self._namespace]
        if not image:
            return len(here)
        return sum(1 for p in here if p["spec"]["containers"][0]["image"] == image and _serves(p))

    def _collection(self, kind: str) -> str:
        kinds = {
            "Deployment": DEPLOYMENTS,
            "Service": Kind("", "v1", "services"),
            "Rollout": ROLLOUTS,
            "TrafficRouting": TRAFFIC_ROUTINGS,
            **ROUTES,
        }
        of = kinds[kind]
        base = of.path.removesuffix(of.plural)
        return f"{base}namespaces/{self._namespace}/{of.plural}"

    def _situation(self) -> str:
        status = self.objects["Rollout"].get("status") or {}
        return f"the Rollout is {status.get('phase')}: {status.get('message')}"


def inner_status(status: JsonObject) -> JsonObject:
    """Return the part of a Rollout's status that its strategy writes; empty while there is none."""
    inner: JsonObject = status.get("canaryStatus") or status.get("blueGreenStatus") or {}
    return inner


def _serves(pod: JsonObject) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]
