"""The story: the article's canary release with Istio, scene by scene.

Invariant: the story acts only as a user would, with the commands that are shown; every scene ends with a snapshot by
a client that can only read, compared with `expectations`. It must not touch what the product writes.
"""

from collections.abc import Callable

from demo import chronicle, expectations
from demo.claims import Claim
from demo.commands import Commands
from demo.frame import Moment
from demo.screen import Screen
from demo.snapshot import Snapshot, read_snapshot
from demo.world import (
    ROLLOUTS,
    VIRTUAL_SERVICES,
    State,
    find,
    has_succeeded,
    is_paused_in,
    is_ready,
    pods,
    rollout_phase,
)
from localcluster.api import ApiClient
from localcluster.history import Change
from localcluster.record import Recorder

EXAMPLE = "examples/istio-canary"
ROLLOUT = "rollouts-demo"
SCENE_SECONDS = 60.0

Arrived = Callable[[State], bool]


class Story:
    """One run of the story; `onlooker` may only read."""

    def __init__(
        self, screen: Screen, recorder: Recorder, onlooker: ApiClient, commands: Commands
    ) -> None:
        self._screen, self._recorder = screen, recorder
        self._onlooker, self._commands = onlooker, commands
        self._original: State = {}
        self.claims: list[Claim] = []

    async def deploy(self) -> Snapshot:
        """The application, without a Rollout."""
        self._screen.scene("The application", "An nginx pod behind an Istio gateway.")
        await self._do(f"kubectl apply -f {EXAMPLE}/app.yaml")
        await self._wait("the pod", _is_deployed)
        self._original = self._recorder.state()
        seen = await self._look()
        self._judge(expectations.as_applied(seen))
        return seen

    async def declare(self, before: Snapshot) -> None:
        """The Rollout as the article prints it; nothing moves yet."""
        self._screen.scene(
            "The Rollout", "20 % first, then requests with the header version: canary."
        )
        await self._do(f"kubectl apply -f {EXAMPLE}/rollout.yaml")
        await self._wait("the Rollout", lambda s: _phase(s) == "Healthy")
        self._judge(expectations.under_a_rollout(await self._look(), before))

    async def change(self, before: Snapshot) -> Snapshot:
        """Another ConfigMap starts the release; step 1."""
        self._screen.scene("The change: step 1", "The Deployment mounts another ConfigMap.")
        await self._do(f"kubectl apply -f {EXAMPLE}/change.yaml")
        await self._wait("step 1", lambda s: is_paused_in(_rollout(s), 1))
        seen = await self._look()
        self._judge(expectations.at_step_one(seen, before))
        return seen

    async def approve_first(self, first: Snapshot) -> None:
        """The article's own line; step 2."""
        self._screen.scene("Approve: step 2", "The article's command, word by word.")
        await self._do(f"kubectl-kruise rollout approve rollout/{ROLLOUT}")
        await self._wait("step 2", lambda s: is_paused_in(_rollout(s), 2))
        self._judge(expectations.at_step_two(await self._look(), first))

    async def approve_second(self) -> None:
        """The exact approval; the end."""
        self._screen.scene(
            "Approve: the end", "Moonshift's own command names the step that it approves."
        )
        await self._do(f"moonshift approve rollout/{ROLLOUT} --step 2")
        await self._wait("the end", _is_over)

    async def judge_the_end(self, before: Snapshot) -> None:
        """Judge the objects that are left in the cluster, and the history of the whole story."""
        self._judge(expectations.at_the_end(await self._look(), before))
        history = self._history()
        self._screen.scene("What happened", "In the order of the cluster's own revisions.")
        self._screen.timeline(chronicle.timeline(history))
        self._judge(chronicle.judge(history))

    async def _do(self, line: str) -> None:
        self._screen.command(line, await self._commands.run(line))

    async def _wait(self, for_what: str, arrived: Arrived) -> None:
        async with self._screen.following(self._picture(for_what), for_what):
            await self._recorder.until_state(arrived, SCENE_SECONDS)

    def _picture(self, for_what: str) -> Callable[[float], Moment]:
        return lambda seconds: Moment(self._recorder.state(), self._original, for_what, seconds)

    async def _look(self) -> Snapshot:
        return await read_snapshot(self._onlooker)

    def _judge(self, claims: list[Claim]) -> None:
        self.claims += claims
        self._screen.claims(claims)

    def _history(self) -> list[Change]:
        changes = (*self._recorder.initial(), *self._recorder.history())
        return sorted(changes, key=lambda change: change.resource_version)


def _rollout(state: State) -> dict[str, object]:
    return find(state, ROLLOUTS, ROLLOUT)


def _phase(state: State) -> str:
    return rollout_phase(_rollout(state))


def _is_deployed(state: State) -> bool:
    found = pods(state)
    return bool(found and all(map(is_ready, found)) and find(state, VIRTUAL_SERVICES, "nginx-vs"))


def _is_over(state: State) -> bool:
    """The Rollout says so, and the last pod of the release has gone."""
    return has_succeeded(_rollout(state)) and len(pods(state)) == 1
