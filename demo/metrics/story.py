"""Three releases of one shop: one is as good as the stable version, one is held, one is rolled back.

Invariant: the story acts only as a user would, with the commands that are shown; its claims are read from the objects.
"""

from collections.abc import Callable

from demo.claims import Claim, true
from demo.commands import Commands
from demo.metrics.requests import serve
from demo.screen import Screen
from demo.world import ROLLOUTS, State, find, is_ready, pods
from localcluster.api import JsonObject
from localcluster.metric_pages import MetricPage
from localcluster.prometheus import Prometheus
from localcluster.record import Recorder

EXAMPLE = "examples/metric-gates"
NAME = "shop"
SCENE_SECONDS = 90.0


class Story:
    """One run of the story."""

    def __init__(
        self,
        screen: Screen,
        recorder: Recorder,
        commands: Commands,
        page: MetricPage,
        prometheus: Prometheus,
    ) -> None:
        self._screen, self._recorder, self._commands = screen, recorder, commands
        self._page, self._prometheus = page, prometheus
        self.claims: list[Claim] = []

    async def deploy(self) -> None:
        """The shop, and its measured good version."""
        self._screen.scene(
            "A shop and its gate", "Prometheus scrapes it; 5 % of its requests fail."
        )
        for file in ("app", "template", "rollout-pause"):
            await self._do(f"kubectl apply -f {EXAMPLE}/{file}.yaml")
        await self._wait("four pods of v1", lambda s: images(s) == ["shop:v1"] * 4)
        await self._wait("the Rollout", lambda s: status(s).get("phase") == "Healthy")

    async def pass_against_stable(self) -> None:
        """A version as good as the stable one goes through by itself."""
        self._screen.scene(
            "v2 has as many errors as v1", "The step ends when four measurements agree."
        )
        await self._do(f"kubectl set image deployment/{NAME} main=shop:v2")
        await self._wait("a measurement", lambda s: bool(measured(s)))
        await self._do(f"kubectl moonshift status {NAME}")
        await self._wait("four pods of v2", lambda s: images(s) == ["shop:v2"] * 4)
        await self._wait("the end", lambda s: status(s).get("phase") == "Healthy")
        self._claim(
            "v2 is released, and nobody had to approve it", images(self._state()) == ["shop:v2"] * 4
        )

    async def hold_a_bad_one(self) -> None:
        """A version with more errors is held with one pod, until a person decides."""
        self._screen.scene("v3 has more errors", "onFailure: pause. One pod of four is new.")
        await self._do(f"kubectl set image deployment/{NAME} main=shop:v3")
        await self._wait("the verdict", lambda s: stalled(s).get("reason") == "AnalysisFailed")
        await self._do(f"kubectl moonshift why {NAME}", fails=True)
        await self._do(
            f"kubectl moonshift gate test --from-rollout {NAME} --prometheus {self._prometheus.address}",
            fails=True,
        )
        found = images(self._state())
        self._claim(
            "three pods of v2 and one of v3 run", sorted(found) == ["shop:v2"] * 3 + ["shop:v3"]
        )
        await self._do(f"kubectl moonshift undo {NAME}")
        await self._wait("four pods of v2", lambda s: images(s) == ["shop:v2"] * 4)
        await self._wait("the end", lambda s: status(s).get("phase") == "Healthy")

    async def take_a_bad_one_back(self) -> None:
        """A bad release with onFailure: rollback; nobody has to act."""
        self._screen.scene("v4 has more errors, too", "onFailure: rollback. Nobody is needed.")
        await self._do(f"kubectl apply -f {EXAMPLE}/rollout-rollback.yaml")
        await self._do(f"kubectl set image deployment/{NAME} main=shop:v4")
        await self._wait("a pod of v4", lambda s: "shop:v4" in images(s))
        await self._wait("four pods of v2", lambda s: images(s) == ["shop:v2"] * 4)
        await self._wait("the end", lambda s: status(s).get("phase") == "Healthy")
        self._claim(
            "v4 was given up, and is held if it is applied again",
            bool(status(self._state()).get("moonshift", {}).get("failedTemplate")),
        )

    # --- telling ------------------------------------------------------------------------------------

    def _state(self) -> State:
        return self._recorder.state()

    async def _do(self, line: str, *, fails: bool = False) -> None:
        output = await (self._commands.try_to(line) if fails else self._commands.run(line))
        self._screen.command(line, output)

    async def _wait(self, for_what: str, arrived: Callable[[State], bool]) -> None:
        def looked(state: State) -> bool:
            serve(self._page, state)
            return arrived(state)

        async with self._screen.waiting(for_what):
            await self._recorder.until_state(looked, SCENE_SECONDS)

    def _claim(self, text: str, holds: bool) -> None:
        claim = true(
            text, holds, f"{images(self._state())}, {status(self._state()).get('message')}"
        )
        self.claims.append(claim)
        self._screen.claims([claim])


def images(state: State) -> list[str]:
    """The images of the ready pods, oldest first; nothing while some pod comes or goes."""
    found = pods(state)
    if not all(map(is_ready, found)):
        return []
    return [pod["spec"]["containers"][0]["image"] for pod in found]


def status(state: State) -> JsonObject:
    """The Rollout's status."""
    found: JsonObject = find(state, ROLLOUTS, NAME).get("status") or {}
    return found


def measured(state: State) -> int:
    """Measurements of the present step's gate."""
    runs = status(state).get("moonshift", {}).get("analyses") or ()
    return sum(int(metric.get("taken", 0)) for run in runs for metric in run.get("metrics", ()))


def stalled(state: State) -> JsonObject:
    """The condition Stalled, if it is true."""
    conditions = status(state).get("conditions") or ()
    return next((c for c in conditions if c["type"] == "Stalled" and c["status"] == "True"), {})
